"""A progress bar on standard error, drawn only where someone looks: on a terminal."""

import sys


def draw(share: float, text: str, width: int = 30) -> None:
    """Draw the bar over the last one; `share` is from 0 to 1."""
    if sys.stderr.isatty():
        full = round(max(0.0, min(share, 1.0)) * width)
        print(f"\r[{'█' * full}{'·' * (width - full)}] {text}\x1b[K", end="", file=sys.stderr, flush=True)


def wipe() -> None:
    """Remove the bar."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def duration(seconds: float | None) -> str:
    """Write a time left as people say it; None is not known yet."""
    if seconds is None:
        return "time left unknown"
    if seconds < 90:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left" if seconds < 5400 else f"{seconds / 3600:.1f} h left"
