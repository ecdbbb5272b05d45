"""The copy next to a store: its requests, its settings, and its trained results.

Requests keep their names, notes and pins.
The copy is a store file itself. It has the points of full runs, so that their requests are complete. All other content of a store
is computed again quickly.
"""

import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ..core.arithmetic import total
from ..errors import BadFile
from . import quota
from .database import CHECKSUMS, FAILED, FINISHED, LAYOUT, OPEN, check_store, connect, connect_file, crc, layouts, transaction
from .files import old_backups, remove_database, side_copy, sync
from .owner import file_identity
from .schema import CHECKED_COLUMNS, UNTRAINED

BYTES_PER_SECOND = 100e6  # of a check and a copy, on a disk of 300 MB/s
SHARE = 0.05  # the most of the owner's time for maintenance
WORK_SECONDS = 60.0  # between copies while there is work
LOOK_SECONDS = 1.0
MAX_ROWS = 1 << 40  # more than any table has
COPIED = {  # by table, the rows that are copied
    "settings": "true",
    "requests": "state != 'arriving'",
    "failures": "true",
    "trainings": "true",
    "results": f"instr(result, '{UNTRAINED}') = 0",
}

POINT = "request, position, key, changes, class, checksum"
INSERT_POINT = f"""INSERT OR IGNORE INTO points ({POINT}, state)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, CASE WHEN EXISTS (SELECT 1 FROM results r JOIN requests q ON q.code = r.code
        WHERE r.key = ?3 AND q.id = ?1) THEN {FINISHED} WHEN EXISTS (SELECT 1 FROM failures WHERE key = ?3) THEN {FAILED}
        ELSE {OPEN} END"""


class StoreMaintenance:
    """The regular work of a store's owner: update the copy, and enforce the quota.

    This work takes only a small share of the owner's time.
    """

    def __init__(self, path: Path, store: sqlite3.Connection) -> None:
        self.path, self.store = path, store
        self.database = file_identity(path)
        self.start_time, self.next_look, self.copied_state, self.last_sentence = time.time(), 0.0, (-1, -1), ""

    @property
    def is_moved(self) -> bool:
        """True once another file, or none, has the store's name."""
        return file_identity(self.path) != self.database

    def tend(self, leaving: bool = False) -> None:
        """Update the copy if it is due, and enforce the quota.

        The copy is due if the store has changed and the last copy is old enough; with `leaving`, earlier. If it fails, a sentence
        is printed to standard error. Raises sqlite3.DatabaseError for a damaged store.
        """
        if self.is_moved or ((start_seconds := time.monotonic()) < self.next_look and not leaving):
            return
        try:
            self._copy(leaving)
        except (OSError, sqlite3.OperationalError, BadFile) as error:
            self._say(f"{side_copy(self.path)} was not updated: {error}; free some space beside it.")
        uploads_bytes = total(map(quota.upload_bytes, quota.uploads(self.path)))
        quota.enforce_quota(self.store, quota.file_bytes(side_copy(self.path)), uploads_bytes)
        self.next_look = time.monotonic() + max(LOOK_SECONDS, (time.monotonic() - start_seconds) / SHARE)

    def _copy(self, leaving: bool) -> None:
        copy = side_copy(self.path)
        copy_time = copy.stat().st_mtime if copy.exists() else 0.0 if leaving else self.start_time
        wait = quota.used_bytes(self.store) / BYTES_PER_SECOND / SHARE
        wait = (wait if wait > LOOK_SECONDS else 0.0) if leaving else max(wait, WORK_SECONDS)
        state = (int(self.store.execute("PRAGMA data_version").fetchone()[0]), self.store.total_changes)
        if state == self.copied_state or 0.0 <= time.time() - copy_time < wait:
            return
        make_copy(self.path, self.store)
        self.copied_state = state
        if unneeded := ", ".join(str(backup) for backup in old_backups(self.path) if backup.exists()):
            self._say(f"Backups by an earlier version of Emberpool are no longer needed; delete {unneeded}.")

    def _say(self, sentence: str) -> None:
        if sentence != self.last_sentence:
            print(sentence, file=sys.stderr)
        self.last_sentence = sentence


def make_copy(path: Path, store: sqlite3.Connection) -> None:
    """Replace the copy next to a store by a new copy.

    Raises OSError, BadFile, and sqlite3.DatabaseError for a damaged store.
    """
    check_store(store)  # a damaged store may lack rows that the last copy has
    new_path = Path(f"{side_copy(path)}.fresh")
    remove_database(new_path)
    with closing(connect(new_path)) as copy:
        carry_rows(copy, [path], COPIED, "how = 'full'")
    put_in_place(new_path, side_copy(path))


def carry_rows(target: sqlite3.Connection, sources: Sequence[Path], tables: Mapping[str, str], with_points: str) -> None:
    """Insert rows with a correct checksum from other store files into `target`.

    sources: the store files; if two have a row with the same key, the row of the first file is inserted.
    tables: for each table, the SQL condition that its rows must meet.
    with_points: the SQL condition for requests whose points are inserted too.
    """
    target.execute("PRAGMA journal_mode = OFF")  # an unfinished file is made again
    with transaction(target):
        for source_path in sources:
            with closing(open_source(source_path)) as source:
                for table, condition in tables.items():
                    columns = common_columns(target, source, table)
                    query = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' for _ in columns)})"
                    target.executemany(query, sound_rows(source, table, columns, condition))
        requests = target.execute(f"SELECT id FROM requests WHERE {with_points}").fetchall()
        for source_path in sources:
            with closing(open_source(source_path)) as source:
                for (request,) in requests:
                    points = sound_rows(source, "points", POINT.split(", "), f"request = {request}", "position")
                    target.executemany(INSERT_POINT, points)


def common_columns(target: sqlite3.Connection, source: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of a table that two stores have in common.

    The store `source` may be of an earlier format. If its columns cannot be read, all columns of `target` are returned.
    """
    names, source_names = ([name for _, name, *_ in columns] for columns in (_columns(target, table), _columns(source, table)))
    return [name for name in names if name in source_names] or names


def _columns(store: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    """Return SQLite's rows about the columns of a table; none of a table that cannot be read."""
    with suppress(Exception):  # damage can raise nearly anything
        return store.execute(f"PRAGMA table_info({table})").fetchall()
    return []


def sound_rows(
    source: sqlite3.Connection, table: str, columns: Sequence[str], condition: str = "true", order: str = "rowid"
) -> Iterator[tuple[Any, ...]]:
    """Yield values of the rows of a table whose checksum fits.

    columns: the columns whose values are yielded.
    condition: the SQL condition that the rows meet.
    order: the column with the number of each row.

    Pages that cannot be read are skipped by steps that double, so at most as many sound rows are missed as rows are damaged. A
    store of an earlier format may lack columns that a checksum covers. Damage of any kind ends in fewer rows, never in an error.
    """
    present_columns, checksum_of = [name for _, name, *_ in _columns(source, table)], CHECKSUMS.get(table, crc)
    checked_columns = [name for name in map(str.strip, CHECKED_COLUMNS[table].split(",")) if name in present_columns]
    count, number, step = len(checked_columns), -1, 1
    query = f"""SELECT {", ".join((order, "checksum", *checked_columns, *columns))} FROM {table}
        WHERE ({condition}) AND {order} > ? ORDER BY {order}"""
    while number < MAX_ROWS:
        try:
            for row in source.execute(query, (number,)):
                if row[1] == checksum_of(*row[2 : 2 + count]) and row[0] > number:
                    number, step = row[0], 1
                    yield row[2 + count :]
            return
        except Exception:  # damage can raise nearly anything
            number, step = number + step, 2 * step


def open_source(path: Path) -> sqlite3.Connection:
    """Return a connection that reads a store file.

    The file may be damaged or of an old format, and keeps its bytes. Where names in it are damaged, they are read as they were
    made: a transaction that is never committed writes them.
    """
    source = connect_file(path)
    with suppress(Exception):  # damage can raise nearly anything; a file that cannot be mended is read as far as it goes
        source.execute("PRAGMA writable_schema = ON")  # so that a name that is no SQL costs its table alone
        rows = source.execute(LAYOUT.replace("SELECT ", "SELECT rowid, ")).fetchall()
        layout = max(layouts(), key=lambda layout: len({row[1:] for row in rows}.intersection(layout)))
        damaged_rows = [row[0] for row in rows if row[1:] not in layout]
        missing_rows = [row for row in layout if row not in [row[1:] for row in rows]]
        if damaged_rows and len(damaged_rows) == len(missing_rows):
            source.execute("BEGIN")
            mended_rows = ((*row, rowid) for row, rowid in zip(missing_rows, damaged_rows, strict=True))
            source.executemany("UPDATE sqlite_master SET type = ?, name = ?, tbl_name = ?, sql = ? WHERE rowid = ?", mended_rows)
            source.execute("PRAGMA writable_schema = RESET")  # reads the names anew
            source.execute("PRAGMA writable_schema = ON")
    return source


def put_in_place(new_path: Path, path: Path) -> None:
    """Rename a complete file from `new_path` to `path`, durably."""
    sync(new_path)
    new_path.rename(path)
    sync(path.parent)
