"""The copy next to a store: its requests, its settings, and its trained results.

Requests keep their names, notes and pins.
The copy is a store file itself. It has the points of full runs, so that their requests are complete. All other content of a store
is computed again quickly.
"""

import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from ..core.arithmetic import total
from ..errors import BadFile
from . import quota
from .database import FAILED, FINISHED, LENIENT_TEXT, OPEN, check_store, connect, insert_rows, sound_rows, transaction
from .files import old_backups, remove_database, side_copy, sync
from .owner import file_identity
from .schema import UNTRAINED

BYTES_PER_SECOND = 100e6  # of a check and a copy, on a disk of 300 MB/s
SHARE = 0.05  # the most of the owner's time for maintenance
WORK_SECONDS = 60.0  # between copies while there is work
LOOK_SECONDS = 1.0
COPIED = {  # by table, the rows that are copied
    "settings": "true",
    "requests": "state != 'arriving'",
    "failures": "true",
    "trainings": "true",
    "results": f"instr(result, '{UNTRAINED}') = 0",
}

INSERT_POINT = f"""INSERT OR IGNORE INTO points (request, position, key, changes, state, class, checksum)
    SELECT ?1, ?2, ?3, ?4, CASE WHEN EXISTS (SELECT 1 FROM results r JOIN requests q ON q.code = r.code
        WHERE r.key = ?3 AND q.id = ?1) THEN {FINISHED} WHEN EXISTS (SELECT 1 FROM failures WHERE key = ?3) THEN {FAILED}
        ELSE {OPEN} END, ?6, ?7"""


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
                    insert_rows(target, table, sound_rows(source, table, condition))
        requests = target.execute(f"SELECT id FROM requests WHERE {with_points}").fetchall()
        for source_path in sources:
            with closing(open_source(source_path)) as source:
                for (request,) in requests:
                    target.executemany(INSERT_POINT, sound_rows(source, "points", f"request = {request}", "position"))


def open_source(path: Path) -> sqlite3.Connection:
    """Return a connection that reads a store file.

    The file may be damaged or of an old format.
    """
    source = sqlite3.connect(path)
    source.text_factory = LENIENT_TEXT
    return source


def put_in_place(new_path: Path, path: Path) -> None:
    """Rename a complete file from `new_path` to `path`, durably."""
    sync(new_path)
    new_path.rename(path)
    sync(path.parent)
