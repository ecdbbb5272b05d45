"""The dispatch of points to workers, lazily: sessions and requests in turn, each point once, tasks worth sending.

What a worker does next is decided when it is free. A point whose functional class is not trained yet trains it alone; the
others of its class wait for that, while other classes and requests go on. Other points go to a worker several at a time; it
computes as many as take a moment, and the rest is open again.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..errors import BadFile
from ..store.trainings import load
from . import computations
from .queue import OpenPoint, Turn, count_open, open_points, suspects, turns
from .worker import Chunk, ChunkEnd

ESTIMATE = "estimate"
# Points in a chunk: of estimates about a moment's worth, so that little is computed again after a crash; and where few are left.
MOST, LEAST = {"estimate": 512, "full": 64}, {"estimate": 64, "full": 1}


class Dispatcher:
    """What is in flight, and who was served when; used by the one owner only."""

    def __init__(self, store: sqlite3.Connection, path: Path, compute: str) -> None:
        self.store, self.path, self.compute, self.slots = store, path, compute, 1
        self.free: set[str] = set()  # classes that are trained, or whose first points left nothing to share
        self.barren: Counter[str] = Counter()  # by class, points that left nothing to share
        self.served: dict[str | int, int] = {}
        self.forget()

    def forget(self) -> None:
        """Nothing is in flight any more."""
        self.in_flight: dict[tuple[str, ...], Chunk] = {}
        self.taken: set[str] = set()
        self.training: dict[str, str] = {}  # by functional class, the point in flight that trains it for the others
        self.fed: dict[int, int] = {}  # by request, the position from which on points are fresh
        self.dry: set[int] = set()  # requests all of whose open points wait or run, until the next answer
        self.alone = False

    def due(self, slots: int) -> Iterator[tuple[Chunk, bool]]:
        """Yield chunks for free `slots`, then an estimate beside full runs that hold all of them, and whether it goes beside."""
        self.slots = slots
        while (free := len(self.in_flight) < slots) or (len(self.in_flight) == slots and not self._estimating()):
            chunk = self.next(only_estimates=not free)
            if not chunk:
                return
            self.in_flight[chunk.keys] = chunk
            self.taken.update(chunk.keys)
            self._train(chunk)
            yield chunk, not free

    def _estimating(self) -> bool:
        return any(chunk.turn.how == ESTIMATE for chunk in self.in_flight.values())

    def next(self, only_estimates: bool = False) -> Chunk | None:
        """Return what to compute next, or None for now; a point that may have killed a worker runs alone, to be sure."""
        if self.alone and self.in_flight:
            return None
        suspected = suspects(self.store)
        self.alone = suspected is not None and not self.in_flight
        if suspected:
            return self._chunk(*suspected) if self.alone else None
        for turn in turns(self.store, self.served):
            points = [] if only_estimates and turn.how == "full" else self._fresh(turn)
            if points:
                return self._chunk(turn, points)
        return None

    def note(self, ended: ChunkEnd) -> None:
        """Take an answer in: its keys are no longer in flight. Raises BadFile for its trouble."""
        if ended.trouble:
            raise BadFile(ended.trouble)
        chunk = self.in_flight.pop(ended.keys, None)
        self.taken.difference_update(ended.keys)
        self.dry.clear()
        if chunk and chunk.turn.how == "full":
            self.fed.pop(chunk.turn.request, None)
            one = chunk.functional_class
            if one and self.training.pop(one, None) and computations.kept(self.store, chunk.keys[0]):
                self._look(one)
                self.fed.clear()

    def _train(self, chunk: Chunk) -> None:
        """Let a functional class wait for this point, unless it is trained."""
        one = chunk.functional_class
        if one and one not in self.free and not load(self.store, one):
            self.training[one] = chunk.keys[0]
        elif one:
            self.free.add(one)

    def _look(self, one: str) -> None:
        """Set a class free if it is trained, or if as many points as run at once left nothing: that may happen to all of them."""
        self.barren[one] += 1
        if self.barren[one] >= self.slots or load(self.store, one):
            self.free.add(one)

    def _fresh(self, turn: Turn) -> list[OpenPoint]:
        """Go on behind what was fed last; at the end of the request begin anew, for what came back unfinished."""
        if turn.request in self.dry:
            return []
        most = MOST[turn.how]
        for after, more in ((self.fed.get(turn.request, -1), 0), (-1, len(self.taken))):
            rows = open_points(self.store, turn.request, after, most + more, self.training)
            points = list({point.key: point for point in rows if point.key not in self.taken}.values())
            if points:
                left = count_open(self.store, turn.request, after, 2 * self.slots * most)
                size = max(LEAST[turn.how], min(most, left // (2 * self.slots)))
                alone = next((n for n, point in enumerate(points) if point.functional_class), size)
                chosen = points[: max(1, min(size, alone))]
                self.fed[turn.request] = chosen[-1].position
                return chosen
        if self.training:
            self.dry.add(turn.request)
        return []

    def _chunk(self, turn: Turn, points: list[OpenPoint]) -> Chunk:
        self.served[turn.session] = self.served[turn.request] = max(self.served.values(), default=0) + 1
        return Chunk(str(self.path), turn, tuple(points), self.compute)
