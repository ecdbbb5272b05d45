"""Backups of the store by SQLite's own copy, and the newest sound one in a damaged store's place.

A store is never mended: what it keeps can be computed again. The damaged file is set aside whole, with its log.
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
from .database import Damaged, opened, prepare, transaction
from .files import ENDS, backups, make_own, real, restored, sync
from .owner import owning
from .soundness import check

BYTES_PER_SECOND = 100e6  # of a backup and its check, on a disk of 300 MB/s
SHARE = 0.05  # of the time, at most
WORK_SECONDS = 180.0  # between backups while there is work
LOOK_SECONDS = 1.0
NUMBERS = 100_000  # requests since a backup are fewer: numbers go on behind, lest one names two requests


class Care:
    """The owner's care for its store, a small share of its time: the quota, and backups of what has changed."""

    def __init__(self, path: Path, store: sqlite3.Connection) -> None:
        self.path, self.store = path, store
        self.begun, self.next, self.saved, self.said = time.time(), 0.0, (-1, -1), ""

    def tend(self, leaving: bool = False) -> None:
        """Keep the quota, and back up every few minutes or when the owner leaves.

        A backup that fails is a sentence on standard error, once; raises sqlite3.DatabaseError for a damaged store.
        """
        if (now := time.monotonic()) < self.next and not leaving:
            return
        quota.keep(self.store)
        try:
            self._back_up(leaving)
        except (OSError, sqlite3.OperationalError, BadFile) as error:
            self._say(f"No backup of {self.path} was made: {error}; free some space beside it.")
        self.next = time.monotonic() + max(LOOK_SECONDS, (time.monotonic() - now) / SHARE)

    def _back_up(self, leaving: bool) -> None:
        size, allowed = quota.used(self.store), quota.quota(self.store)
        if 3 * size > allowed:
            for backup in backups(self.path):
                backup.unlink(missing_ok=True)
            self._say(
                f"{self.path} has no backup: there is no room for two of them in its quota of "
                f"{figures.exact(allowed / GiB)} GiB; raise it."
            )
            return
        newest = backups(self.path)[0]
        last = newest.stat().st_mtime if newest.exists() else 0.0 if leaving else self.begun
        wait = max(size / BYTES_PER_SECOND / SHARE, 0.0 if leaving else WORK_SECONDS)
        state = (int(self.store.execute("PRAGMA data_version").fetchone()[0]), self.store.total_changes)
        if state == self.saved or 0.0 <= time.time() - last < wait:
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
    """Make a sound copy the newest backup; two stay. Raises OSError, and sqlite3.DatabaseError for a damaged store."""
    newest, older = backups(path)
    fresh = Path(f"{newest}.new")
    older.unlink(missing_ok=True)  # so that there are never more than two
    begun = time.time()
    _copy(store, fresh)
    try:
        with closing(sqlite3.connect(fresh, isolation_level=None)) as copy:
            prepare(copy)
            check(copy)
    except sqlite3.Error as error:
        _remove(fresh)
        check(store)
        raise BadFile(f"its copy is not sound ({error})") from error
    os.utime(fresh, (begun, begun))
    sync(fresh)
    if newest.exists():
        newest.replace(older)
    fresh.replace(newest)
    sync(path.parent)


def _copy(store: sqlite3.Connection, there: Path) -> None:
    _remove(there)
    make_own(there)
    with closing(sqlite3.connect(there)) as copy:
        store.backup(copy)


def _remove(path: Path) -> None:
    for end in ENDS:
        Path(f"{path}{end}").unlink(missing_ok=True)


@dataclass(frozen=True)
class Restored:
    """What has been done about a damaged store: where it is now, from when its backup is and what that holds, or what is gone."""

    path: Path
    aside: Path | None = None
    saved: float | None = None  # in seconds since 1970
    results: int = 0
    requests: int = 0
    gone: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing was lost."""
        return self.aside is None and not self.gone

    def __str__(self) -> str:
        """Say what has taken the store's place, and what that means for the results."""
        again = "is computed again when it is asked for"
        gone = f"{figures.count(self.gone)} of its results and trainings were damaged: what is gone {again}." if self.gone else ""
        if self.aside is None:
            return gone or f"{self.path} is sound; nothing was changed."
        kept_as = f"{self.path} was damaged, and is kept whole as {self.aside}: delete it when nothing is missed."
        if self.saved is None:
            return f"{kept_as} There was no sound backup, and the store begins empty: whatever it held {again}."
        when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.saved))
        holds = f"with {figures.count(self.results, 'result')} and {figures.count(self.requests, 'request')}"
        return f"{kept_as} Its backup from {when}, {holds}, has taken its place: whatever is newer {again}. {gone}".rstrip()


def restore(path: Path) -> Restored:
    """Put the newest sound backup, or an empty store, in a damaged store's place; a sound one stays. Raises BadFile.

    A power cut in the middle loses nothing, and the next restoring goes on.
    """
    path = real(path)
    with owning(path):
        try:
            if not restored(path).exists():
                if _is_sound(path):
                    return Restored(path, gone=_forget_damaged(path))
                _prepare(path)
            saved, aside = restored(path).stat().st_mtime or None, _aside(path)
            _swap(path, aside)
        except (OSError, sqlite3.Error) as error:
            raise BadFile(f"{path} cannot be restored: {error}; free some space, and try again.") from error
        gone = _forget_damaged(path)
        found = quota.usage(path)
        return Restored(path, aside, saved, found.results, found.requests, gone)


def _is_sound(path: Path) -> bool:
    try:
        with opened(path) as store:
            check(store)
    except Damaged:
        return False
    return True


def _prepare(path: Path) -> None:
    """Make a store of the newest sound backup, or an empty one; its name says that it is whole, its time from when."""
    fresh, saved = Path(f"{path}.fresh"), 0.0
    for backup in filter(Path.exists, backups(path)):
        try:
            with closing(sqlite3.connect(backup)) as source:
                _copy(source, fresh)
            if _is_sound(fresh):
                saved = backup.stat().st_mtime
                break
        except (BadFile, sqlite3.DatabaseError):
            continue
    if not saved:
        _remove(fresh)
    with opened(fresh) as store, transaction(store):
        last = store.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'requests'").fetchone()[0]
        store.execute("DELETE FROM sqlite_sequence WHERE name = 'requests'")
        store.execute("INSERT INTO sqlite_sequence VALUES ('requests', ?)", ((last // NUMBERS + 1) * NUMBERS,))
    Path(f"{fresh}.lock").unlink(missing_ok=True)
    os.utime(fresh, (saved, saved))
    sync(fresh)
    fresh.rename(restored(path))
    sync(path.parent)


def _aside(path: Path) -> Path:
    """Return where the damaged store stays: where an interrupted restoring has put it already, or a name that is free."""
    return next(
        name for n in count(1) if not (name := Path(f"{path}.damaged-{n}")).exists() or (path.exists() and name.samefile(path))
    )


def _swap(path: Path, aside: Path) -> None:
    """Put the whole store in the damaged one's place; a log of the damaged one must not be taken for the other's.

    Until that is done nobody opens the store, whose log may be gone already.
    """
    if not aside.exists():
        os.link(path, aside)
    for end in ("-wal", "-journal"):
        if (log := Path(f"{path}{end}")).exists():
            log.rename(f"{aside}{end}")
    Path(f"{path}-shm").unlink(missing_ok=True)
    sync(path.parent)
    restored(path).replace(path)
    sync(path.parent)


def _forget_damaged(path: Path) -> int:
    """Let results and trainings go that are not as they were written; return how many."""
    gone = 0
    with opened(path) as store:
        for table, text in (("results", "result"), ("trainings", "record")):
            rows = store.execute(f"SELECT {kept.NAMED[table]}, {text}, checksum FROM {table}")
            damaged = [row for row in rows if not kept.is_as_written(*row)]
            gone += sum(not kept.is_whole(store, table, *row) for row in damaged)
    return gone
