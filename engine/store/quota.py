"""The quota of a store: above it, rows used longest ago are deleted.

Rows of live or pinned requests are never deleted. Uploaded data files in the folder next to the store count too; they take a
quarter of the quota at most. Each upload is a folder of its own, whose modification time is the time of its last use.
Results, trainings, and the points of requests without results can be deleted. Points are as old as their request. The request
itself stays in the history, and its results are computed again when it is opened.
"""

import math
import os
import shutil
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from ..core.arithmetic import total
from ..units import DAY, HOUR, GiB
from .database import FINISHED, open_store, transaction
from .files import side_copy

DEFAULT_GiB = 10.0
SETTING = "quota [B]"
AT_ONCE = 100  # rows deleted in one transaction, so that no process waits long for it
PAGES_AT_ONCE = 2000
SLACK = 0.95  # once over the quota, make room down to this share of it
USE_SECONDS = HOUR  # precision of the last use: a finer one would make a write of every reading
UPLOADS_SHARE = 0.25  # of the quota, for all uploads
UPLOAD_DAYS = 7  # days after its last use in which an upload is never deleted
UNFINISHED = "unfinished-"  # how an upload is called while its files are written or deleted
UNFINISHED_SECONDS = HOUR  # an upload that is unfinished for longer is of a dead process
PROTECTED_REQUESTS = "SELECT id FROM requests WHERE pinned OR state NOT IN ('done', 'cancelled', 'failed')"
OLDEST = f"""SELECT 'results' AS kind, key AS name, used FROM results
    WHERE NOT EXISTS (SELECT 1 FROM points p WHERE p.key = results.key AND p.request IN ({PROTECTED_REQUESTS}))
    UNION ALL SELECT 'trainings', class, created FROM trainings
    WHERE NOT EXISTS (SELECT 1 FROM points p WHERE p.class = trainings.class AND p.request IN ({PROTECTED_REQUESTS}))
    UNION ALL SELECT * FROM (SELECT 'lists', id, created FROM requests WHERE id NOT IN ({PROTECTED_REQUESTS})
        AND EXISTS (SELECT 1 FROM points WHERE request = id)
        AND NOT EXISTS (SELECT 1 FROM points WHERE request = id AND state = {FINISHED}) ORDER BY created LIMIT 1)
    ORDER BY used LIMIT ?"""


@dataclass(frozen=True)
class Usage:
    """The amounts in a store.

    used_bytes: the bytes in use, those of the copy and of the uploads next to the store included.
    quota: the bytes that the store may use.
    results, trainings, requests: the number of each.
    """

    used_bytes: int
    quota: int
    results: int
    trainings: int
    requests: int


def usage(path: Path) -> Usage:
    """Return the amounts in the store at `path`."""
    with open_store(path) as store:
        tables = ("results", "trainings", "requests WHERE state != 'arriving'")
        return Usage(
            used_bytes(store) + file_bytes(side_copy(path)) + total(map(upload_bytes, uploads(path))),
            quota_bytes(store),
            *(store.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables),
        )


def used_bytes(store: sqlite3.Connection) -> int:
    """Return the bytes of all database pages in use."""
    pages, free_pages, size = (
        store.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free_pages) * size)


def file_bytes(path: Path) -> int:
    """Return the size of a file in bytes; 0 if the file does not exist."""
    return path.stat().st_size if path.exists() else 0


def quota_bytes(store: sqlite3.Connection) -> int:
    """Return the bytes that the store may use."""
    row = store.execute("SELECT value FROM settings WHERE name = ?", (SETTING,)).fetchone()
    return int(row[0]) if row else int(DEFAULT_GiB * GiB)


def set_quota(path: Path, gibibytes: float) -> None:
    """Set the store's quota; the value is kept in the store."""
    with open_store(path) as store, transaction(store):
        store.execute("INSERT OR REPLACE INTO settings VALUES (?1, ?2, crc(?1, ?2))", (SETTING, str(int(gibibytes * GiB))))


def enforce_quota(store: sqlite3.Connection, copy_bytes: int = 0, uploads_bytes: int = 0) -> int:
    """Delete the rows used longest ago until the store keeps its quota; return their number.

    The bytes of the copy next to the store count too, up to half of the quota; a larger copy shrinks when it is made next. So do
    the bytes of the uploads, up to their share. Rows of live and pinned requests are never deleted.
    """
    quota, dropped_rows = quota_bytes(store), 0
    allowed = quota - min(copy_bytes, quota // 2) - min(uploads_bytes, int(UPLOADS_SHARE * quota))
    if used_bytes(store) <= allowed:
        return 0
    mean = used_bytes(store) / max(1, store.execute("SELECT count(*) FROM results").fetchone()[0])
    while (excess_bytes := used_bytes(store) - SLACK * allowed) > 0 and (
        dropped := drop_oldest(store, min(AT_ONCE, math.ceil(excess_bytes / mean)))
    ):
        dropped_rows += dropped
    shrink(store)
    return dropped_rows


def drop_oldest(store: sqlite3.Connection, max_rows: int) -> int:
    """Delete up to `max_rows` rows, those used longest ago first; return their number.

    All are deleted in one transaction.
    """
    with transaction(store):
        oldest = store.execute(OLDEST, (max_rows,)).fetchall()
        names_by_table = {
            table: [(name,) for kind, name, _ in oldest if kind == table] for table in ("results", "trainings", "lists")
        }
        delete_results(store, (name for (name,) in names_by_table["results"]))
        store.executemany("DELETE FROM trainings WHERE class = ?", names_by_table["trainings"])
        store.executemany("DELETE FROM points WHERE request = ?", names_by_table["lists"])
        store.executemany(
            "UPDATE requests SET digest = '' WHERE id = ?", names_by_table["lists"]
        )  # its points no longer have that digest
    return len(oldest)


def delete_results(store: sqlite3.Connection, names: Iterable[str]) -> None:
    """Delete the results with these keys, and the claims that have ended for them."""
    keys = [(name,) for name in names]
    store.executemany("DELETE FROM results WHERE key = ?", keys)
    store.executemany("DELETE FROM claims WHERE key = ? AND ending IS NOT NULL", keys)


def shrink(store: sqlite3.Connection) -> None:
    """Return the database's free pages to the file system, a few at a time.

    Do nothing on a full disk.
    """
    previous_pages = 0
    with suppress(sqlite3.OperationalError):
        while (free_pages := store.execute("PRAGMA freelist_count").fetchone()[0]) and free_pages != previous_pages:
            previous_pages = free_pages
            store.executescript(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})")  # `execute` would step over one page only


def note_use(store: sqlite3.Connection, names: Iterable[str]) -> None:
    """Set the time of last use of the results with these keys to now.

    Errors, such as those of a read-only store, are ignored.
    """
    with suppress(sqlite3.Error), transaction(store):
        store.executemany("UPDATE results SET used = ? WHERE key = ?", [(time.time(), name) for name in names])


def uploads_folder(store_path: Path) -> Path:
    """Return the folder of the uploads next to the store at `store_path`."""
    return store_path.parent / "uploads"


def uploads(store_path: Path) -> list[Path]:
    """Return the folders of all uploads next to a store, unfinished ones included."""
    folder = uploads_folder(store_path)
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []


def upload_bytes(upload: Path) -> int:
    """Return the bytes of an upload's files; 0 for a deleted upload."""
    with suppress(OSError):
        return total(file.stat().st_size for file in upload.iterdir())
    return 0


def note_upload_use(upload: Path) -> None:
    """Set the time of an upload's last use to now; errors are ignored."""
    with suppress(OSError):
        if not 0.0 <= time.time() - upload.stat().st_mtime < USE_SECONDS:
            os.utime(upload)


def delete_uploads(store_path: Path, names: frozenset[str] | None = None) -> set[str]:
    """Delete uploads that no waiting, running or pinned request needs; return their names.

    names: the uploads to delete; by default those unused for UPLOAD_DAYS, and unfinished ones of dead processes. Raises BadFile.
    """
    doomed = {upload.name for upload in uploads(store_path) if (_is_old(upload) if names is None else upload.name in names)}
    if not doomed:
        return set()
    folder = uploads_folder(store_path)
    with open_store(store_path) as store, transaction(store):  # so that no request is written meanwhile
        doomed -= _needed_uploads(store, folder.resolve())
        # An upload is whole or gone, whatever happens.
        removed_folders = [(folder / name).rename(folder / f"{UNFINISHED}{uuid4().hex}") for name in doomed]
    for removed_folder in removed_folders:
        shutil.rmtree(removed_folder, ignore_errors=True)
    return doomed


def _needed_uploads(store: sqlite3.Connection, folder: Path) -> set[str]:
    """Return the names of the uploads that a waiting, running or pinned request needs."""
    rows = store.execute(f"SELECT DISTINCT data FROM requests WHERE data IS NOT NULL AND id IN ({PROTECTED_REQUESTS})")
    return {Path(data).relative_to(folder).parts[0] for (data,) in rows if folder in Path(data).parents}


def _is_old(upload: Path) -> bool:
    seconds = UNFINISHED_SECONDS if upload.name.startswith(UNFINISHED) else UPLOAD_DAYS * DAY
    with suppress(OSError):
        return time.time() - upload.stat().st_mtime > seconds
    return False
