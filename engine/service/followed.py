"""Work in another process that can be followed and stopped: it writes how far it is into a file, and ends once that is gone."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from time import monotonic
from typing import Any

EVERY_SECONDS = 0.2


class Stopped(Exception):
    """Nobody waits for the work any more."""


def opened() -> str:
    """Return the path of a fresh file to follow work by."""
    descriptor, path = mkstemp(prefix="emberpool-follow-")
    os.close(descriptor)
    return path


def closed(path: str) -> None:
    """Take the file away, upon which the work stops."""
    Path(path).unlink(missing_ok=True)


def progress(path: str) -> tuple[float, str]:
    """Return how far the work is, from 0 to 1, and at what; 0 and "" where it has not said so yet."""
    with suppress(OSError, ValueError):
        share, _, text = Path(path).read_text(encoding="utf-8").partition(" ")
        return float(share), text
    return 0.0, ""


def followed(path: str, find: Callable[..., Any], *given: Any) -> Any:
    """Return `find(*given, watch=...)`, whose progress goes into the file; raises Stopped once that is gone."""
    last = -EVERY_SECONDS

    def watch(share: float, text: str) -> None:
        nonlocal last
        if monotonic() - last < EVERY_SECONDS:
            return
        last = monotonic()
        try:
            with open(path, "r+", encoding="utf-8") as file:  # never made anew
                file.write(f"{share:.4f} {text}")
                file.truncate()
        except FileNotFoundError as error:
            raise Stopped from error

    return find(*given, watch=watch)
