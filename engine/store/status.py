"""How far a request is, for whoever waits for it: cheap enough to be asked every second, however many points it has."""

import json
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import BadInput
from ..run.progress import Progress, from_json
from ..scenario.keys import How
from .database import OPEN, opened
from .remaining import seconds_left

State = Literal["queued", "running", "done", "cancelled", "failed"]
ENDED = ("done", "cancelled", "failed")
MOST_SHOWN = 1000  # running points; an estimate is over before anyone has read its line


@dataclass(frozen=True)
class Running:
    """A point that is being computed: its key, since when (seconds), and how far it is, if it has said so."""

    key: str
    seconds: float
    progress: Progress | None


@dataclass(frozen=True)
class Status:
    """How far a request is: `done` counts finished points, `failed` those of them without a result."""

    request: int
    how: How
    state: State
    total: int
    done: int
    failed: int
    eta_seconds: float | None
    running: tuple[Running, ...]
    note: str

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ENDED


@dataclass(frozen=True)
class Failure:
    """A point that gave no result: its key, why in a sentence, and whether that is a bug rather than bad input."""

    key: str
    sentence: str
    bug: bool


def status(path: Path, request: int) -> Status:
    """Return how far a request is; raises BadInput if the store does not know it."""
    with opened(path) as store:
        row = store.execute("SELECT how, state, total, reused, started, note FROM requests WHERE id = ?", (request,)).fetchone()
        if row is None:
            raise BadInput(f"request={request} is not in {path}; submit it again.")
        # Both counts are of what is in an index of its own: open points, and failures, of which there are few.
        left = store.execute(f"SELECT count(*) FROM points WHERE request = ? AND state = {OPEN}", (request,)).fetchone()[0]
        failed = _failed(store, request)
        running = _running(store, request, 1 if row[0] == "estimate" else MOST_SHOWN)
        foreseen = seconds_left(store, request, [(one.seconds, one.progress) for one in running]) if row[0] == "full" else None
    how, state, total, reused, started, note = row
    done = total - left
    if state == "queued" and running:  # another request has begun one of its points
        state, reused, started = "running", done, time.time() - max(point.seconds for point in running)
    eta = None
    if state == "running":
        eta = foreseen if how == "full" else _eta(total, done, reused, started)
    return Status(request, how, state, total, done, failed, eta, running, note)


def has_ended(path: Path, request: int) -> bool:
    """Return whether nothing more will come of a request; the cheapest question of all."""
    with opened(path) as store:
        row = store.execute("SELECT state FROM requests WHERE id = ?", (request,)).fetchone()
    return row is None or row[0] in ENDED


def failures(path: Path, request: int) -> tuple[Failure, ...]:
    """Return the request's points without a result, in order."""
    query = """SELECT f.key, f.sentence, f.bug FROM failures f CROSS JOIN points p ON p.key = f.key
        WHERE p.request = ? ORDER BY p.position"""
    with opened(path) as store:
        return tuple(Failure(name, sentence, bool(bug)) for name, sentence, bug in store.execute(query, (request,)))


def _failed(store: sqlite3.Connection, request: int) -> int:
    query = "SELECT count(*) FROM failures f CROSS JOIN points p ON p.key = f.key WHERE p.request = ?"
    return int(store.execute(query, (request,)).fetchone()[0])


def _running(store: sqlite3.Connection, request: int, most: int) -> tuple[Running, ...]:
    rows = store.execute(
        """SELECT c.key, c.started, g.snapshot FROM claims c LEFT JOIN progress g ON g.key = c.key
        WHERE c.ending IS NULL AND EXISTS (SELECT 1 FROM points p WHERE p.key = c.key AND p.request = ?) ORDER BY c.id LIMIT ?""",
        (request, most),
    )
    now = time.time()
    return tuple(Running(name, now - started, from_json(json.loads(text)) if text else None) for name, started, text in rows)


def _eta(total: int, done: int, reused: int, started: float) -> float | None:
    """Seconds left at the pace so far, counting points that were not there before."""
    return (time.time() - started) / (done - reused) * (total - done) if done > reused else None
