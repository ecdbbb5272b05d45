"""What has been asked for: a request is a list of points that someone waits for, held by a lease.

Requests live in the store, so they survive whoever computes them. A viewer renews the lease; once it has run
out, no further point is begun until someone renews it.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine import version
from engine.errors import BadInput
from engine.functional_class import functional_class
from engine.keys import How, key_of_texts, texts
from engine.progress import Progress, from_json
from engine.queue import LEASE_SECONDS, tend
from engine.scenario import Scenario
from engine.store import FAILED, KEPT, OPEN, opened, transaction

State = Literal["queued", "running", "done", "cancelled", "failed"]
POINT = "INSERT INTO points (request, position, key, changes, state, class, checksum) VALUES (?, ?, ?, ?, ?, ?, crc(?3, ?4))"
ENDED = ("done", "cancelled", "failed")


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


def submit(path: Path, scenarios: Sequence[Scenario], how: How, data: Path | None = None, sharing: bool = True) -> int:
    """Ask for the scenarios' results, durably, and return the request's number.

    Points that are already kept are not computed again; failed ones are tried again. With `sharing`, those of one
    functional class share its training. Raises BadInput, BadFile.
    """
    if not scenarios:
        raise BadInput("No scenario was given; a request needs at least one.")
    now = time.time()
    base = texts(scenarios[0])
    source = str(data.resolve()) if data else None
    with opened(path) as store, transaction(store):
        row = (how, source, _compact(base), len(scenarios), "queued", now, now + LEASE_SECONDS, version.MODEL)
        columns = "how, data, base, total, state, created, lease_until, model_version, checksum"
        values = "?, ?, ?, ?, ?, ?, ?, ?, crc(?1, ?2, ?3)"
        request = store.execute(f"INSERT INTO requests ({columns}) VALUES ({values})", row).lastrowid or 0
        store.executemany(POINT, _points(request, scenarios, base, how, sharing and how == "full"))
        _try_again(store, request)
        store.execute(f"UPDATE points SET state = {KEPT} WHERE request = ? AND key IN (SELECT key FROM results)", (request,))
        tend(store)
    return request


def _points(
    request: int, scenarios: Sequence[Scenario], base: dict[str, str], how: How, sharing: bool
) -> Iterator[tuple[object, ...]]:
    for position, scenario in enumerate(scenarios):
        written = texts(scenario)
        one = functional_class(scenario) if sharing else None
        yield request, position, key_of_texts(written, how), _compact(_changes(base, written)), OPEN, one.name if one else None


def _changes(base: dict[str, str], written: dict[str, str]) -> dict[str, str]:
    """What differs from `base`; a different model is written whole, as its name alone would bring its own knobs."""
    whole = base["model.name"] != written["model.name"]
    return {path: text for path, text in written.items() if text != base[path] or (whole and path.startswith("model."))}


def _compact(content: dict[str, str]) -> str:
    return json.dumps(content, separators=(",", ":"))


def _try_again(store: sqlite3.Connection, request: int) -> None:
    again = "key IN (SELECT f.key FROM failures f JOIN points p ON p.key = f.key WHERE p.request = ?)"
    store.execute(f"UPDATE claims SET ending = 'forgiven' WHERE ending = 'died' AND {again}", (request,))
    store.execute(f"DELETE FROM failures WHERE {again}", (request,))


def cancel(path: Path, request: int) -> None:
    """Stop a request: nothing more is begun, and what runs for it alone stops at its next progress."""
    with opened(path) as store:
        change = "UPDATE requests SET state = 'cancelled', ended = ? WHERE id = ? AND state IN ('queued', 'running')"
        store.execute(change, (time.time(), request))


def renew(path: Path, request: int) -> None:
    """Hold the request for LEASE_SECONDS from now; written only once half of the lease is used."""
    now = time.time()
    with opened(path) as store:
        row = store.execute("SELECT lease_until FROM requests WHERE id = ?", (request,)).fetchone()
        if row and row[0] < now + LEASE_SECONDS / 2:
            store.execute("UPDATE requests SET lease_until = ? WHERE id = ?", (now + LEASE_SECONDS, request))


def latest(path: Path, names: Sequence[str]) -> int | None:
    """Return the newest request for exactly the points with these keys, in this order, or None."""
    holding = "SELECT request FROM points WHERE key = ? AND position = 0 ORDER BY request DESC"
    asked = "SELECT key FROM points WHERE request = ? ORDER BY position"
    with opened(path) as store:
        for (request,) in store.execute(holding, names[:1]).fetchall():
            if [name for (name,) in store.execute(asked, (request,))] == list(names):
                return int(request)
    return None


def status(path: Path, request: int) -> Status:
    """Return how far a request is; raises BadInput if the store does not know it."""
    with opened(path) as store:
        row = store.execute("SELECT how, state, total, reused, started, note FROM requests WHERE id = ?", (request,)).fetchone()
        if row is None:
            raise BadInput(f"request={request} is not in {path}; submit it again.")
        counted = dict(store.execute("SELECT state, count(*) FROM points WHERE request = ? GROUP BY state", (request,)))
        running = _running(store, request)
    how, state, total, reused, started, note = row
    done = total - counted.get(OPEN, 0)
    if state == "queued" and running:  # another request has begun one of its points
        state, reused, started = "running", done, time.time() - max(point.seconds for point in running)
    eta = _eta(total, done, reused, started, running) if state == "running" else None
    return Status(request, how, state, total, done, counted.get(FAILED, 0), eta, running, note)


def failures(path: Path, request: int) -> tuple[Failure, ...]:
    """Return the request's points without a result, in order."""
    query = """SELECT f.key, f.sentence, f.bug FROM points p JOIN failures f ON f.key = p.key
        WHERE p.request = ? ORDER BY p.position"""
    with opened(path) as store:
        return tuple(Failure(name, sentence, bool(bug)) for name, sentence, bug in store.execute(query, (request,)))


def _running(store: sqlite3.Connection, request: int) -> tuple[Running, ...]:
    rows = store.execute(
        """SELECT c.key, c.started, g.snapshot FROM claims c LEFT JOIN progress g ON g.key = c.key
        WHERE c.ending IS NULL AND EXISTS (SELECT 1 FROM points p WHERE p.key = c.key AND p.request = ?) ORDER BY c.id""",
        (request,),
    )
    now = time.time()
    return tuple(Running(name, now - started, from_json(json.loads(text)) if text else None) for name, started, text in rows)


def _eta(total: int, done: int, reused: int, started: float, running: tuple[Running, ...]) -> float | None:
    """Seconds left at the pace so far, counting points that were not there before and shares of running ones."""
    finished = done + sum(point.progress.share for point in running if point.progress)
    if finished <= reused:
        return None
    return (time.time() - started) / (finished - reused) * (total - finished)
