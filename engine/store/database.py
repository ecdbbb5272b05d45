"""The store: one SQLite file with all finished points and all requests.

A row is durable once its transaction has committed: the file has a write-ahead log, with synchronous=FULL, and no pickles. Each
row has a checksum. Errors of SQLite become BadFile with a sentence; what was committed before stays.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial, wraps
from hashlib import blake2b
from pathlib import Path
from typing import ParamSpec, TypeVar
from zlib import crc32

from ..core.arithmetic import total
from ..errors import BadFile
from ..version import PROGRAM
from . import schema
from .files import SQLITE_ENDINGS, has_traces, is_being_set_aside, make_private_file, make_private_folder

DEFAULT = Path(".emberpool/store.sqlite")
BUSY_SECONDS = 30
PAGE_BYTES = 8192  # page size of a new store: an estimate's row is 2.2 kB, and SQLite's default page of 4 KiB holds only one
SYNCHRONOUS = "FULL"  # a commit is on disk before it returns; NORMAL loses the last ones with the power
OPEN, FINISHED, FAILED = 0, 1, 2  # points.state; triggers keep it true to `results` and `failures`
MAGIC = b"SQLite format 3\0"
DAMAGED = "malformed"  # SQLite's own word for damage
LENIENT_TEXT = partial(str, encoding="utf-8", errors="replace")  # damaged text is found by its checksum
LAYOUT = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
Layout = list[tuple[str, str, str, str | None]]
"""(type, name, table, SQL) of each table, index and trigger, by their names."""

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Damaged(BadFile):
    """Raised if the store's content differs from what was written; the sentence names a remedy."""


def _with_sqlite_errors(execute: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Return a method of a connection that raises no error but SQLite's, whatever bytes a damaged file holds."""

    @wraps(execute)
    def executed(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Answer:
        try:
            return execute(*arguments, **keywords)
        except UnicodeDecodeError as error:  # Python decodes names of columns, and names that SQLite's messages quote
            raise sqlite3.DatabaseError(f"{DAMAGED}: a name of a table, index or column is not as it was written") from error
        except sqlite3.OperationalError as error:
            if "user-defined function" in str(error):  # crc() takes any text but one that is not UTF-8
                raise sqlite3.DatabaseError(f"{DAMAGED}: a text is not as it was written") from error
            raise

    return executed


class StoreConnection(sqlite3.Connection):
    """A connection to a file that may be damaged.

    It reads any byte as text, and raises no error but SQLite's.
    """

    execute = _with_sqlite_errors(sqlite3.Connection.execute)
    executemany = _with_sqlite_errors(sqlite3.Connection.executemany)


def connect_file(path: Path | str) -> StoreConnection:
    """Return a bare connection to a database file.

    The file may be damaged. Every connection of the program is made here.
    """
    store = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=StoreConnection)
    store.text_factory = LENIENT_TEXT
    store.create_function("crc", -1, crc, deterministic=True)
    return store


@contextmanager
def open_store(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the store at `path` for a with-block, or make a new store.

    Opening does not check the whole file: readers verify the checksums of rows that they read, and the owner checks the whole
        file
    at its start. Raises BadFile.
    """
    try:
        make_private_folder(path.parent)
        with closing(connect(path)) as store:
            yield store
    except sqlite3.Error as error:
        raise _bad_file(path, error) from error
    except OSError as error:
        raise BadFile(f"{path} cannot be used as a store: {error.strerror}; choose another with --store FILE.") from error


def check_store(store: sqlite3.Connection) -> None:
    """Check a whole store except its results and trainings; this takes about 2 s per GB.

    Results and trainings are checked when they are read. Raises sqlite3.DatabaseError for a damaged store.
    """
    with transaction(store):
        store.execute("DELETE FROM progress WHERE false")  # refused by SQLite if damage has made the file read-only
    store.execute("BEGIN")  # for reading: others may write meanwhile
    try:
        if (problem := store.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(f"{DAMAGED}: {problem.rpartition('***')[2].strip()[:100]}")
        if store.execute(LAYOUT).fetchall() != layouts()[-1]:
            raise sqlite3.DatabaseError(f"{DAMAGED}: its tables are not as they were made")
        for row_kind, query in schema.DAMAGED_ROWS.items():
            _refuse(store, row_kind, query)
    finally:
        store.execute("ROLLBACK")


@cache
def layouts() -> tuple[Layout, ...]:
    """Return the tables, indexes and triggers of each format, the oldest first."""
    known_layouts = []
    with closing(connect_file(":memory:")) as store:
        for step in schema.STEPS:
            store.executescript(step)
            known_layouts.append(store.execute(LAYOUT).fetchall())
    return tuple(known_layouts)


def check_points(store: sqlite3.Connection, request: int, names: Sequence[str]) -> None:
    """Check the rows of a request and of the named points before they are computed.

    `names` are keys of points. Raises sqlite3.DatabaseError for a damaged row.
    """
    check_requests(store, "id = ?", request)
    point = f"""SELECT 1 FROM json_each(?2) n CROSS JOIN points p ON p.key = n.value
        WHERE p.request = ?1 AND NOT {schema.SOUND_POINT}"""
    _refuse(store, "a point", point, request, json.dumps(names))


def check_requests(store: sqlite3.Connection, condition: str = "true", *parameters: object) -> None:
    """Check the rows of all requests that meet an SQL condition.

    Raises sqlite3.DatabaseError for a damaged row.
    """
    _refuse(store, "a request", f"{schema.DAMAGED_ROWS['a request']} AND {condition}", *parameters)


def _refuse(store: sqlite3.Connection, row_kind: str, query: str, *parameters: object) -> None:
    if store.execute(query, parameters).fetchone():
        raise sqlite3.DatabaseError(f"{DAMAGED}: {row_kind} is not as it was written")


@contextmanager
def transaction(store: sqlite3.Connection) -> Iterator[None]:
    """Commit all SQL statements of a with-block together, durably, or none of them."""
    store.execute("BEGIN IMMEDIATE")
    try:
        yield
        store.execute("COMMIT")
    finally:
        if store.in_transaction:
            store.execute("ROLLBACK")


def crc(*values: object) -> int:
    """Return a CRC-32 checksum of values of any type.

    The same function can be called in SQL as crc().
    """
    return crc32("\0".join(map(str, values)).encode())


def checksum(name: object, text: object) -> str:
    """Return the digest of a result or training together with its key."""
    return blake2b(f"{name}\n{text}".encode(), digest_size=16).hexdigest()


CHECKSUMS: dict[str, Callable[..., object]] = {"results": checksum, "trainings": checksum}


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to the store at `path`, without checking the store.

    A missing store is made, and a store of an older format is changed to the present format. Raises BadFile and sqlite3.Error.
    """
    if path.exists() and not path.is_file():
        raise BadFile(f"{path} cannot be used as a store: it is not a regular file; choose another with --store FILE.")
    if not path.exists() and has_traces(path):  # its restoring was interrupted, or somebody has deleted it
        raise Damaged(f"{path} is gone; {_remedy(path)} makes it of what was saved.")
    _check_single_name(path)
    make_private_file(path)
    store = connect_file(path)
    try:
        prepare_connection(store)
        first_version = _version(store, path)
        while _version(store, path) < schema.VERSION:
            _migrate(store, path)
        if first_version and not store.execute("PRAGMA auto_vacuum").fetchone()[0]:  # a store of an early format
            store.execute("PRAGMA auto_vacuum = INCREMENTAL")
            store.execute("VACUUM")  # so that the file can shrink from now on
    except BaseException:
        store.close()
        raise
    return store


def _check_single_name(path: Path) -> None:
    """Raise BadFile for a store with hard links: SQLite keeps a log for each name, and loses what is in the other log."""
    if not path.exists() or path.stat().st_nlink == 1:
        return
    if is_being_set_aside(path):
        raise Damaged(f"{path} is damaged, and its restoring was interrupted; {_remedy(path)} continues it.")
    raise BadFile(
        f"{path} has other names (hard links), by which points could be lost; delete these names, or replace the file by a copy "
        "of it while no service runs."
    )


def prepare_connection(store: sqlite3.Connection) -> None:
    """Set the pragmas that the store's tables need."""
    if not store.execute("PRAGMA page_count").fetchone()[0]:  # only for a new file
        store.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        store.execute("PRAGMA auto_vacuum = INCREMENTAL")
    store.execute("PRAGMA journal_mode = WAL")
    store.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")


def _version(store: sqlite3.Connection, path: Path) -> int:
    version, tables = store.execute(
        "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
    ).fetchone()
    if not tables and has_traces(path):
        raise sqlite3.DatabaseError(f"{DAMAGED}: its tables are gone")
    if tables and not 0 < version <= schema.VERSION and store.execute(LAYOUT).fetchall() in layouts():
        raise sqlite3.DatabaseError(f"{DAMAGED}: its format is not as it was written")
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
    if ("unable to open" in text or "readonly" in text) and (blocked := _unwritable(path)):
        remedy = "get the right to write to it, or choose another with --store FILE"
        return BadFile(f"{path} cannot be used as a store: this user cannot write to {blocked}; {remedy}.")
    if "unable to open" in text:
        remedy = "free some space if the disk is full, or choose another with --store FILE"
        return BadFile(f"{path} cannot be used as a store: {text}; {remedy}.")
    if "not a database" in text and not _was_store(path):
        return BadFile(f"{path} is not a store of Emberpool; choose another with --store FILE.")
    if "locked" in text or "busy" in text:
        remedy = "end the program that holds it, or choose another with --store FILE"
        return BadFile(f"{path} has been busy for {BUSY_SECONDS} s; {remedy}.")
    return Damaged(f"{path} is damaged ({text}); {_remedy(path)} sets it aside and keeps what can still be read.")


def _unwritable(path: Path) -> Path | None:
    """Return the folder or the file of a store to which this user cannot write, None if there is none."""
    effective = os.access in os.supports_effective_ids
    places = (path.parent, *(Path(f"{path}{ending}") for ending in SQLITE_ENDINGS))
    return next((place for place in places if place.exists() and not os.access(place, os.W_OK, effective_ids=effective)), None)


def _was_store(path: Path) -> bool:
    """Return whether a file that is no database may be a damaged store.

    Such a file has a copy beside it, or most of a database's first bytes.
    """
    with path.open("rb") as file:
        equal_bytes = total(map(int.__eq__, file.read(len(MAGIC)), MAGIC))
    return equal_bytes > len(MAGIC) // 2 or has_traces(path)
