"""The owner's lock, one per store: on the file beside it, dropped by the system when the process dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .. import version
from ..errors import BadFile

PATIENCE_SECONDS = 1.0  # a look at the lock holds it for an instant; wait that out


class AlreadyOwned(BadFile):
    """Another process computes for this store."""


@contextmanager
def owning(path: Path) -> Iterator[None]:
    """Own the store at `path` for the block; raises AlreadyOwned, which names the other process."""
    lock = _lock_file(path)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _locked(lock):
            if time.monotonic() > deadline:
                pid, code = _named(lock)
                other = "" if code == version.CODE else ", which is of another version of Emberpool"
                raise AlreadyOwned(f"{path} is served by process {pid}{other}; leave it running, or end it first.")
            time.sleep(0.05)
        with suppress(OSError):  # a full disk cannot take the number, which only a sentence needs
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()} {version.CODE}".encode(), 0)
        yield
    finally:
        os.close(lock)


def is_owned(path: Path) -> bool:
    """Return whether a living process owns the store."""
    lock = _lock_file(path)
    try:
        return not _locked(lock)
    finally:
        os.close(lock)


def named_owner(path: Path) -> tuple[str, str]:
    """Return the process that owns the store, or did last, and the digest of its code, "" where it named none."""
    lock = _lock_file(path)
    try:
        return _named(lock)
    finally:
        os.close(lock)


def enlist(path: Path) -> None:
    """Mark this process as a worker for the store, until it dies: it shares a lock that is never released."""
    fcntl.flock(_lock_file(path, "workers"), fcntl.LOCK_SH)


def await_workers(path: Path, seconds: float) -> None:
    """Wait until no worker for the store lives, whoever started it, but not longer than some seconds."""
    lock = _lock_file(path, "workers")
    try:
        deadline = time.monotonic() + seconds
        while not _locked(lock) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        os.close(lock)


def _lock_file(path: Path, what: str = "lock") -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(f"{path}.{what}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise BadFile(f"{path}.{what} cannot be opened: {error.strerror}; choose another store with --store FILE.") from error


def _named(lock: int) -> tuple[str, str]:
    pid, _, code = os.pread(lock, 60, 0).decode(errors="replace").partition(" ")
    return pid or "?", code


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
