"""The store's files on the disk: their names, for their owner's eyes alone, and durable."""

import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

from ..errors import BadFile

PRIVATE = 0o600
_MAKING = Lock()
ENDS = ("", "-journal", "-wal", "-shm")  # of the names that SQLite gives to one database's files


def real(path: Path) -> Path:
    """Return the store's own path, whatever names lead to it, so that all who use it meet at one lock."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of links is either, by Python's version
        raise BadFile(f"{path} cannot be used as a store: {error}; choose another with --store FILE.") from error


def backups(path: Path) -> tuple[Path, Path]:
    """Return the names of a store's backups, the newest first."""
    return Path(f"{path}.backup"), Path(f"{path}.backup-2")


def restored(path: Path) -> Path:
    """Return the name under which a whole store waits to take the place of a damaged one."""
    return Path(f"{path}.restored")


def make_private(folder: Path) -> None:
    """Make a folder for its owner alone, still there after a power cut: SQLite syncs a file's folder, not what holds that."""
    if folder.is_dir():
        return
    make_private(folder.parent)
    folder.mkdir(0o700, exist_ok=True)
    sync(folder.parent)


def make_own(path: Path) -> None:
    """Make a store's file if it is missing, and hide it from others; what SQLite puts beside it has its mode. Raises OSError.

    One that is there is not opened: closing it would drop the locks that other threads' connections have on it.
    """
    with _MAKING, suppress(FileExistsError, PermissionError):
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, PRIVATE))
        elif path.stat().st_mode & 0o077:
            path.chmod(PRIVATE)  # refused where it is another's


def sync(path: Path) -> None:
    """Make a file's content, or the names in a folder, durable."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
