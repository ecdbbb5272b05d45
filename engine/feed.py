"""Feeds the worker pool lazily: requests in turn, each point once, tasks long enough to be worth sending.

joblib pulls the tasks one by one as workers become free. While some points still run and there is nothing to
feed, it feeds naps: the pool then stays open for what is asked meanwhile, without ever blocking joblib.
"""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from joblib import delayed

from engine.queue import Turn, open_points, suspect, turns
from engine.worker import Chunk, Ended, compute_chunk, nap

CHUNK_SECONDS = 0.1
FIRST_CHUNK, LARGEST_CHUNK = 4, 2048
Task = tuple[Callable[..., Ended], tuple[Any, ...], dict[str, Any]]


class Feed:
    """What is in flight, whose turn was last, and how long an estimate takes; used by the one owner only."""

    def __init__(self, store: sqlite3.Connection, path: Path, compute: str) -> None:
        self.store, self.path, self.compute = store, path, compute
        self.in_flight: set[str] = set()
        self.alone = False
        self.last = 0
        self.size = FIRST_CHUNK

    def tasks(self) -> Iterator[Task]:
        """Yield tasks until nothing is open and nothing runs."""
        self.in_flight.clear()
        while True:
            chunk = self.next()
            if chunk:
                self.in_flight.update(key for key, _ in chunk.points)
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
        for turn in turns(self.store, self.last):
            points = self._fresh(turn)
            if points:
                self.last = turn.request
                return self._chunk(turn, points)
        return None

    def note(self, ended: Ended) -> None:
        """Take an answer in: its keys are no longer in flight, and its pace sizes the next chunks."""
        self.in_flight.difference_update(ended.keys)
        if ended.computed:
            fitting = int(CHUNK_SECONDS * ended.computed / max(ended.seconds, 1e-6))
            self.size = max(1, min(fitting, 4 * self.size, LARGEST_CHUNK))

    def _fresh(self, turn: Turn) -> list[tuple[str, str]]:
        size = self.size if turn.how == "estimate" else 1
        found = dict(open_points(self.store, turn.request, size + len(self.in_flight)))
        return [point for point in found.items() if point[0] not in self.in_flight][:size]

    def _chunk(self, turn: Turn, points: list[tuple[str, str]]) -> Chunk:
        return Chunk(str(self.path), turn.request, turn.how, turn.data, turn.base, tuple(points), self.compute)
