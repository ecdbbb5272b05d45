"""The lock that makes one process the owner of a store.

The lock is on a file next to the store; the operating system releases it when the process dies.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .. import version
from ..errors import BadFile
from .files import PRIVATE, make_private_folder

PATIENCE_SECONDS = 1.0  # a test of the lock holds it for an instant; wait for its end


class AlreadyOwned(BadFile):
    """Raised if another process owns the store and computes its requests."""


@contextmanager
def own_store(path: Path) -> Iterator[None]:
    """Own the store at `path` during a with-block.

    Raises AlreadyOwned, whose sentence names the other process.
    """
    with _open_lock(path) as lock:
        if not _lock_within(lock, PATIENCE_SECONDS):
            pid, code = _owner_in(lock)
            version_note = "" if code == version.CODE else ", which is of another version of Emberpool"
            raise AlreadyOwned(
                f"{path} is already used by the service of process {pid}{version_note}; let that process do the work, or end it "
                "first."
            )
        with suppress(OSError):  # a full disk cannot store the number, which only a message needs
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()} {version.CODE}".encode(), 0)
        yield


def is_owned(path: Path) -> bool:
    """Return whether a living process owns the store."""
    with _open_lock(path) as lock:
        return not _lock_within(lock, 0.0)


def named_owner(path: Path) -> tuple[str, str]:
    """Return (process, code) of the store's owner, or of its last owner.

    The code is a digest of the engine's code, or "" if unknown.
    """
    with _open_lock(path) as lock:
        return _owner_in(lock)


@contextmanager
def _open_lock(path: Path) -> Iterator[int]:
    """Open the lock file for the block; the lock is released at its end."""
    lock = _lock_file(path)
    try:
        yield lock
    finally:
        os.close(lock)


def _lock_file(path: Path) -> int:
    try:
        make_private_folder(path.parent)
        return os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    except OSError as error:
        raise BadFile(f"{path}.lock cannot be opened: {error.strerror}; choose another store with --store FILE.") from error


def _owner_in(lock: int) -> tuple[str, str]:
    pid, _, code = os.pread(lock, 60, 0).decode(errors="replace").partition(" ")
    return pid or "?", code


def _lock_within(lock: int, seconds: float) -> bool:
    """Take the exclusive lock within some seconds; return whether that succeeded."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
