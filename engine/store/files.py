"""The store's files on the disk: their names, their private modes, and their durability."""

import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

from ..errors import BadFile

PRIVATE = 0o600
_MAKING = Lock()
SQLITE_ENDINGS = ("", "-journal", "-wal", "-shm")  # endings of the names of SQLite's files for one database


def real_path(path: Path) -> Path:
    """Return the store's real path without links, so that all processes use the same lock."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of links raises either, by Python's version
        raise BadFile(f"{path} cannot be used as a store: {error}; choose another with --store FILE.") from error


def side_copy(path: Path) -> Path:
    """Return the path of the copy beside a store."""
    return Path(f"{path}.copy")


def old_backups(path: Path) -> tuple[Path, Path]:
    """Return the paths of whole backups, the newest first, which earlier versions made."""
    return Path(f"{path}.backup"), Path(f"{path}.backup-2")


def damaged_path(path: Path, number: int) -> Path:
    """Return a path for a damaged store that is set aside."""
    return Path(f"{path}.damaged-{number}")


def has_traces(path: Path) -> bool:
    """Return whether files beside a store show that it has had content."""
    return any(file.exists() for file in (side_copy(path), *old_backups(path), damaged_path(path, 1)))


def remove_database(path: Path) -> None:
    """Delete a database, then SQLite's files beside it."""
    for ending in SQLITE_ENDINGS:
        Path(f"{path}{ending}").unlink(missing_ok=True)


def make_private_folder(folder: Path) -> None:
    """Make a private folder that survives a power cut.

    SQLite syncs a file's folder, but not the folder's parents.
    """
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    folder.mkdir(0o700, exist_ok=True)
    sync(folder.parent)


def make_private_file(path: Path) -> None:
    """Make a store's file if it is missing, and make it private; raises OSError.

    SQLite's files beside it get its mode. An existing file is not opened: closing it would drop the locks of other threads'
    connections.
    """
    with _MAKING, suppress(FileExistsError, PermissionError):
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, PRIVATE))
        elif path.stat().st_mode & 0o077:
            path.chmod(PRIVATE)  # refused for another user's file


def sync(path: Path) -> None:
    """Make a file's content, or the names in a folder, durable."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
