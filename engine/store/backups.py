"""Backups of the store by SQLite's own copy, and restoring from them.

A store is never repaired, as its results can be computed again. The damaged file is moved aside whole, with its log.
"""

import errno
import os
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ..core import figures
from ..errors import BadFile
from ..units import GiB
from . import kept, quota
from .database import Damaged, open_store, prepare_connection, transaction
from .files import SQLITE_ENDINGS, backups, make_private_file, real_path, restored_path, sync
from .owner import own_store
from .soundness import check_store

BYTES_PER_SECOND = 100e6  # of a backup and its check, on a disk of 300 MB/s
SHARE = 0.05  # the most of the owner's time for maintenance
WORK_SECONDS = 180.0  # between backups while there is work
LOOK_SECONDS = 1.0
NUMBERS = 100_000  # more than the requests since a backup; numbers continue behind so many, so that none is used twice


class StoreMaintenance:
    """The owner's maintenance of its store: the quota, and backups after changes.

    Takes a small share of its time.
    """

    def __init__(self, path: Path, store: sqlite3.Connection) -> None:
        self.path, self.store = path, store
        self.begun, self.next, self.saved, self.said = time.time(), 0.0, (-1, -1), ""

    def tend(self, leaving: bool = False) -> None:
        """Enforce the quota, and back up every few minutes or when the owner leaves.

        A failed backup prints one sentence to standard error; raises sqlite3.DatabaseError for a damaged store.
        """
        if (start_seconds := time.monotonic()) < self.next and not leaving:
            return
        quota.enforce_quota(self.store)
        try:
            self._back_up(leaving)
        except (OSError, sqlite3.OperationalError, BadFile) as error:
            self._say(f"No backup of {self.path} could be made: {error}; free some space beside it.")
        self.next = time.monotonic() + max(LOOK_SECONDS, (time.monotonic() - start_seconds) / SHARE)

    def _back_up(self, leaving: bool) -> None:
        size, allowed = quota.used_bytes(self.store), quota.quota_bytes(self.store)
        if 3 * size > allowed:
            for backup in backups(self.path):
                backup.unlink(missing_ok=True)
            self._say(
                f"{self.path} has no backup: its quota of {figures.exact(allowed / GiB)} GiB has no room for two copies; raise "
                "the quota."
            )
            return
        newest = backups(self.path)[0]
        last_saved = newest.stat().st_mtime if newest.exists() else 0.0 if leaving else self.begun
        wait = max(size / BYTES_PER_SECOND / SHARE, 0.0 if leaving else WORK_SECONDS)
        state = (int(self.store.execute("PRAGMA data_version").fetchone()[0]), self.store.total_changes)
        if state == self.saved or 0.0 <= time.time() - last_saved < wait:
            return
        if shutil.disk_usage(self.path.parent).free < 2 * size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        back_up(self.path, self.store)
        self.saved = state

    def _say(self, sentence: str) -> None:
        if sentence != self.said:
            print(sentence, file=sys.stderr)
        self.said = sentence


def back_up(path: Path, store: sqlite3.Connection) -> None:
    """Make a checked copy the newest of two backups.

    Raises OSError, and sqlite3.DatabaseError for a damaged store.
    """
    newest, older = backups(path)
    new_file = Path(f"{newest}.new")
    older.unlink(missing_ok=True)  # so that there are never more than two
    start_time = time.time()
    _copy(store, new_file)
    try:
        with closing(sqlite3.connect(new_file, isolation_level=None)) as copy:
            prepare_connection(copy)
            check_store(copy)
    except sqlite3.Error as error:
        _remove(new_file)
        check_store(store)
        raise BadFile(f"its copy is not sound ({error})") from error
    os.utime(new_file, (start_time, start_time))
    sync(new_file)
    if newest.exists():
        newest.replace(older)
    new_file.replace(newest)
    sync(path.parent)


def _copy(store: sqlite3.Connection, target: Path) -> None:
    _remove(target)
    make_private_file(target)
    with closing(sqlite3.connect(target)) as copy:
        store.backup(copy)


def _remove(path: Path) -> None:
    for end in SQLITE_ENDINGS:
        Path(f"{path}{end}").unlink(missing_ok=True)


@dataclass(frozen=True)
class StoreRestoration:
    """The outcome of restoring a store.

    path: the store.
    aside: where the damaged file is now; None for a sound store.
    saved: the time of the backup in its place [s since 1970]; None without a sound backup.
    results, requests: the numbers of results and requests in the backup.
    gone: the number of damaged results and trainings that were deleted.
    """

    path: Path
    aside: Path | None = None
    saved: float | None = None
    results: int = 0
    requests: int = 0
    gone: int = 0

    @property
    def sound(self) -> bool:
        """Whether the store was sound, with no damaged result."""
        return self.aside is None and not self.gone

    def __str__(self) -> str:
        """Return sentences on the store's replacement and the results that it lacks."""
        recompute_text = "is computed again when it is asked for"
        loss_text = (
            f"{figures.count(self.gone)} of its results and trainings were damaged: what is gone {recompute_text}."
            if self.gone
            else ""
        )
        if self.aside is None:
            return loss_text or f"{self.path} is not damaged; nothing was changed."
        kept_as = f"{self.path} was damaged, and is kept whole as {self.aside}: delete it when nothing is missed."
        if self.saved is None:
            return f"{kept_as} There was no sound backup, and the store begins empty: whatever it held {recompute_text}."
        backup_time = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.saved))
        holds = f"with {figures.count(self.results, 'result')} and {figures.count(self.requests, 'request')}"
        return (
            f"{kept_as} Its backup from {backup_time}, {holds}, has taken its place: "
            f"whatever is newer {recompute_text}. {loss_text}"
        ).rstrip()


def restore(path: Path) -> StoreRestoration:
    """Replace a damaged store by the newest sound backup, or by an empty store.

    Raises BadFile.
    A sound store stays. After a power cut in the middle the next restoring continues, and no data is lost.
    """
    path = real_path(path)
    with own_store(path):
        try:
            if not restored_path(path).exists():
                if _is_sound(path):
                    return StoreRestoration(path, gone=_forget_damaged(path))
                _prepare(path)
            saved, damaged_path = restored_path(path).stat().st_mtime or None, _damaged_path(path)
            _swap(path, damaged_path)
        except (OSError, sqlite3.Error) as error:
            raise BadFile(f"{path} cannot be restored: {error}; free some space, and try again.") from error
        lost_rows = _forget_damaged(path)
        usage = quota.usage(path)
        return StoreRestoration(path, damaged_path, saved, usage.results, usage.requests, lost_rows)


def _is_sound(path: Path) -> bool:
    try:
        with open_store(path) as store:
            check_store(store)
    except Damaged:
        return False
    return True


def _prepare(path: Path) -> None:
    """Make a store of the newest sound backup, or empty, at the path `restored`.

    The file's time is the backup's, or 0 without a sound backup.
    """
    new_path, saved = Path(f"{path}.fresh"), 0.0
    for backup in filter(Path.exists, backups(path)):
        try:
            with closing(sqlite3.connect(backup)) as source:
                _copy(source, new_path)
            if _is_sound(new_path):
                saved = backup.stat().st_mtime
                break
        except (BadFile, sqlite3.DatabaseError):
            continue
    if not saved:
        _remove(new_path)
    with open_store(new_path) as store, transaction(store):
        last_number = store.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'requests'").fetchone()[0]
        store.execute("DELETE FROM sqlite_sequence WHERE name = 'requests'")
        store.execute("INSERT INTO sqlite_sequence VALUES ('requests', ?)", ((last_number // NUMBERS + 1) * NUMBERS,))
    Path(f"{new_path}.lock").unlink(missing_ok=True)
    os.utime(new_path, (saved, saved))
    sync(new_path)
    new_path.rename(restored_path(path))
    sync(path.parent)


def _damaged_path(path: Path) -> Path:
    """Return the path for the damaged store.

    It is that of an interrupted restoring, or a free name.
    """
    return next(
        name for n in count(1) if not (name := Path(f"{path}.damaged-{n}")).exists() or (path.exists() and name.samefile(path))
    )


def _swap(path: Path, damaged_path: Path) -> None:
    """Replace the damaged store by the restored one.

    The damaged store's log is moved away with it.
    Meanwhile no process opens the store, whose log may be moved already.
    """
    if not damaged_path.exists():
        os.link(path, damaged_path)
    for end in ("-wal", "-journal"):
        if (log := Path(f"{path}{end}")).exists():
            log.rename(f"{damaged_path}{end}")
    Path(f"{path}-shm").unlink(missing_ok=True)
    sync(path.parent)
    restored_path(path).replace(path)
    sync(path.parent)


def _forget_damaged(path: Path) -> int:
    """Delete results and trainings that are not as they were written; return their number."""
    lost_rows = 0
    with open_store(path) as store:
        for table, text in (("results", "result"), ("trainings", "record")):
            rows = store.execute(f"SELECT {kept.KEY_COLUMNS[table]}, {text}, checksum FROM {table}")
            damaged = [row for row in rows if not kept.is_as_written(*row)]
            lost_rows += sum(not kept.is_whole(store, table, *row) for row in damaged)
    return lost_rows
