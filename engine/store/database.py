"""The store: one SQLite file that keeps every finished point, and what has been asked for.

A row is durable once its transaction has committed: write-ahead log, synchronous=FULL, no pickle anywhere.
Each of SQLite's own errors leaves this module as a BadFile sentence; what was committed before it is kept.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from zlib import crc32

from ..errors import BadFile
from . import schema

DEFAULT = Path(".emberpool/store.sqlite")
BUSY_SECONDS = 30
SYNCHRONOUS = "FULL"  # a commit is on disk before it returns; NORMAL loses the last ones with the power
OPEN, KEPT, FAILED = 0, 1, 2  # points.state; triggers keep it true to `results` and `failures`


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the store, made if it is missing; each statement commits by itself. Raises BadFile with a sentence."""
    try:
        _make(path.parent)
        with closing(_connected(path)) as store:
            yield store
    except sqlite3.Error as error:
        raise BadFile(_sentence(path, error)) from error
    except OSError as error:
        raise BadFile(f"{path} cannot be used as a store: {error.strerror}; choose another with --store FILE.") from error


@contextmanager
def transaction(store: sqlite3.Connection) -> Iterator[None]:
    """Commit the statements of the block together, durably, or none of them."""
    store.execute("BEGIN IMMEDIATE")
    try:
        yield
        store.execute("COMMIT")
    finally:
        if store.in_transaction:
            store.execute("ROLLBACK")


def _make(folder: Path) -> None:
    """Make a folder that is still there after a power cut: SQLite syncs its own file's folder, not what holds that."""
    if folder.is_dir():
        return
    _make(folder.parent)
    folder.mkdir(exist_ok=True)
    sync(folder.parent)


def sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def real(path: Path) -> Path:
    """Return the store's own path, whatever names lead to it, so that all who use it meet at one lock."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of links is either, by Python's version
        raise BadFile(f"{path} cannot be used as a store: {error}; choose another with --store FILE.") from error


def salvaged(path: Path) -> Path:
    """Return the name under which a whole fresh store waits to take the place of a damaged one."""
    return Path(f"{path}.salvaged")


def crc(*values: object) -> int:
    """Return a checksum of values side by side, whatever damage has made of them; SQL knows it under the same name."""
    return crc32("\0".join(map(str, values)).encode())


def _connected(path: Path) -> sqlite3.Connection:
    if path.exists() and not path.is_file():
        raise BadFile(f"{path} cannot be used as a store: it is no file; choose another with --store FILE.")
    if salvaged(path).exists():  # the damaged store may have lost its log already
        remedy = f"run python -m engine serve --salvage --store {path} again"
        raise BadFile(f"{path} is being salvaged, or that was interrupted: {remedy}, which goes on where it was.")
    store = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        store.create_function("crc", -1, crc, deterministic=True)
        store.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file, before its first page
        store.execute("PRAGMA journal_mode = WAL")
        store.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        before = _version(store, path)
        while _version(store, path) < schema.VERSION:
            _migrate(store, path)
        if 0 < before < schema.VERSION:
            store.execute("VACUUM")  # so that it can give space back from now on
    except BaseException:
        store.close()
        raise
    return store


def _version(store: sqlite3.Connection, path: Path) -> int:
    version = int(store.execute("PRAGMA user_version").fetchone()[0])
    if version < 0:
        raise BadFile(f"{path} is a database of another program; choose another with --store FILE.")
    if version > schema.VERSION:
        raise BadFile(
            f"{path} was written by a newer Emberpool (store format {version}, this one reads {schema.VERSION}); "
            "update Emberpool, or choose another store with --store FILE."
        )
    return version


def _migrate(store: sqlite3.Connection, path: Path) -> None:
    """Take one step to the next format, wholly or not at all; a new file begins at 0."""
    with transaction(store):
        version = _version(store, path)
        if version == schema.VERSION:
            return  # another process was quicker
        if version == 0 and store.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise BadFile(f"{path} is a database of another program; choose another with --store FILE.")
        for statement in _statements(schema.STEPS[version]):
            store.execute(statement)
        store.execute(f"PRAGMA user_version = {version + 1}")


def _statements(script: str) -> Iterator[str]:
    """Split a script where SQLite says that a statement is complete: triggers hold semicolons too."""
    text = ""
    for line in script.splitlines():
        text += line + "\n"
        if sqlite3.complete_statement(text):
            yield text
            text = ""


def _sentence(path: Path, error: sqlite3.Error) -> str:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return f"{path}: the disk is full or failing ({text}); free some space and start again, finished points are kept."
    if "unable to open" in text:
        return (
            f"{path} cannot be used as a store: {text}; free some space if the disk is full, or choose another with --store FILE."
        )
    if "not a database" in text:
        return f"{path} is not a store of Emberpool; choose another with --store FILE."
    if "malformed" in text:
        remedy = f"python -m engine serve --salvage --store {path}"
        return f"{path} is damaged ({text}); {remedy} moves what can be read into a fresh one, or restore a copy."
    if "locked" in text or "busy" in text:
        return f"{path} has been busy for {BUSY_SECONDS} s; end the program that holds it, or choose another with --store FILE."
    return f"{path} cannot be used as a store: {text}; check the folder, or choose another with --store FILE."
