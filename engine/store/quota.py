"""The store's quota: over it, what was used longest ago goes first, never what a live or a pinned request needs.

What goes are results, trainings, and the list of points of a request without results, which is as old as the request; the
request itself stays in the history, and computes them again when it is reopened.
"""

import math
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..units import GiB
from .database import KEPT, opened, transaction
from .soundness import seal

DEFAULT_GiB = 10.0
SETTING = "quota [B]"
AT_ONCE = 100  # rows that go in one transaction, so that nobody waits long for it
PAGES_AT_ONCE = 2000
SLACK = 0.95  # once over the quota, make room down to this share of it
USE_SECONDS = 3600.0  # how exactly the last use is known: finer would make a write of every reading
HELD = "SELECT id FROM requests WHERE pinned OR state NOT IN ('done', 'cancelled', 'failed')"
OLDEST = f"""SELECT 'results' AS kind, key AS name, used FROM results
    WHERE NOT EXISTS (SELECT 1 FROM points p WHERE p.key = results.key AND p.request IN ({HELD}))
    UNION ALL SELECT 'trainings', class, created FROM trainings
    WHERE NOT EXISTS (SELECT 1 FROM points p WHERE p.class = trainings.class AND p.request IN ({HELD}))
    UNION ALL SELECT * FROM (SELECT 'lists', id, created FROM requests WHERE id NOT IN ({HELD})
        AND EXISTS (SELECT 1 FROM points WHERE request = id)
        AND NOT EXISTS (SELECT 1 FROM points WHERE request = id AND state = {KEPT}) ORDER BY created LIMIT 1)
    ORDER BY used LIMIT ?"""


@dataclass(frozen=True)
class Usage:
    """How many bytes the store uses, its quota in bytes, and how many results, trainings and requests it keeps."""

    used: int
    quota: int
    results: int
    trainings: int
    requests: int


def usage(path: Path) -> Usage:
    """Return how full the store is."""
    with opened(path) as store:
        tables = ("results", "trainings", "requests WHERE state != 'arriving'")
        return Usage(
            used(store), quota(store), *(store.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)
        )


def used(store: sqlite3.Connection) -> int:
    """Return the bytes of all pages that hold something."""
    pages, free, size = (store.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))
    return int((pages - free) * size)


def quota(store: sqlite3.Connection) -> int:
    """Return the bytes that the store may use."""
    row = store.execute("SELECT value FROM settings WHERE name = ?", (SETTING,)).fetchone()
    return int(row[0]) if row else int(DEFAULT_GiB * GiB)


def limit(path: Path, gibibytes: float) -> None:
    """Set the quota, for this and every later owner of the store."""
    with opened(path) as store, transaction(store):
        store.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (SETTING, str(int(gibibytes * GiB))))
        seal(store)


def keep(store: sqlite3.Connection) -> int:
    """Let what was used longest ago go until the store is within its quota or all else is held; return how many rows went."""
    allowed, gone = quota(store), 0
    if used(store) <= allowed:
        return 0
    mean = used(store) / max(1, store.execute("SELECT count(*) FROM results").fetchone()[0])
    while (over := used(store) - SLACK * allowed) > 0 and (went := drop(store, min(AT_ONCE, math.ceil(over / mean)))):
        gone += went
    shrink(store)
    return gone


def drop(store: sqlite3.Connection, most: int) -> int:
    """Let the `most` that were used longest ago go, at once; return how many they were."""
    with transaction(store):
        oldest = store.execute(OLDEST, (most,)).fetchall()
        gone = {which: [(name,) for kind, name, _ in oldest if kind == which] for which in ("results", "trainings", "lists")}
        forget(store, (name for (name,) in gone["results"]))
        store.executemany("DELETE FROM trainings WHERE class = ?", gone["trainings"])
        store.executemany("DELETE FROM points WHERE request = ?", gone["lists"])
        store.executemany("UPDATE requests SET digest = '' WHERE id = ?", gone["lists"])  # it is no longer what it asked for
    return len(oldest)


def forget(store: sqlite3.Connection, names: Iterable[str]) -> None:
    """Delete the results under these keys, and who computed them when."""
    keys = [(name,) for name in names]
    store.executemany("DELETE FROM results WHERE key = ?", keys)
    store.executemany("DELETE FROM claims WHERE key = ? AND ending IS NOT NULL", keys)


def shrink(store: sqlite3.Connection) -> None:
    """Give free pages back to the file system, a few at a time, so that nobody waits long; on a full disk, another time."""
    before = 0
    with suppress(sqlite3.OperationalError):
        while (free := store.execute("PRAGMA freelist_count").fetchone()[0]) and free != before:
            before = free
            store.executescript(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})")  # `execute` would step over one page only


def touch(store: sqlite3.Connection, names: Iterable[str]) -> None:
    """Note that the results under these keys are read now; a store that cannot be written can still be read."""
    with suppress(sqlite3.Error), transaction(store):
        store.executemany("UPDATE results SET used = ? WHERE key = ?", [(time.time(), name) for name in names])
