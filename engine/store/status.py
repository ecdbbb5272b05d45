"""The status of a request for its viewers, cheap enough to be read each second."""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Literal

from .. import version
from ..core.arithmetic import total
from ..errors import BadInput
from ..run.progress import Progress, from_json
from ..scenario.keys import Fidelity
from .database import OPEN, check_requests, open_store

State = Literal["queued", "running", "done", "cancelled", "failed"]
END_STATES = ("done", "cancelled", "failed")
COUNT_FAILED = "SELECT count(*) FROM failures f CROSS JOIN points p ON p.key = f.key WHERE p.request = ?"
MOST_SHOWN = 1000  # running points; an estimate is over before anyone has read its line


@dataclass(frozen=True)
class RunningPoint:
    """A point that a worker computes now.

    key: the point's key.
    seconds: the seconds since its start.
    progress: the progress that the worker has reported, or None.
    """

    key: str
    seconds: float
    progress: Progress | None


@dataclass(frozen=True)
class RequestStatus:
    """The status of a request.

    request: the number of the request.
    fidelity: "estimate" or "full".
    state: the state of the request, such as "queued", "running" or "done".
    total: the number of its points.
    finished_points: the number of its finished points.
    failed: the number of its finished points without a result.
    eta_seconds: the expected seconds until its end, or None if unknown.
    running: its points that workers compute now.
    note: a sentence on its state, or "".
    """

    request: int
    fidelity: Fidelity
    state: State
    total: int
    finished_points: int
    failed: int
    eta_seconds: float | None
    running: tuple[RunningPoint, ...]
    note: str

    @property
    def is_ended(self) -> bool:
        """True if the request has ended, so that no further results will come."""
        return self.state in END_STATES


@dataclass(frozen=True)
class FailedPoint:
    """A point that failed, so that it has no result.

    key: the point's key.
    sentence: the reason.
    bug: True if the reason is an error in the program.
    """

    key: str
    sentence: str
    bug: bool


def status(path: Path, request: int) -> RequestStatus:
    """Return the status of a request; raises BadInput for an unknown one."""
    with open_store(path) as store:
        row = store.execute("SELECT how, state, total, reused, started, note FROM requests WHERE id = ?", (request,)).fetchone()
        if row is None:
            raise BadInput(f"request={request} is not in {path}; submit it again.")
        check_requests(store, "id = ?", request)
        # Both counts use an index of their own: of open points, and of failures, which are few.
        open_count = store.execute(f"SELECT count(*) FROM points WHERE request = ? AND state = {OPEN}", (request,)).fetchone()[0]
        failed = int(store.execute(COUNT_FAILED, (request,)).fetchone()[0])
        running = _running(store, request, 1 if row[0] == "estimate" else MOST_SHOWN)
        foreseen = (
            seconds_left(store, request, [(point.seconds, point.progress) for point in running]) if row[0] == "full" else None
        )
    method, state, total, reused, started, note = row
    done_count = total - open_count
    if state == "queued" and running:  # another request has started one of its points
        state, reused, started = "running", done_count, time.time() - max(point.seconds for point in running)
    if (
        method != "full" and state == "running" and done_count > reused
    ):  # at the pace so far, without points that were finished before
        foreseen = max(time.time() - started, 0.0) / (done_count - reused) * (total - done_count)
    return RequestStatus(
        request, method, state, total, done_count, failed, foreseen if state == "running" else None, running, note
    )


def stopped_progress(path: Path, name: str) -> Progress | None:
    """Return the progress of the cancelled point with key `name`, or None.

    If the point cannot be continued, the progress's `note` says why.
    """
    query = "SELECT snapshot FROM progress WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM claims WHERE key = ?1 AND ending IS NULL)"
    with open_store(path) as store:
        row = store.execute(query, (name,)).fetchone()
    return from_json(json.loads(row[0])) if row else None


def has_ended(store: sqlite3.Connection, request: int) -> bool:
    """Return whether a request has ended, by one cheap query."""
    row = store.execute("SELECT state FROM requests WHERE id = ?", (request,)).fetchone()
    return row is None or row[0] in END_STATES


def failures(path: Path, request: int) -> tuple[FailedPoint, ...]:
    """Return the failed points of a request, in the order of its points."""
    query = """SELECT f.key, f.sentence, f.bug FROM failures f CROSS JOIN points p ON p.key = f.key
        WHERE p.request = ? ORDER BY p.position"""
    with open_store(path) as store:
        return tuple(FailedPoint(name, sentence, bool(bug)) for name, sentence, bug in store.execute(query, (request,)))


def _running(store: sqlite3.Connection, request: int, limit: int) -> tuple[RunningPoint, ...]:
    rows = store.execute(
        """SELECT c.key, c.started, g.snapshot FROM claims c LEFT JOIN progress g ON g.key = c.key
        WHERE c.ending IS NULL AND EXISTS (SELECT 1 FROM points p WHERE p.key = c.key AND p.request = ?) ORDER BY c.id LIMIT ?""",
        (request, limit),
    )
    clock_seconds = time.time()
    return tuple(
        RunningPoint(name, max(clock_seconds - started, 0.0), from_json(json.loads(text)) if text else None)
        for name, started, text in rows
    )


LOOKED_AT = 256  # newest claims, of all requests
RECENT = 16  # newest points by which the pace is measured
# Unfinished points, and those of them that will train: one of each class not yet trained, and all without a class.
UNFINISHED_QUERY = f"""SELECT count(*), count(*) - count(class) + count(DISTINCT class) - count(DISTINCT t)
    FROM (SELECT p.class, (SELECT t.class FROM trainings t WHERE t.class = p.class AND t.code = ?) AS t FROM points p
        WHERE p.request = ? AND p.state = {OPEN})"""
FORESEEABLE = 0.03  # the share from which on a running point's end is more than a guess


def seconds_left(store: sqlite3.Connection, request: int, running: Sequence[tuple[float, Progress | None]]) -> float | None:
    """Return the expected seconds until a request ends, or None if unknown.

    `running` has (seconds so far, progress) of each point that workers compute now; as many workers are assumed until the end.
    Points that train are expected to take as long as earlier ones. Other points are expected to end at the same rate as the last
    ones, because they are too quick to be observed.
    """
    open_count, training = map(int, store.execute(UNFINISHED_QUERY, (version.CODE, request)).fetchone())
    finished, quick_count = _finished(store, request), open_count - training
    trained = [end - start for start, end, trains in finished if trains]
    trained += (
        [took / progress.share for took, progress in running if progress and progress.share >= FORESEEABLE] if training else []
    )
    quick = [(start, end) for start, end, trains in finished if not trains][:RECENT]
    if (training and not trained) or (quick_count and not quick):
        return None
    pace = (max(end for _, end in quick) - min(start for start, _ in quick)) / len(quick) if quick else 0.0
    work = training * mean(trained or [0.0]) - total(took for took, _ in running)
    return max(work, 0.0) / max(len(running), 1) + quick_count * pace


def _finished(store: sqlite3.Connection, request: int) -> list[tuple[float, float, bool]]:
    """Return start, end and own training (bool) of the newest finished points, newest first."""
    rows = store.execute(
        """SELECT c.started, r.created, t.created IS NULL OR t.created > c.started
        FROM claims c JOIN results r ON r.key = c.key JOIN points p ON p.key = c.key
        LEFT JOIN trainings t ON t.class = p.class AND t.code = r.code
        WHERE c.id > (SELECT max(id) FROM claims) - ? AND c.ending = 'kept' AND p.request = ? ORDER BY r.created DESC""",
        (LOOKED_AT, request),
    )
    return [(start, end, bool(trains)) for start, end, trains in rows]
