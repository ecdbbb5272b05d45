"""The owner's lock, one per store: on the file beside it, dropped by the system when the process dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .. import version
from ..errors import BadFile
from .files import PRIVATE, make_private

PATIENCE_SECONDS = 1.0  # a look at the lock holds it for an instant; wait that out


class AlreadyOwned(BadFile):
    """Another process computes for this store."""


@contextmanager
def owning(path: Path) -> Iterator[None]:
    """Own the store at `path` for the block; raises AlreadyOwned, which names the other process."""
    with _opened(path) as lock:
        if not _locked_within(lock, PATIENCE_SECONDS):
            pid, code = _named(lock)
            other = "" if code == version.CODE else ", which is of another version of Emberpool"
            raise AlreadyOwned(f"{path} is served by process {pid}{other}; leave it running, or end it first.")
        with suppress(OSError):  # a full disk cannot take the number, which only a sentence needs
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()} {version.CODE}".encode(), 0)
        yield


def is_owned(path: Path) -> bool:
    """Return whether a living process owns the store."""
    with _opened(path) as lock:
        return not _locked_within(lock, 0.0)


def named_owner(path: Path) -> tuple[str, str]:
    """Return the process that owns the store, or did last, and the digest of its code, "" where it named none."""
    with _opened(path) as lock:
        return _named(lock)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open the lock file for the block, at whose end the lock is dropped."""
    lock = _lock_file(path)
    try:
        yield lock
    finally:
        os.close(lock)


def _lock_file(path: Path) -> int:
    try:
        make_private(path.parent)
        return os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    except OSError as error:
        raise BadFile(f"{path}.lock cannot be opened: {error.strerror}; choose another store with --store FILE.") from error


def _named(lock: int) -> tuple[str, str]:
    pid, _, code = os.pread(lock, 60, 0).decode(errors="replace").partition(" ")
    return pid or "?", code


def _locked_within(lock: int, seconds: float) -> bool:
    """Take the lock for this process alone, if that can be within some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
