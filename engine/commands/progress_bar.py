"""A progress bar on standard error, drawn only where someone looks: on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from ..core import figures


def draw(share: float, text: str, width: int = 30) -> None:
    """Draw the bar over the last one; `share` is from 0 to 1."""
    if sys.stderr.isatty():
        full = round(max(0.0, min(share, 1.0)) * width)
        print(f"\r[{'█' * full}{'·' * (width - full)}] {text}\x1b[K", end="", file=sys.stderr, flush=True)


def wipe() -> None:
    """Remove the bar."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def shown() -> Iterator[None]:
    """Remove the bar at the end of the block, however that comes."""
    try:
        yield
    finally:
        wipe()


class Paced:
    """Draws the bar some times a second, with the time left as the share that is done tells it."""

    def __init__(self) -> None:
        """Begin now."""
        self._begun, self._next, self._from, self._last = 0.0, 0.0, 0.0, -1.0

    def __call__(self, share: float, text: str) -> None:
        """Hear how far it is with what; the time begins anew where the share falls, as another stage begins."""
        now = monotonic()
        if share < self._last or self._last < 0:
            self._begun, self._from = now, share
        self._last = share
        if now < self._next:
            return
        self._next = now + 0.2
        gone, done = now - self._begun, share - self._from
        draw(share, f"{text}, {duration(gone * (1 - share) / done if done > 0.001 and gone > 1 else None)}")


def duration(seconds: float | None) -> str:
    """Write a time left as people say it; None is not known yet."""
    if seconds is None:
        return "time left unknown"
    return f"{figures.duration(seconds)} left"
