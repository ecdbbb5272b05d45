"""A progress file: it shows and stops work in another process.

The working process writes its progress into the file. Deleting the file stops the work.
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
    """Raised in the working process after its progress file was deleted."""


def create() -> str:
    """Make a new progress file and return its path."""
    descriptor, path = mkstemp(prefix="emberpool-progress-")
    os.close(descriptor)
    return path


def remove(path: str) -> None:
    """Delete a progress file, which stops its work."""
    Path(path).unlink(missing_ok=True)


def progress(path: str) -> tuple[float, str]:
    """Return (finished share from 0 to 1, text) of the work.

    Before the first report these are 0 and "".
    """
    with suppress(OSError, ValueError):
        share, _, text = Path(path).read_text(encoding="utf-8").partition(" ")
        return float(share), text
    return 0.0, ""


def run_watched(path: str, compute: Callable[..., Any], *arguments: Any) -> Any:
    """Return `compute(*arguments, watch=...)`, with its progress in the file at `path`.

    Raises WorkStopped if the file is deleted.
    """
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
