"""A progress bar on standard error, drawn on terminals only."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from ..core import figures
from ..user_text import visible


def draw(share: float, text: str, width: int = 30) -> None:
    """Draw the bar in place of the previous one.

    share: the finished share, from 0 to 1. text: the text after the bar.
    """
    if sys.stderr.isatty():
        filled_width = round(max(0.0, min(share, 1.0)) * width)
        bar = f"[{'█' * filled_width}{'·' * (width - filled_width)}] {visible(text)}"
        print(f"\r{bar}\x1b[K", end="", file=sys.stderr, flush=True)


def wipe() -> None:
    """Remove the bar from the terminal."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def visible_bar() -> Iterator[None]:
    """Remove the bar at the end of the block, also after an exception."""
    try:
        yield
    finally:
        wipe()


class PacedBar:
    """A progress bar with the time left, drawn at most five times a second."""

    def __init__(self) -> None:
        """Begin now."""
        self._begun, self._next, self._from, self._last = 0.0, 0.0, 0.0, -1.0

    def __call__(self, share: float, text: str) -> None:
        """Draw the bar for a share done; the clock starts again where the share falls, as another stage begins."""
        instant = monotonic()
        if share < self._last or self._last < 0:
            self._begun, self._from = instant, share
        self._last = share
        if instant < self._next:
            return
        self._next = instant + 0.2
        elapsed, share_done = instant - self._begun, share - self._from
        draw(share, f"{text}, {duration(elapsed * (1 - share) / share_done if share_done > 0.001 and elapsed > 1 else None)}")


def duration(seconds: float | None) -> str:
    """Return remaining seconds as words; None stands for an unknown time."""
    if seconds is None:
        return "time left unknown"
    return f"{figures.duration(seconds)} left"
