"""The dispatch of points to workers: owners and requests take turns.

Each point is sent once. The next chunk is chosen when a worker is free. The first point of a functional class trains the class,
alone in its chunk. The other points of the class wait for this training, while other classes and requests continue. Other points
go to a worker several at a time. The worker computes them for a short time; the points that it does not reach can be sent again.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..errors import BadFile
from ..store.trainings import load_training
from . import computations
from .queue import LiveRequest, OpenPoint, count_open, live_requests, open_points, suspect_points
from .worker import Chunk, ChunkAnswer

ESTIMATE = "estimate"
# Points in a chunk: estimates of about a moment, so that a crash repeats little work; LEAST where few points are left.
MAX_POINTS, MIN_POINTS = {"estimate": 512, "full": 64}, {"estimate": 64, "full": 1}


class Dispatcher:
    """The chunks that workers compute now, and the order in which requests are served.

    Only the one owner of a store uses a dispatcher.
    """

    def __init__(self, store: sqlite3.Connection, path: Path, compute: str) -> None:
        self.store, self.path, self.compute, self.slots = store, path, compute, 1
        self.free: set[str] = set()  # classes that are trained, or whose first points left no training to share
        self.barren: Counter[str] = Counter()  # by class, points that left no training to share
        self.served: dict[str | int, int] = {}
        self.reset()

    def reset(self) -> None:
        """Forget all chunks that workers compute, after their workers have ended."""
        self.in_flight: dict[tuple[str, ...], Chunk] = {}
        self.taken: set[str] = set()
        self.training: dict[str, str] = {}  # by functional class, the point in flight that trains it for the others
        self.fed: dict[int, int] = {}  # by request, the position of the last point sent
        self.dry: set[int] = set()  # requests all of whose open points wait or run, until the next answer
        self.alone = False

    def due_chunks(self, slots: int) -> Iterator[tuple[Chunk, bool]]:
        """Yield (chunk, is_extra) for each chunk to send now.

        `slots` is the number of workers; a chunk for them has is_extra False. If all slots compute full runs, one chunk of
        estimates follows with is_extra True, for the extra worker.
        """
        self.slots = slots
        while (has_free_slot := len(self.in_flight) < slots) or (len(self.in_flight) == slots and not self._has_estimate()):
            chunk = self.next_chunk(only_estimates=not has_free_slot)
            if not chunk:
                return
            self.in_flight[chunk.keys] = chunk
            self.taken.update(chunk.keys)
            self._train(chunk)
            yield chunk, not has_free_slot

    def _has_estimate(self) -> bool:
        return any(chunk.turn.fidelity == ESTIMATE for chunk in self.in_flight.values())

    def next_chunk(self, only_estimates: bool = False) -> Chunk | None:
        """Return the next chunk to send, or None if no point can be sent now.

        Points during which a worker has died are sent alone, while no other chunk is computed.
        """
        if self.alone and self.in_flight:
            return None
        suspected = suspect_points(self.store)
        self.alone = suspected is not None and not self.in_flight
        if suspected:
            return self._chunk(*suspected) if self.alone else None
        for turn in live_requests(self.store, self.served):
            points = [] if only_estimates and turn.fidelity == "full" else self._fresh_points(turn)
            if points:
                return self._chunk(turn, points)
        return None

    def note_answer(self, chunk_end: ChunkAnswer) -> None:
        """Note that a chunk's answer has come, so that its points are computed no more.

        Raises BadFile if the answer reports an error of the whole chunk.
        """
        if chunk_end.trouble:
            raise BadFile(chunk_end.trouble)
        chunk = self.in_flight.pop(chunk_end.keys, None)
        self.taken.difference_update(chunk_end.keys)
        self.dry.clear()
        if chunk and chunk.turn.fidelity == "full":
            self.fed.pop(chunk.turn.request, None)
            class_name = chunk.functional_class
            if class_name and self.training.pop(class_name, None) and computations.has_result(self.store, chunk.keys[0]):
                self._free_trained_class(class_name)
                self.fed.clear()

    def _train(self, chunk: Chunk) -> None:
        """Let the points of a class wait for this chunk's training, unless trained."""
        class_name = chunk.functional_class
        if class_name and class_name not in self.free and not load_training(self.store, class_name):
            self.training[class_name] = chunk.keys[0]
        elif class_name:
            self.free.add(class_name)

    def _free_trained_class(self, class_name: str) -> None:
        """Set a class free if trained, or after too many points without training.

        The limit is the number of points that run at once.
        """
        self.barren[class_name] += 1
        if self.barren[class_name] >= self.slots or load_training(self.store, class_name):
            self.free.add(class_name)

    def _fresh_points(self, turn: LiveRequest) -> list[OpenPoint]:
        """Return the next open points of a request, behind the last ones sent.

        At the end of the request, open points are searched from the start again.
        """
        if turn.request in self.dry:
            return []
        max_points = MAX_POINTS[turn.fidelity]
        for position, taken_count in ((self.fed.get(turn.request, -1), 0), (-1, len(self.taken))):
            rows = open_points(self.store, turn.request, position, max_points + taken_count, self.training)
            points = list({point.key: point for point in rows if point.key not in self.taken}.values())
            if points:
                open_count = count_open(self.store, turn.request, position, 2 * self.slots * max_points)
                size = max(MIN_POINTS[turn.fidelity], min(max_points, open_count // (2 * self.slots)))
                training_index = next((n for n, point in enumerate(points) if point.functional_class), size)
                chunk_points = points[: max(1, min(size, training_index))]
                self.fed[turn.request] = chunk_points[-1].position
                return chunk_points
        if self.training:
            self.dry.add(turn.request)
        return []

    def _chunk(self, turn: LiveRequest, points: list[OpenPoint]) -> Chunk:
        self.served[turn.owner] = self.served[turn.request] = max(self.served.values(), default=0) + 1
        return Chunk(str(self.path), turn, tuple(points), self.compute)
