"""The store: one SQLite file with all finished points and all requests.

A row is durable once its transaction has committed: write-ahead log, synchronous=FULL, no pickle anywhere.
Each of SQLite's own errors leaves this module as a BadFile sentence; earlier commits stay.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from zlib import crc32

from ..errors import BadFile
from ..paths import FileState, file_state
from ..version import PROGRAM
from . import schema, soundness
from .files import backups, make_private_file, make_private_folder, restored_path
from .owner import is_owned

DEFAULT = Path(".emberpool/store.sqlite")
BUSY_SECONDS = 30
PAGE_BYTES = 8192  # page size of a new store: an estimate's row is 2.2 kB, and SQLite's default page of 4 KiB holds only one
SYNCHRONOUS = "FULL"  # a commit is on disk before it returns; NORMAL loses the last ones with the power
OPEN, FINISHED, FAILED = 0, 1, 2  # points.state; triggers keep it true to `results` and `failures`
MAGIC = b"SQLite format 3\0"
_CHECKED_STATES: dict[Path, FileState] = {}  # by store, the state of its file when this process last checked it
TICK_NS, LARGE = 50_000_000, 1 << 24  # file systems' clocks are coarse; small stores are checked again


class Damaged(BadFile):
    """The store is not as it was written; the sentence names the remedy."""


@contextmanager
def open_store(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the store for the block, or make it.

    Each statement commits by itself. Raises BadFile.
    The whole file is checked unless a service owns it or this process has checked this version of it.
    """
    try:
        make_private_folder(path.parent)
        with closing(_connect(path)) as store:
            checked_state = _CHECKED_STATES.get(path)
            if not (is_checked := checked_state == file_state(path)) and not is_owned(path):
                check_store(path, store)
                is_checked = True
            yield store
        if is_checked or _CHECKED_STATES.get(path) != checked_state:  # changes since then are writes, not damage
            _note_state(path)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where SQLite's message quotes damaged bytes
        raise _bad_file(path, error) from error
    except OSError as error:
        raise BadFile(f"{path} cannot be used as a store: {error.strerror}; choose another with --store FILE.") from error


def check_store(path: Path, store: sqlite3.Connection) -> None:
    """Check a whole store, unless this process has checked this version of the file.

    Raises sqlite3.DatabaseError for a damaged store.
    """
    if _CHECKED_STATES.get(path) != file_state(path):
        soundness.check_store(store)
        _note_state(path)


def _note_state(path: Path) -> None:
    *_, size, _, changed_ns = state = file_state(path)
    if size > LARGE or time.time_ns() - changed_ns > TICK_NS:
        _CHECKED_STATES[path] = state
    else:
        _CHECKED_STATES.pop(path, None)


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


def crc(*values: object) -> int:
    """Return a checksum of values of any type.

    A function of SQL has the same name.
    """
    return crc32("\0".join(map(str, values)).encode())


def _connect(path: Path) -> sqlite3.Connection:
    if path.exists() and not path.is_file():
        raise BadFile(f"{path} cannot be used as a store: it is not a regular file; choose another with --store FILE.")
    if restored_path(path).exists():  # the damaged store may have lost its log already
        raise Damaged(
            f"{path} is being restored, or that was interrupted: run {_remedy(path)} again, which goes on where it was."
        )
    make_private_file(path)
    store = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        prepare_connection(store)
        first_version = _version(store, path)
        while _version(store, path) < schema.VERSION:
            _migrate(store, path)
        if 0 < first_version < schema.VERSION:
            store.execute("PRAGMA auto_vacuum = INCREMENTAL")
            store.execute("VACUUM")  # so that the file can shrink from now on
    except BaseException:
        store.close()
        raise
    return store


def prepare_connection(store: sqlite3.Connection) -> None:
    """Set a connection's text type, functions and pragmas for the store's tables."""
    store.text_factory = partial(str, encoding="utf-8", errors="replace")  # damaged text is found by its checksum
    store.create_function("crc", -1, crc, deterministic=True)
    if not store.execute("PRAGMA page_count").fetchone()[0]:  # only for a new file
        store.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        store.execute("PRAGMA auto_vacuum = INCREMENTAL")
    store.execute("PRAGMA journal_mode = WAL")
    store.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")


def _version(store: sqlite3.Connection, path: Path) -> int:
    version, tables = store.execute(
        "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
    ).fetchone()
    sealed = False
    with suppress(sqlite3.OperationalError):  # no such table
        sealed = soundness.check_seal(store)
    if not sealed and (version == schema.SEALED or (not tables and any(backup.exists() for backup in backups(path)))):
        raise sqlite3.DatabaseError(f"{soundness.DAMAGED}: its tables are gone")
    if version < 0 or (tables and not version):
        raise BadFile(f"{path} is a database of another program; choose another with --store FILE.")
    if version > schema.VERSION:
        raise BadFile(
            f"{path} was written by a newer Emberpool (store format {version}, this one reads {schema.VERSION}); "
            "update Emberpool, or choose another store with --store FILE."
        )
    return int(version)


def _migrate(store: sqlite3.Connection, path: Path) -> None:
    """Migrate a store by one format in one transaction; a new file has format 0."""
    with transaction(store):
        version = _version(store, path)
        if version == schema.VERSION:
            return  # another process was quicker
        for statement in _statements(schema.STEPS[version]):
            store.execute(statement)
        store.execute(f"PRAGMA user_version = {version + 1}")
        if version + 1 >= schema.SEALED:
            soundness.write_seal(store)


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, split by SQLite itself, as triggers have semicolons inside."""
    text = ""
    for line in script.splitlines():
        text += line + "\n"
        if sqlite3.complete_statement(text):
            yield text
            text = ""


def _remedy(path: Path) -> str:
    return f"{PROGRAM} serve --restore --store {path}"


def _bad_file(path: Path, error: Exception) -> BadFile:
    """Return an error of SQLite as a BadFile.

    Errors that are not by the disk, another program or a lock count as damage.
    """
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return BadFile(
            f"{path}: the disk is full or failing ({text}); free some space and start again: finished points are kept."
        )
    if "unable to open" in text:
        remedy = "free some space if the disk is full, or choose another with --store FILE"
        return BadFile(f"{path} cannot be used as a store: {text}; {remedy}.")
    if "readonly" in text and not os.access(path, os.W_OK):
        return BadFile(f"{path} cannot be used as a store: {text}; check the folder, or choose another with --store FILE.")
    if "not a database" in text and not _was_store(path):
        return BadFile(f"{path} is not a store of Emberpool; choose another with --store FILE.")
    if "locked" in text or "busy" in text:
        remedy = "end the program that holds it, or choose another with --store FILE"
        return BadFile(f"Other programs have used {path} for {BUSY_SECONDS} s without a break; {remedy}.")
    return Damaged(f"{path} is damaged ({text}); {_remedy(path)} replaces it by its newest backup.")


def _was_store(path: Path) -> bool:
    """Return whether a file that is no database may be a damaged store.

    Such a file has backups, or most of a database's first bytes.
    """
    with path.open("rb") as file:
        equal_bytes = sum(map(int.__eq__, file.read(len(MAGIC)), MAGIC))
    return equal_bytes > len(MAGIC) // 2 or any(backup.exists() for backup in backups(path))
