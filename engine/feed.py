"""Feeds the worker pool lazily: requests in turn, each point once, tasks long enough to be worth sending.

joblib pulls the tasks one by one as workers become free. A point whose functional class is not trained yet trains it alone;
the others of its class wait for that, while other classes and requests go on. While some points still run and there is
nothing to feed, it feeds naps: the pool then stays open for what is asked meanwhile, without ever blocking joblib.
"""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from joblib import delayed

from engine.queue import Point, Turn, open_points, suspect, turns
from engine.trainings import load
from engine.worker import Chunk, Ended, compute_chunk, nap

CHUNK_SECONDS = 0.1
FIRST_CHUNK, LARGEST_CHUNK = 4, 512
Task = tuple[Callable[..., Ended], tuple[Any, ...], dict[str, Any]]


class Feed:
    """What is in flight, whose turn was last, and how long an estimate takes; used by the one owner only."""

    def __init__(self, store: sqlite3.Connection, path: Path, compute: str) -> None:
        self.store, self.path, self.compute = store, path, compute
        self.in_flight: set[str] = set()
        self.training: dict[str, str] = {}  # by functional class, the point in flight that trains it for the others
        self.free: set[str] = set()  # classes that are trained, or whose first point left nothing to share
        self.dry: dict[int, frozenset[str]] = {}  # requests without a point to give while these classes are trained
        self.alone = False
        self.last = 0
        self.size = FIRST_CHUNK

    def tasks(self) -> Iterator[Task]:
        """Yield tasks until nothing is open and nothing runs."""
        self.in_flight.clear()
        while True:
            chunk = self.next()
            if chunk:
                self._begin(chunk)
                yield delayed(compute_chunk)(chunk)
            elif self.in_flight:
                yield delayed(nap)()
            else:
                return

    def next(self) -> Chunk | None:
        """Return what to compute next, or None for now.

        A point that was in flight when a worker died runs alone: should it die again, the blame is certain.
        """
        if self.alone and self.in_flight:
            return None
        suspected = suspect(self.store)
        self.alone = suspected is not None and not self.in_flight
        if suspected:
            return self._chunk(suspected[0], [suspected[1]]) if self.alone else None
        waiting = frozenset(one for one, key in self.training.items() if key in self.in_flight)
        for turn in turns(self.store, self.last):
            points = self._fresh(turn, waiting)
            if points:
                self.last = turn.request
                return self._chunk(turn, points)
        return None

    def note(self, ended: Ended) -> None:
        """Take an answer in: its keys are no longer in flight, and its pace sizes the next chunks."""
        self.in_flight.difference_update(ended.keys)
        for one in [one for one, key in self.training.items() if key in ended.keys]:
            if self._kept(self.training.pop(one)):
                self.free.add(one)
        if ended.keys:
            self.dry.clear()
        if ended.computed:
            fitting = int(CHUNK_SECONDS * ended.computed / max(ended.seconds, 1e-6))
            self.size = max(1, min(fitting, 4 * self.size, LARGEST_CHUNK))

    def _begin(self, chunk: Chunk) -> None:
        """Note what is in flight; the first point of a functional class trains it while the class's others wait."""
        self.in_flight.update(key for key, _ in chunk.points)
        one = chunk.functional_class
        if one and one not in self.free:
            if load(self.store, one):
                self.free.add(one)
            else:
                self.training[one] = chunk.points[0][0]

    def _kept(self, key: str) -> bool:
        return bool(self.store.execute("SELECT 1 FROM results WHERE key = ?", (key,)).fetchone())

    def _fresh(self, turn: Turn, waiting: frozenset[str]) -> list[Point]:
        if waiting and self.dry.get(turn.request) == waiting:
            return []
        size = self.size if turn.how == "estimate" else 1
        found = {point.key: point for point in open_points(self.store, turn.request, size + len(self.in_flight), tuple(waiting))}
        fresh = [point for key, point in found.items() if key not in self.in_flight][:size]
        if waiting and not fresh:
            self.dry[turn.request] = waiting
        return fresh

    def _chunk(self, turn: Turn, points: list[Point]) -> Chunk:
        given = tuple((point.key, point.changes) for point in points)
        shared = points[0].functional_class if turn.how == "full" else None
        return Chunk(str(self.path), turn.request, turn.how, turn.data, turn.base, given, self.compute, shared)
