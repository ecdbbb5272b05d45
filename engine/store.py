"""The store: one SQLite file that keeps every finished point, and what has been asked for.

A row is durable once its transaction has committed: write-ahead log, synchronous=FULL, no pickle anywhere.
Each of SQLite's own errors leaves this module as a BadFile sentence; what was committed before it is kept.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from engine.errors import BadFile

DEFAULT = Path(".emberpool/store.sqlite")
SCHEMA_VERSION = 1
BUSY_SECONDS = 30
OPEN, KEPT, FAILED = 0, 1, 2  # points.state; triggers keep it true to `results` and `failures`

SCHEMA = """
CREATE TABLE results (key TEXT PRIMARY KEY, result TEXT NOT NULL, checksum TEXT NOT NULL,
    model_version TEXT NOT NULL, created REAL NOT NULL);
CREATE TABLE set_aside (key TEXT NOT NULL, result, checksum, found REAL NOT NULL);
CREATE TABLE failures (key TEXT PRIMARY KEY, sentence TEXT NOT NULL, bug INTEGER NOT NULL, created REAL NOT NULL);
CREATE TABLE requests (id INTEGER PRIMARY KEY AUTOINCREMENT, how TEXT NOT NULL, data TEXT, base TEXT NOT NULL,
    total INTEGER NOT NULL, reused INTEGER NOT NULL DEFAULT 0, state TEXT NOT NULL, created REAL NOT NULL,
    started REAL, lease_until REAL NOT NULL, model_version TEXT NOT NULL, note TEXT NOT NULL DEFAULT '');
CREATE INDEX requests_by_state ON requests (state);
CREATE TABLE points (request INTEGER NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL, changes TEXT NOT NULL,
    state INTEGER NOT NULL, PRIMARY KEY (request, position)) WITHOUT ROWID;
CREATE INDEX points_by_key ON points (key);
CREATE INDEX points_open ON points (request, position) WHERE state = 0;
CREATE TABLE claims (id INTEGER PRIMARY KEY, key TEXT NOT NULL, pid INTEGER NOT NULL, started REAL NOT NULL, ending TEXT);
CREATE INDEX claims_by_key ON claims (key);
CREATE INDEX claims_open ON claims (key) WHERE ending IS NULL;
CREATE INDEX claims_died ON claims (key) WHERE ending = 'died';
CREATE TABLE progress (key TEXT PRIMARY KEY, snapshot TEXT NOT NULL, updated REAL NOT NULL);
CREATE TRIGGER result_kept AFTER INSERT ON results BEGIN UPDATE points SET state = 1 WHERE key = NEW.key; END;
CREATE TRIGGER result_gone AFTER DELETE ON results BEGIN UPDATE points SET state = 0 WHERE key = OLD.key; END;
CREATE TRIGGER failure_kept AFTER INSERT ON failures BEGIN UPDATE points SET state = 2 WHERE key = NEW.key; END;
CREATE TRIGGER failure_gone AFTER DELETE ON failures BEGIN
    UPDATE points SET state = 0 WHERE key = OLD.key AND state = 2; END;
"""


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the store at `path`, made if it is missing; raises BadFile with a sentence.

    The connection commits each statement by itself; `transaction` groups some.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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


def _connected(path: Path) -> sqlite3.Connection:
    store = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        store.execute("PRAGMA journal_mode = WAL")
        store.execute("PRAGMA synchronous = FULL")
        if _version(store, path) < SCHEMA_VERSION:
            _create(store, path)
    except BaseException:
        store.close()
        raise
    return store


def _version(store: sqlite3.Connection, path: Path) -> int:
    version = int(store.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise BadFile(
            f"{path} was written by a newer Emberpool (store format {version}, this one reads {SCHEMA_VERSION}); "
            "update Emberpool, or choose another store with --store FILE."
        )
    return version


def _create(store: sqlite3.Connection, path: Path) -> None:
    with transaction(store):
        if _version(store, path) == SCHEMA_VERSION:
            return  # another process was quicker
        if store.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise BadFile(f"{path} is a database of another program; choose another store with --store FILE.")
        for statement in _statements():
            store.execute(statement)
        store.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _statements() -> Iterator[str]:
    """Split the schema where SQLite says that a statement is complete: triggers hold semicolons too."""
    text = ""
    for line in SCHEMA.splitlines():
        text += line + "\n"
        if sqlite3.complete_statement(text):
            yield text
            text = ""


def _sentence(path: Path, error: sqlite3.Error) -> str:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return f"{path}: the disk is full or failing ({text}); free some space and start again, finished points are kept."
    if "not a database" in text:
        return f"{path} is not a store of Emberpool; choose another with --store FILE."
    if "malformed" in text:
        return f"{path} is damaged ({text}); move it away and start again, or restore a copy."
    if "locked" in text or "busy" in text:
        return f"{path} has been busy for {BUSY_SECONDS} s; end the program that holds it, or choose another with --store FILE."
    return f"{path} cannot be used as a store: {text}; check the folder, or choose another with --store FILE."
