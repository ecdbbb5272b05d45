"""The locks that make one process the owner of a store.

The operating system releases them when the process dies.

One lock is on a file next to the store. It shows to everybody, without opening the store, whether the store is owned. The other
is on the database file itself, so that a store that has been moved or mounted under another name is not owned twice. It is by
flock, which SQLite's own locks (by fcntl) do not notice.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from .. import version
from ..errors import BadFile
from .files import PRIVATE, has_traces, make_private_file, make_private_folder

MOST_BYTES = 4096  # of the lock's text
PATIENCE_SECONDS = 1.0  # a test of the lock holds it for an instant; wait for its end
FileIdentity = tuple[int, int]  # device and inode
# Open descriptors of databases, for the next owner in this process. Closing one would drop the locks of SQLite's connections.
_FREE_DESCRIPTORS: dict[FileIdentity, list[int]] = {}


class AlreadyOwned(BadFile):
    """Raised if another process owns the store and computes its requests."""


class StoreOwner(NamedTuple):
    """The owner of a store, or its last owner.

    process: the number of its process, "?" if unknown.
    code: a digest of its engine's code, "" if unknown.
    cluster: the address of the Dask scheduler whose workers compute for it, "" for workers of its own computer.
    """

    process: str
    code: str
    cluster: str


@contextmanager
def own_store(path: Path, cluster: str = "") -> Iterator[None]:
    """Own the store at `path` during a with-block.

    cluster: as in StoreOwner. Raises AlreadyOwned, whose sentence names the other process.
    """
    with _open_lock(path) as lock:
        if not _lock_within(lock, PATIENCE_SECONDS):
            owner = _owner_in(lock)
            version_note = "" if owner.code == version.CODE else ", which is of another version of Emberpool"
            raise AlreadyOwned(
                f"{path} is already used by the service of process {owner.process}{version_note}; let that process do the work, "
                "or end it first."
            )
        with suppress(OSError):  # a full disk cannot store the text, which only messages need
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()} {version.CODE} {cluster}".encode(), 0)
        with _database_lock(path) as is_locked:
            if not is_locked:
                raise AlreadyOwned(
                    f"{path} is already used by another service under another name; let that service do the work, or end it "
                    "first."
                )
            yield


def file_identity(path: Path) -> FileIdentity | None:
    """Return the device and inode of the file at `path`, None without a file."""
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


@contextmanager
def _database_lock(path: Path) -> Iterator[bool]:
    """Lock the database file itself for the block, and yield whether that succeeded.

    A new store's file is made, to be locked. A file that cannot be opened, or locked on its file system, counts as locked: SQLite
    refuses the former with a sentence, and on the latter the other lock decides.
    """
    with suppress(OSError):
        if not has_traces(path):
            make_private_file(path)
    descriptor = _database_descriptor(path)
    if descriptor is None:
        yield True
        return
    is_locked = True
    with suppress(OSError):
        is_locked = _lock_within(descriptor, 0.0)
    try:
        yield is_locked
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        status = os.fstat(descriptor)
        _FREE_DESCRIPTORS.setdefault((status.st_dev, status.st_ino), []).append(descriptor)


def _database_descriptor(path: Path) -> int | None:
    """Return a descriptor of the database file that nobody in this process uses, None where it cannot be opened."""
    free_descriptors = _FREE_DESCRIPTORS.get(file_identity(path) or (0, 0))
    with suppress(OSError, IndexError):
        return free_descriptors.pop() if free_descriptors else os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    return None


def is_owned(path: Path) -> bool:
    """Return whether a living process owns the store."""
    with _open_lock(path) as lock:
        return not _lock_within(lock, 0.0)


def named_owner(path: Path) -> StoreOwner:
    """Return the store's owner, or its last owner."""
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


def _owner_in(lock: int) -> StoreOwner:
    process, code, cluster, *_ = [*os.pread(lock, MOST_BYTES, 0).decode(errors="replace").split(), "", "", ""]
    return StoreOwner(process or "?", code, cluster)


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
