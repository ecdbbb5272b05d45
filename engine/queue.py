"""The owner's side of the requests: which are live, whose turn it is, and when one has ended."""

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine import version
from engine.keys import How
from engine.store import KEPT, OPEN

LEASE_SECONDS = 120.0
FORGET_SECONDS = 7 * 86400.0
LIVE = "state IN ('queued', 'running') AND lease_until > ?"


@dataclass(frozen=True)
class Turn:
    """A live request as the owner sees it: its number, how to compute, the data file, the base of its points."""

    request: int
    how: How
    data: str | None
    base: str


class Point(NamedTuple):
    """A point to compute: its key, changes to its request's base, and its functional class, if it shares one's training."""

    key: str
    changes: str
    functional_class: str | None


def turns(store: sqlite3.Connection, last: int) -> list[Turn]:
    """Return the live requests in turn, beginning behind the one served `last`."""
    rows = store.execute(f"SELECT id, how, data, base FROM requests WHERE {LIVE} ORDER BY id <= ?, id", (time.time(), last))
    return [Turn(*row) for row in rows]


def open_points(store: sqlite3.Connection, request: int, most: int, waiting: Sequence[str] = ()) -> list[Point]:
    """Return the first unfinished points of a request, but those of functional classes that are `waiting`."""
    others = f"(class IS NULL OR class NOT IN ({', '.join('?' * len(waiting))}))" if waiting else "true"
    query = f"SELECT key, changes, class FROM points WHERE request = ? AND state = {OPEN} AND {others} ORDER BY position LIMIT ?"
    return [Point(*row) for row in store.execute(query, (request, *waiting, most))]


def suspect(store: sqlite3.Connection) -> tuple[Turn, Point] | None:
    """Return an unfinished point during which a worker died before, or None."""
    row = store.execute(
        f"""SELECT r.id, r.how, r.data, r.base, p.key, p.changes, p.class
        FROM claims c JOIN points p ON p.key = c.key JOIN requests r ON r.id = p.request
        WHERE c.ending = 'died' AND p.state = {OPEN} AND r.{LIVE} LIMIT 1""",
        (time.time(),),
    ).fetchone()
    return (Turn(*row[:4]), Point(*row[4:])) if row else None


def begin(store: sqlite3.Connection, request: int) -> None:
    """Note that a request is being served; what it finds finished does not count towards its pace."""
    counted = f"(SELECT count(*) FROM points WHERE request = id AND state != {OPEN})"
    change = f"UPDATE requests SET state = 'running', started = ?, reused = {counted} WHERE id = ? AND state = 'queued'"
    store.execute(change, (time.time(), request))


def tend(store: sqlite3.Connection) -> None:
    """End requests without an open point, and park those whose lease has run out; looks before it locks."""
    now = (time.time(),)
    still_open = f"EXISTS (SELECT 1 FROM points WHERE request = id AND state = {OPEN})"
    finished = f"state IN ('queued', 'running') AND NOT {still_open}"
    if store.execute(f"SELECT 1 FROM requests WHERE {finished}").fetchone():
        kept = f"EXISTS (SELECT 1 FROM points WHERE request = id AND state = {KEPT})"
        store.execute(
            f"UPDATE requests SET state = CASE WHEN {kept} THEN 'done' ELSE 'failed' END, ended = ? WHERE {finished}", now
        )
    expired = "state = 'running' AND lease_until <= ?"
    if store.execute(f"SELECT 1 FROM requests WHERE {expired}", now).fetchone():
        store.execute(f"UPDATE requests SET state = 'queued' WHERE {expired}", now)


def take_over(store: sqlite3.Connection) -> None:
    """Make the requests ready for a new owner: resume the running, refuse another version's, forget old ones."""
    note = f"It was asked for with another model version; this is {version.MODEL}. Submit it again."
    store.execute("UPDATE requests SET state = 'queued' WHERE state = 'running'")
    refuse = "UPDATE requests SET state = 'failed', note = ? WHERE state = 'queued' AND model_version != ?"
    store.execute(refuse, (note, version.MODEL))
    before = time.time() - FORGET_SECONDS
    store.execute("DELETE FROM points WHERE request IN (SELECT id FROM requests WHERE lease_until < ?)", (before,))
    store.execute("DELETE FROM requests WHERE lease_until < ?", (before,))
