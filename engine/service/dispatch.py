"""The dispatch of points to workers, lazily: sessions and requests in turn, each point once, tasks worth sending.

What a worker does next is decided when it is free. A point whose functional class is not trained yet trains it alone; the
others of its class wait for that, while other classes and requests go on. Undisturbed full runs with like batches go to a
worker together, as many as take a moment, which a few of them show; what their batches ask for is counted once for all.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

from ..errors import BadFile
from ..run import forecast
from ..scenario.keys import How, texts
from ..scenario.scenario import Scenario
from ..store.trainings import load
from . import computations
from .queue import OpenPoint, Turn, open_points, suspects, turns
from .worker import Chunk, ChunkEnd

CHUNK_SECONDS = 0.25
MOST = 64  # so that little is computed again after a crash
ESTIMATE = "estimate"
FIRST_CHUNK, SUSPECTED_CHUNK, LARGEST_CHUNK = 64, 64, 4096  # estimates
OTHERS = ("machine.", "policy.")  # knobs that change no batch
USUAL = texts(Scenario())


class SharedChunks:
    """How many points of each kind take CHUNK_SECONDS, as far as that is known; used by the one owner only."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.flying: dict[tuple[str, ...], str] = {}
        self.pace = forecast.ESTIMATE_SECONDS  # of an estimate

    def size(self, alike: str) -> int:
        """Return how many points of a kind go together."""
        return self.sizes.get(alike, FIRST_CHUNK if alike == ESTIMATE else 1)

    def choose(self, turn: Turn, points: Iterable[OpenPoint]) -> list[OpenPoint]:
        """Return the first few of some points, which go together; one, where it goes by itself."""
        first, *others = points
        alike = kind(turn, first)
        if not alike:
            return [first]
        return [first, *takewhile(lambda point: kind(turn, point) == alike, others)][: self.size(alike)]

    def begin(self, chunk: Chunk) -> None:
        """Note what kind a chunk is of."""
        self.flying[chunk.keys] = kind(chunk.turn, chunk.points[0])

    def note(self, ended: ChunkEnd) -> None:
        """Learn from an answer how many of its kind go next."""
        alike = self.flying.pop(ended.keys, "")
        if alike and ended.computed and ended.seconds:
            pace, most = max(ended.seconds / ended.computed, 1e-6), MOST
            if alike == ESTIMATE:
                self.pace, most = pace, LARGEST_CHUNK
            self.sizes[alike] = max(1, min(int(CHUNK_SECONDS / pace), 4 * self.size(alike), most))


def kind(turn: Turn, point: OpenPoint) -> str:
    """Return what batches hang on: of estimates nothing; "" for a run that may train, be struck, or read a file."""
    if turn.how == ESTIMATE:
        return ESTIMATE
    known = _unusual(turn.base)
    changes = {path: text for path, text in json.loads(point.changes).items() if path in known or USUAL[path] != text}
    changed = known | changes
    struck = any(path.startswith("faults.") for path in changed)
    if turn.data or struck or changed.get("run.training") != "off":
        return ""
    return json.dumps([item for item in sorted(changed.items()) if not item[0].startswith(OTHERS)])


@lru_cache(maxsize=64)
def _unusual(base: str) -> dict[str, str]:
    """Return what a request's points have in common, as far as it is not every knob's default."""
    return {path: text for path, text in json.loads(base).items() if USUAL[path] != text}


HERE_SECONDS = 1.0  # about what it takes to start workers


class Dispatcher:
    """What is in flight, and who was served when; used by the one owner only."""

    def __init__(self, store: sqlite3.Connection, path: Path, compute: str) -> None:
        self.store, self.path, self.compute = store, path, compute
        self.in_flight: dict[tuple[str, ...], How] = {}
        self.taken: set[str] = set()
        self.training: dict[str, str] = {}  # by functional class, the point in flight that trains it for the others
        self.free: set[str] = set()  # classes that are trained, or whose first points left nothing to share
        self.barren: Counter[str] = Counter()  # by class, points that left nothing to share
        self.slots = 1
        self.dry: set[int] = set()  # requests all of whose open points wait or run, until the next answer
        self.alone = False
        self.served: dict[str | int, int] = {}
        self.fed: dict[int, int] = {}
        self.along = SharedChunks()

    def due(self, slots: int) -> Iterator[tuple[Chunk, bool]]:
        """Yield chunks for free `slots`, then an estimate beside full runs that hold all of them, and whether it goes beside."""
        self.slots = slots
        while (free := len(self.in_flight) < slots) or (len(self.in_flight) == slots and ESTIMATE not in self.in_flight.values()):
            chunk = self.next(only_estimates=not free)
            if not chunk:
                return
            self.in_flight[chunk.keys] = chunk.turn.how
            self.taken.update(chunk.keys)
            self._train(chunk)
            yield chunk, not free

    def forget(self) -> None:
        """Nothing is in flight any more."""
        self.in_flight.clear()
        self.taken.clear()
        self.fed.clear()
        self.training.clear()
        self.dry.clear()
        self.along.flying.clear()

    def next(self, only_estimates: bool = False) -> Chunk | None:
        """Return what to compute next, or None for now; a point that may have killed a worker runs alone, to be sure."""
        if self.alone and self.in_flight:
            return None
        suspected = suspects(self.store, min(self.along.size(ESTIMATE), SUSPECTED_CHUNK))
        self.alone = suspected is not None and not self.in_flight
        if suspected:
            return self._chunk(*suspected) if self.alone else None
        for turn in turns(self.store, self.served):
            points = [] if only_estimates and turn.how == "full" else self._fresh(turn)
            if points:
                return self._chunk(turn, points)
        return None

    def next_here(self) -> Chunk | None:
        """Return what the owner had better compute itself: a few estimates, none of which has ended an owner or a worker."""
        most, waiting = int(HERE_SECONDS / self.along.pace), 0
        for turn in turns(self.store, self.served):
            waiting += most + 1 if turn.how == "full" else len(open_points(self.store, turn.request, -1, most + 1 - waiting))
            if waiting > most:
                return None
        chunk = self.next() if waiting else None
        return chunk if chunk and not computations.unlucky(self.store, chunk.keys) else None

    def note(self, ended: ChunkEnd) -> None:
        """Take an answer in: its keys are no longer in flight, its pace sizes the next chunks. Raises BadFile for its trouble."""
        if ended.trouble:
            raise BadFile(ended.trouble)
        self.taken.difference_update(ended.keys)
        for one in [one for one, key in self.training.items() if key in ended.keys]:
            if computations.kept(self.store, self.training.pop(one)):
                self._look(one)
            self.fed.clear()
        if ended.keys:
            self.dry.clear()
        self.along.note(ended)
        self.in_flight.pop(ended.keys, None)

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
        size = self.along.size(ESTIMATE) if turn.how == ESTIMATE else MOST
        for after, more in ((self.fed.get(turn.request, -1), 0), (-1, len(self.taken))):
            rows = open_points(self.store, turn.request, after, size + more, self.training)
            points = list({point.key: point for point in rows if point.key not in self.taken}.values())[:size]
            if points:
                chosen = self.along.choose(turn, points)
                self.fed[turn.request] = chosen[-1].position
                return chosen
        if self.training:
            self.dry.add(turn.request)
        return []

    def _chunk(self, turn: Turn, points: list[OpenPoint]) -> Chunk:
        self.served[turn.session] = self.served[turn.request] = max(self.served.values(), default=0) + 1
        chunk = Chunk(str(self.path), turn, tuple(points), self.compute)
        self.along.begin(chunk)
        return chunk
