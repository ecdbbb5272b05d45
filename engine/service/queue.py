"""The queue of requests as the owner sees it: live requests and their unfinished points."""

import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .. import version
from ..scenario.keys import Fidelity
from ..store.database import OPEN, transaction
from ..store.requests import adopt, withdraw
from ..store.status import LOOKED_AT

LIVE = "state IN ('queued', 'running') AND (lease_until > ? OR keeps_on)"
OWN_LIVE = f"{LIVE} AND code = ?"
SUSPECTED_TOGETHER = 64
SHORTEST_JUMP_SECONDS = 1.0  # of a clock that was set; smaller steps matter to nothing that is shown
# Moments of work in hand, by table and column: of unfinished requests, and of the points by which the time left is foreseen.
_NEWEST = f"SELECT key FROM claims WHERE id > (SELECT max(id) FROM claims) - {LOOKED_AT}"
_UNFINISHED = "state IN ('arriving', 'queued', 'running')"
MOMENTS = (
    ("requests", "lease_until", _UNFINISHED),
    ("requests", "started", _UNFINISHED),
    ("claims", "started", f"id > (SELECT max(id) FROM claims) - {LOOKED_AT}"),
    ("results", "created", f"key IN ({_NEWEST})"),
    ("trainings", "created", f"class IN (SELECT class FROM points WHERE key IN ({_NEWEST}))"),
)


@dataclass(frozen=True)
class LiveRequest:
    """A request that the owner has to serve.

    request: the number of the request.
    owner: the owner of the request.
    fidelity: "estimate" or "full".
    data_path: the path of the data file, or None.
    base: the knobs of the request's first point, as JSON.
    """

    request: int
    owner: str
    fidelity: Fidelity
    data_path: str | None
    base: str


class OpenPoint(NamedTuple):
    """A point that has to be computed.

    key: the point's key.
    changes: the knobs that differ from the request's base, as JSON.
    functional_class: the name of the functional class whose training the point shares, or None.
    position: the position of the point in its request.
    """

    key: str
    changes: str
    functional_class: str | None
    position: int


def live_requests(store: sqlite3.Connection, serve_order: Mapping[str | int, int]) -> list[LiveRequest]:
    """Return the live requests of this code, in the order in which to serve them.

    The owner who was served longest ago comes first; of an owner, the request that was served longest ago.
    serve_order: for each owner and request, the number of its last turn; numbers rise.
    """
    query = f"SELECT id, owner, how, data, base FROM requests WHERE {OWN_LIVE} ORDER BY id"
    rows = store.execute(query, (time.time(), version.CODE))
    live = [LiveRequest(*row) for row in rows]
    return sorted(live, key=lambda turn: (serve_order.get(turn.owner, 0), serve_order.get(turn.request, 0)))


def open_points(
    store: sqlite3.Connection, request: int, position: int, limit: int, waiting: Iterable[str] = ()
) -> list[OpenPoint]:
    """Return up to `limit` unfinished points of a request after a position, in order.

    Points of the functional classes in `waiting` are left out.
    """
    classes = tuple(waiting)
    class_condition = f"(class IS NULL OR class NOT IN ({', '.join('?' * len(classes))}))" if classes else "true"
    query = f"""SELECT key, changes, class, position FROM points
        WHERE request = ? AND position > ? AND state = {OPEN} AND {class_condition} ORDER BY position LIMIT ?"""
    return [OpenPoint(*row) for row in store.execute(query, (request, position, *classes, limit))]


def count_open(store: sqlite3.Connection, request: int, position: int, limit: int) -> int:
    """Return the number of a request's unfinished points after a position, at most `limit`."""
    points = f"SELECT 1 FROM points WHERE request = ? AND position > ? AND state = {OPEN} LIMIT ?"
    return int(store.execute(f"SELECT count(*) FROM ({points})", (request, position, limit)).fetchone()[0])


def suspect_points(store: sqlite3.Connection) -> tuple[LiveRequest, list[OpenPoint]] | None:
    """Return (request, points) of unfinished points during which workers have died, or None.

    After one death several estimates are returned together; after two deaths, or for a full run, one point is returned alone, so
    that the point that ends its worker is found.
    """
    rows = store.execute(
        f"""SELECT r.id, r.owner, r.how, r.data, r.base, count(DISTINCT c.id) AS deaths, p.key, p.changes, p.class, p.position
        FROM claims c JOIN points p ON p.key = c.key JOIN requests r ON r.id = p.request
        WHERE c.ending = 'died' AND p.state = {OPEN} AND r.{OWN_LIVE} GROUP BY r.id, p.key ORDER BY deaths DESC, r.id LIMIT ?""",
        (time.time(), version.CODE, SUSPECTED_TOGETHER),
    ).fetchall()
    if not rows:
        return None
    turn, deaths = LiveRequest(*rows[0][:5]), rows[0][5]
    is_group = turn.fidelity == "estimate" and deaths == 1
    return turn, [OpenPoint(*row[6:]) for row in rows if row[0] == turn.request][: None if is_group else 1]


def newest_has_other_code(store: sqlite3.Connection) -> bool:
    """Return whether the newest live request was made by other code.

    If so, this owner should leave the store to the service of that code.
    """
    newest = f"SELECT code FROM requests WHERE {LIVE} ORDER BY created DESC, id DESC LIMIT 1"
    row = store.execute(newest, (time.time(),)).fetchone()
    return row is not None and row[0] != version.CODE


class ClockWatch:
    """The watch over the computer's clock, which somebody may set while work is in hand.

    The moments of the work are set with it. So a lease ends when it would have ended, and the time left is that of the work.
    Moments of work that ended earlier stay.
    """

    def __init__(self) -> None:
        self.clock_seconds, self.steady_seconds = time.time(), time.monotonic()

    def look(self, store: sqlite3.Connection) -> None:
        """Move the moments in the store by the clock's jump since the last look.

        Without a jump, nothing is written.
        """
        clock_seconds, steady_seconds = time.time(), time.monotonic()
        elapsed = steady_seconds - self.steady_seconds
        jump = clock_seconds - self.clock_seconds - elapsed
        if abs(jump) >= SHORTEST_JUMP_SECONDS:
            with transaction(store):
                for table, column, condition in MOMENTS:
                    is_earlier = f"{column} NOT BETWEEN ?2 AND ?3"  # not written since the jump
                    change = f"UPDATE {table} SET {column} = {column} + ?1 WHERE {condition} AND {is_earlier}"
                    store.execute(change, (jump, clock_seconds - elapsed, clock_seconds))
                _end_future(store)
        self.clock_seconds, self.steady_seconds = clock_seconds, steady_seconds


def _end_future(store: sqlite3.Connection) -> None:
    """Date requests of a later time, as a clock that was set back leaves them, to now: the newest request is to be known."""
    store.execute(f"UPDATE requests SET created = ?1 WHERE {_UNFINISHED} AND created > ?1", (time.time(),))


def start_request(store: sqlite3.Connection, request: int) -> None:
    """Set a queued request to running, with the time of its start.

    Points that are finished by then do not count for the expected time of its end.
    """
    finished_count = f"total - (SELECT count(*) FROM points WHERE request = id AND state = {OPEN})"
    change = f"UPDATE requests SET state = 'running', started = ?, reused = {finished_count} WHERE id = ? AND state = 'queued'"
    store.execute(change, (time.time(), request))


def resume_requests(store: sqlite3.Connection) -> None:
    """Prepare all requests for a new owner of the store.

    Running requests are queued again. Requests of another model version fail. Requests of other code that no viewer waits for are
    taken over.
    """
    note = f"This request was made with another model version; this is {version.MODEL}. Submit it again."
    store.execute("UPDATE requests SET state = 'queued' WHERE state = 'running'")
    refuse = "UPDATE requests SET state = 'failed', note = ? WHERE state = 'queued' AND model_version != ?"
    store.execute(refuse, (note, version.MODEL))
    orphans = "state = 'queued' AND code != ?1 AND (code = '' OR keeps_on OR lease_until <= ?2)"
    for (request,) in store.execute(f"SELECT id FROM requests WHERE {orphans}", (version.CODE, time.time())).fetchall():
        with transaction(store):
            adopt(store, request)
    withdraw(store, "lease_until <", time.time())  # their submitting process died in the middle
    _end_future(store)
