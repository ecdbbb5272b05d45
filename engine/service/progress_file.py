"""A file to watch and stop work in another process: it holds the progress.

Deleting it stops the work.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from time import monotonic
from typing import Any

EVERY_SECONDS = 0.2


class WorkStopped(Exception):
    """The work was stopped, as its progress file was removed."""


def create() -> str:
    """Return the path of a new progress file."""
    descriptor, path = mkstemp(prefix="emberpool-progress-")
    os.close(descriptor)
    return path


def remove(path: str) -> None:
    """Remove a progress file, which stops its work."""
    Path(path).unlink(missing_ok=True)


def progress(path: str) -> tuple[float, str]:
    """Return the finished share of the work, 0 to 1, and a text.

    They are 0 and "" before the first report.
    """
    with suppress(OSError, ValueError):
        share, _, text = Path(path).read_text(encoding="utf-8").partition(" ")
        return float(share), text
    return 0.0, ""


def run_watched(path: str, compute: Callable[..., Any], *arguments: Any) -> Any:
    """Return `compute(*arguments, watch=...)`, with progress in the file; raises Stopped if it is removed."""
    last_write = -EVERY_SECONDS

    def watch(share: float, text: str) -> None:
        nonlocal last_write
        if monotonic() - last_write < EVERY_SECONDS:
            return
        last_write = monotonic()
        try:
            with open(path, "r+", encoding="utf-8") as file:  # not "w", which would create it
                file.write(f"{share:.4f} {text}")
                file.truncate()
        except FileNotFoundError as error:
            raise WorkStopped from error

    return compute(*arguments, watch=watch)
