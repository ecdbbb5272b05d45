"""A request's status for whoever waits for it: cheap enough to be asked every second, however many points it has."""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Literal

from .. import version
from ..errors import BadInput
from ..run.progress import Progress, from_json
from ..scenario.keys import How
from .database import OPEN, opened

State = Literal["queued", "running", "done", "cancelled", "failed"]
ENDED = ("done", "cancelled", "failed")
FAILED = "SELECT count(*) FROM failures f CROSS JOIN points p ON p.key = f.key WHERE p.request = ?"
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
class FailedPoint:
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
        failed = int(store.execute(FAILED, (request,)).fetchone()[0])
        running = _running(store, request, 1 if row[0] == "estimate" else MOST_SHOWN)
        foreseen = seconds_left(store, request, [(one.seconds, one.progress) for one in running]) if row[0] == "full" else None
    how, state, total, reused, started, note = row
    done = total - left
    if state == "queued" and running:  # another request has begun one of its points
        state, reused, started = "running", done, time.time() - max(point.seconds for point in running)
    if how != "full" and state == "running" and done > reused:  # at the pace so far, of points that were not there before
        foreseen = (time.time() - started) / (done - reused) * (total - done)
    return Status(request, how, state, total, done, failed, foreseen if state == "running" else None, running, note)


def stopped(path: Path, name: str) -> Progress | None:
    """Return how far the point with this key was when it was cancelled, or None; `note` says why it cannot go on, if so."""
    query = "SELECT snapshot FROM progress WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM claims WHERE key = ?1 AND ending IS NULL)"
    with opened(path) as store:
        row = store.execute(query, (name,)).fetchone()
    return from_json(json.loads(row[0])) if row else None


def has_ended(store: sqlite3.Connection, request: int) -> bool:
    """Return whether nothing more will come of a request; the cheapest question of all."""
    row = store.execute("SELECT state FROM requests WHERE id = ?", (request,)).fetchone()
    return row is None or row[0] in ENDED


def failures(path: Path, request: int) -> tuple[FailedPoint, ...]:
    """Return the request's points without a result, in order."""
    query = """SELECT f.key, f.sentence, f.bug FROM failures f CROSS JOIN points p ON p.key = f.key
        WHERE p.request = ? ORDER BY p.position"""
    with opened(path) as store:
        return tuple(FailedPoint(name, sentence, bool(bug)) for name, sentence, bug in store.execute(query, (request,)))


def _running(store: sqlite3.Connection, request: int, most: int) -> tuple[Running, ...]:
    rows = store.execute(
        """SELECT c.key, c.started, g.snapshot FROM claims c LEFT JOIN progress g ON g.key = c.key
        WHERE c.ending IS NULL AND EXISTS (SELECT 1 FROM points p WHERE p.key = c.key AND p.request = ?) ORDER BY c.id LIMIT ?""",
        (request, most),
    )
    now = time.time()
    return tuple(Running(name, now - started, from_json(json.loads(text)) if text else None) for name, started, text in rows)


LOOKED_AT = 256  # newest claims, of all requests
RECENT = 16  # points whose pace goes on
# Unfinished points, and those that will train: one of each class not yet trained; one without a class shares nothing.
LEFT = f"""SELECT count(*), count(*) - count(class) + count(DISTINCT class) - count(DISTINCT t)
    FROM (SELECT p.class, (SELECT t.class FROM trainings t WHERE t.class = p.class AND t.code = ?) AS t FROM points p
        WHERE p.request = ? AND p.state = {OPEN})"""
FORESEEABLE = 0.03  # the share from which on a running point's end is more than a guess


def seconds_left(store: sqlite3.Connection, request: int, now: Sequence[tuple[float, Progress | None]]) -> float | None:
    """Return the seconds until all is done with as many workers as run now, or None while nothing tells.

    Of each point that runs `now`: for how many seconds, and how far it is. Trainings are judged by how long they take,
    the others by how fast they end, since they are over before anyone looks.
    """
    left, training = map(int, store.execute(LEFT, (version.CODE, request)).fetchone())
    finished, others = _finished(store, request), left - training
    trained = [ended - begun for begun, ended, alone in finished if alone]
    trained += [took / told.share for took, told in now if told and told.share >= FORESEEABLE] if training else []
    quick = [(begun, ended) for begun, ended, alone in finished if not alone][:RECENT]
    if (training and not trained) or (others and not quick):
        return None
    pace = (max(ended for _, ended in quick) - min(begun for begun, _ in quick)) / len(quick) if quick else 0.0
    work = training * mean(trained or [0.0]) - sum(took for took, _ in now)
    return max(work, 0.0) / max(len(now), 1) + others * pace


def _finished(store: sqlite3.Connection, request: int) -> list[tuple[float, float, bool]]:
    """Return when the newest finished points began and ended, newest first, and whether each trained by itself."""
    rows = store.execute(
        """SELECT c.started, r.created, t.created IS NULL OR t.created > c.started
        FROM claims c JOIN results r ON r.key = c.key JOIN points p ON p.key = c.key
        LEFT JOIN trainings t ON t.class = p.class AND t.code = r.code
        WHERE c.id > (SELECT max(id) FROM claims) - ? AND c.ending = 'kept' AND p.request = ? ORDER BY r.created DESC""",
        (LOOKED_AT, request),
    )
    return [(begun, ended, bool(alone)) for begun, ended, alone in rows]
