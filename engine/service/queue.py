"""The queue of requests, the owner's side: which are live, whose turn it is, and when one has ended."""

import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .. import version
from ..scenario.keys import How
from ..store.database import OPEN, transaction
from ..store.requests import adopt, withdraw

LIVE = "state IN ('queued', 'running') AND (lease_until > ? OR keeps_on)"
OURS = f"{LIVE} AND code = ?"
SUSPECTED_TOGETHER = 64


@dataclass(frozen=True)
class Turn:
    """A live request as the owner sees it: its number, whose it is, how to compute, the data file, the base of its points."""

    request: int
    session: str
    how: How
    data: str | None
    base: str


class OpenPoint(NamedTuple):
    """A point to compute: key, changes to its request's base, the functional class whose training it shares, its position."""

    key: str
    changes: str
    functional_class: str | None
    position: int


def turns(store: sqlite3.Connection, served: Mapping[str | int, int]) -> list[Turn]:
    """Return this code's live requests: first the session `served` longest ago, of it the request served longest ago."""
    query = f"SELECT id, session, how, data, base FROM requests WHERE {OURS} ORDER BY id"
    rows = store.execute(query, (time.time(), version.CODE))
    live = [Turn(*row) for row in rows]
    return sorted(live, key=lambda turn: (served.get(turn.session, 0), served.get(turn.request, 0)))


def open_points(store: sqlite3.Connection, request: int, after: int, most: int, waiting: Iterable[str] = ()) -> list[OpenPoint]:
    """Return the first unfinished points of a request behind a position, but those of functional classes that are `waiting`."""
    classes = tuple(waiting)
    others = f"(class IS NULL OR class NOT IN ({', '.join('?' * len(classes))}))" if classes else "true"
    query = f"""SELECT key, changes, class, position FROM points
        WHERE request = ? AND position > ? AND state = {OPEN} AND {others} ORDER BY position LIMIT ?"""
    return [OpenPoint(*row) for row in store.execute(query, (request, after, *classes, most))]


def count_open(store: sqlite3.Connection, request: int, after: int, most: int) -> int:
    """Return how many unfinished points a request has behind a position; counts to `most`."""
    points = f"SELECT 1 FROM points WHERE request = ? AND position > ? AND state = {OPEN} LIMIT ?"
    return int(store.execute(f"SELECT count(*) FROM ({points})", (request, after, most)).fetchone()[0])


def suspects(store: sqlite3.Connection) -> tuple[Turn, list[OpenPoint]] | None:
    """Return unfinished points of one request during which workers died before, or None.

    After one death some estimates go together, after two each goes by itself, so that the blame becomes certain.
    """
    rows = store.execute(
        f"""SELECT r.id, r.session, r.how, r.data, r.base, count(DISTINCT c.id) AS deaths, p.key, p.changes, p.class, p.position
        FROM claims c JOIN points p ON p.key = c.key JOIN requests r ON r.id = p.request
        WHERE c.ending = 'died' AND p.state = {OPEN} AND r.{OURS} GROUP BY r.id, p.key ORDER BY deaths DESC, r.id LIMIT ?""",
        (time.time(), version.CODE, SUSPECTED_TOGETHER),
    ).fetchall()
    if not rows:
        return None
    turn, deaths = Turn(*rows[0][:5]), rows[0][5]
    together = turn.how == "estimate" and deaths == 1
    return turn, [OpenPoint(*row[6:]) for row in rows if row[0] == turn.request][: None if together else 1]


def serves_others(store: sqlite3.Connection) -> bool:
    """Return whether the newest live request was asked for by other code, whose own service is to own the store."""
    newest = f"SELECT code FROM requests WHERE {LIVE} ORDER BY created DESC, id DESC LIMIT 1"
    row = store.execute(newest, (time.time(),)).fetchone()
    return row is not None and row[0] != version.CODE


def begin(store: sqlite3.Connection, request: int) -> None:
    """Note that a request is being served; what it finds finished does not count towards its pace."""
    counted = f"total - (SELECT count(*) FROM points WHERE request = id AND state = {OPEN})"
    change = f"UPDATE requests SET state = 'running', started = ?, reused = {counted} WHERE id = ? AND state = 'queued'"
    store.execute(change, (time.time(), request))


def take_over(store: sqlite3.Connection) -> None:
    """Make the requests ready for a new owner: resume the running, refuse another version's, adopt what nobody else serves."""
    note = f"It was asked for with another model version; this is {version.MODEL}. Submit it again."
    store.execute("UPDATE requests SET state = 'queued' WHERE state = 'running'")
    refuse = "UPDATE requests SET state = 'failed', note = ? WHERE state = 'queued' AND model_version != ?"
    store.execute(refuse, (note, version.MODEL))
    orphans = "state = 'queued' AND code != ?1 AND (code = '' OR keeps_on OR lease_until <= ?2)"
    for (request,) in store.execute(f"SELECT id FROM requests WHERE {orphans}", (version.CODE, time.time())).fetchall():
        with transaction(store):
            adopt(store, request)
    withdraw(store, "lease_until <", time.time())  # whoever was asking died in the middle
