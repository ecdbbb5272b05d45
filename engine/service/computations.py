"""The table of claims: a row for each start of a computation, with its ending.

    ending: NULL while the computation runs, then kept | failed | cancelled | returned (not reached) | died (the worker died) |
    abandoned (the owner died); `died` becomes `survived` when the point has a result, and `forgiven` when a failed point is
    requested again

Only one owner computes for a store, so an open claim always belongs to one of its workers. If another process closes a claim, for
example after the worker was suspended for long, the worker stores no result. So each result is stored once.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Sequence

from .. import version
from ..core.process import REMEDY
from ..run.progress import Progress
from ..store.database import check_points, transaction
from ..store.result_rows import store_results
from .queue import start_request

# A point's key, its ending, and a text: the result's JSON for `kept`, the sentence for `failed` and `bug`, the reason why a
# `cancelled` point starts again from its first batch, else "".
Ending = tuple[str, str, str]
MOST_DEATHS = 3
MOST_STOPPED = 16  # cancelled points whose progress is kept for viewers
TOO_LATE = "what it had learned is not kept, since it did not stop in time"
KILLER = (
    f"The computation ended its worker process {MOST_DEATHS} times, the last time while it ran alone; it may need more "
    f"memory than is free: {REMEDY}."
)
# Condition: a live request waits for the point, neither ended nor cancelled. A run-out lease stops no running point.
WANTED_CONDITION = """EXISTS (SELECT 1 FROM points p JOIN requests r ON r.id = p.request
    WHERE p.key = {} AND p.state = 0 AND r.state IN ('queued', 'running'))"""
OWN_CLAIM = "EXISTS (SELECT 1 FROM claims WHERE key = {} AND pid = ? AND ending IS NULL)"


def claim_points(store: sqlite3.Connection, request: int, names: Sequence[str]) -> list[str]:
    """Claim those of the named points that are wanted and unfinished; return their keys.

    A claim is a row that says that this process computes the point.
    """
    with transaction(store):
        check_points(store, request, names)
        wanted_keys = _matching_keys(store, names, WANTED_CONDITION)
        rows = ((name, os.getpid(), time.time()) for name in wanted_keys)
        store.executemany("INSERT INTO claims (key, pid, started) VALUES (?, ?, ?)", rows)
        if wanted_keys:
            start_request(store, request)
    return wanted_keys


def is_wanted(store: sqlite3.Connection, name: str) -> bool:
    """Return whether a live request waits for the point with key `name`."""
    return bool(store.execute(f"SELECT {WANTED_CONDITION.format('?')}", (name,)).fetchone()[0])


def unwanted_claims(store: sqlite3.Connection) -> dict[int, str]:
    """Return {claim number: key} for each point in computation that no request waits for."""
    return dict(
        store.execute(
            f"SELECT id, key FROM claims WHERE ending IS NULL AND NOT {WANTED_CONDITION.format('claims.key')}"
        ).fetchall()
    )


def has_result(store: sqlite3.Connection, name: str) -> bool:
    """Return whether the store has a result of this code with key `name`."""
    return bool(store.execute("SELECT 1 FROM results WHERE key = ? AND code = ?", (name, version.CODE)).fetchone())


def report_progress(store: sqlite3.Connection, name: str, progress: Progress) -> None:
    """Write the progress of the point with key `name` to the store, for viewers."""
    row = (name, json.dumps(progress.as_json(), separators=(",", ":"), default=float), time.time())
    store.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?)", row)


def close_claims(store: sqlite3.Connection, endings: Iterable[Ending]) -> None:
    """Write the endings of points that this process has claimed, durably.

    An ending is (key, ending, text); the text is a result or a reason. All are written in one transaction. Endings of claims that
    another process has closed are dropped.
    """
    ending_by_key = {name: (ending, text) for name, ending, text in endings}
    with transaction(store):
        own_endings = {name: ending_by_key[name] for name in _matching_keys(store, ending_by_key, OWN_CLAIM, os.getpid())}
        rows = ((ending, name, os.getpid()) for name, (ending, _) in own_endings.items())
        store.executemany("UPDATE claims SET ending = ? WHERE key = ? AND pid = ? AND ending IS NULL", rows)
        kept_results = [(name, text) for name, (ending, text) in own_endings.items() if ending == "kept"]
        store_results(store, kept_results)
        names = [(name,) for name, _ in kept_results]
        store.executemany("UPDATE claims SET ending = 'survived' WHERE key = ? AND ending = 'died'", names)
        for name, (ending, text) in own_endings.items():
            if ending in ("failed", "bug"):
                _fail(store, name, text, bug=ending == "bug")
        _note_stopped(store, [(text, name) for name, (ending, text) in own_endings.items() if ending == "cancelled"])
        ended_keys = [(name,) for name, (ending, _) in own_endings.items() if ending != "cancelled"]
        store.executemany("DELETE FROM progress WHERE key = ?", ended_keys)


def _note_stopped(store: sqlite3.Connection, stopped: Iterable[tuple[str, str]]) -> None:
    """Write into the progress of stopped points why they start again, or "".

    Delete the oldest progress.
    """
    store.executemany("UPDATE progress SET snapshot = json_set(snapshot, '$.note', ?) WHERE key = ?", stopped)
    newest = f"SELECT key FROM progress ORDER BY rowid DESC LIMIT {MOST_STOPPED}"
    runs = "SELECT key FROM claims WHERE ending IS NULL"
    store.execute(f"DELETE FROM progress WHERE key NOT IN ({newest}) AND key NOT IN ({runs})")


def _matching_keys(store: sqlite3.Connection, names: Iterable[str], condition: str, *parameters: object) -> list[str]:
    """Return the keys, in order, for which a condition holds."""
    query = f"SELECT n.value FROM json_each(?) n WHERE {condition.format('n.value')} ORDER BY n.key"
    return [name for (name,) in store.execute(query, (json.dumps([*names]), *parameters))]


def close_open_claims(store: sqlite3.Connection, ending: str) -> int:
    """Close all open claims with `ending`; return their number.

    A point during which workers died too often becomes a failure.
    """
    with transaction(store):
        stopped = [(TOO_LATE, key) for key in unwanted_claims(store).values()] if ending == "stopped" else []
        stopped_keys = [name for _, name in stopped]
        condition = "key IN (SELECT key FROM claims WHERE ending IS NULL) AND key NOT IN (SELECT value FROM json_each(?))"
        store.execute(f"DELETE FROM progress WHERE {condition}", (json.dumps(stopped_keys),))
        closed = store.execute("UPDATE claims SET ending = ? WHERE ending IS NULL", (ending,)).rowcount
        _note_stopped(store, stopped)
        fail_killers(store)
    return closed


def fail_killers(store: sqlite3.Connection) -> None:
    """Write a failure for each point during which workers died MOST_DEATHS times."""
    deaths = store.execute("SELECT key FROM claims WHERE ending = 'died' GROUP BY key HAVING count(*) >= ?", (MOST_DEATHS,))
    for (name,) in deaths.fetchall():
        _fail(store, name, KILLER, bug=True)


def _fail(store: sqlite3.Connection, name: str, sentence: str, bug: bool) -> None:
    failure = "INSERT OR REPLACE INTO failures (key, sentence, bug, created) VALUES (?, ?, ?, ?)"
    store.execute(failure, (name, sentence, bug, time.time()))
