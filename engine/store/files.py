"""The files of a store on disk: their names, their private modes, and their durability."""

import errno
import glob
import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

from ..errors import BadFile
from ..units import MiB

PRIVATE = 0o600
_MAKING = Lock()
SQLITE_ENDINGS = ("", "-journal", "-wal", "-shm")  # endings of the names of SQLite's files for one database


def real_path(path: Path) -> Path:
    """Return the store's path without symbolic links, so that all processes use the same lock."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of links raises either, by Python's version
        raise BadFile(f"{path} cannot be used as a store: {error}; choose another with --store FILE.") from error


def side_copy(path: Path) -> Path:
    """Return the path of the copy that is kept next to a store."""
    return Path(f"{path}.copy")


def old_backups(path: Path) -> tuple[Path, Path]:
    """Return the paths of the two backups that earlier versions made, the newest first."""
    return Path(f"{path}.backup"), Path(f"{path}.backup-2")


def damaged_path(path: Path, number: int) -> Path:
    """Return the path to which damaged store number `number` is renamed."""
    return Path(f"{path}.damaged-{number}")


def has_traces(path: Path) -> bool:
    """Return whether other files in the folder show that the store had content."""
    return any(file.exists() for file in (side_copy(path), *old_backups(path), damaged_path(path, 1)))


def is_being_set_aside(path: Path) -> bool:
    """Return whether a damaged store has its new name besides the old one.

    A restoration gives it both for a moment.
    """
    return any(file.samefile(path) for file in path.parent.glob(f"{glob.escape(path.name)}.damaged-*") if file.exists())


def is_readable(path: Path) -> bool:
    """Return False if the medium under a regular file fails; this reads the whole file."""
    try:
        with path.open("rb") if path.is_file() else open(os.devnull, "rb") as file:
            while file.read(MiB):
                pass
    except OSError as error:
        return error.errno != errno.EIO
    return True


def remove_database(path: Path) -> None:
    """Delete a database file, then SQLite's log files that belong to it."""
    for ending in SQLITE_ENDINGS:
        Path(f"{path}{ending}").unlink(missing_ok=True)


def make_private_folder(folder: Path) -> None:
    """Make a folder that only the user can read, and that survives a power cut.

    SQLite makes a file's folder durable, but not the folder's parents; this function does.
    """
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    folder.mkdir(0o700, exist_ok=True)
    sync(folder.parent)


def make_private_file(path: Path) -> None:
    """Make a missing store file, and make it readable only by the user.

    SQLite gives its log files the same mode. An existing file is not opened, because closing it would drop the locks of other
    threads' connections. Raises OSError.
    """
    with _MAKING, suppress(FileExistsError, PermissionError):
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, PRIVATE))
        elif path.stat().st_mode & 0o077:
            path.chmod(PRIVATE)  # refused for another user's file


def sync(path: Path) -> None:
    """Make a file's content durable, or the names in a folder."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
