"""A view of one crash state: each line's state and content, and the recovery."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import NamedTuple

import numpy as np

from ..core.arithmetic import total
from ..core.figures import count
from ..errors import BadInput
from ..persistence import records
from ..persistence.layout import TABLE_START
from ..persistence.media import LINE, FunctionalMedia
from . import replay_line, states, visit
from .judge import CrashVerdict
from .reference_run import Configuration, ReferenceRun, reference_run
from .states import Counts, CrashPoint

VIEWED_SIZES = ("tiny", "small", "large")
CHOICES = {"nothing": "none", "everything": "all", "some": ""}
SLOTS = ("Row log 1", "Row log 2", "MLP log 1", "MLP log 2", "MLP log 3")


class MediumCell(NamedTuple):
    """A line of 64 bytes of the medium, for drawing.

    lane: the name of the table or log slot.
    line: the number of the line in its lane.
    state: "settled" without pending words; else "kept", "torn" or "lost" if all, some or none of them survive.
    holds: the content as a text.
    """

    lane: str
    line: int
    state: str
    holds: str


@dataclass(frozen=True)
class CrashView:
    """A crash state for drawing.

    line: the replay line of the state.
    acknowledged: the batch boundary that was promised to be durable.
    cells: the lines of the medium.
    verdict: the verdict on the recovery.
    """

    line: str
    acknowledged: int
    cells: tuple[MediumCell, ...]
    verdict: CrashVerdict

    def count(self, *cell_states: str) -> int:
        """Return the number of lines that are in one of the given states."""
        counts_by_state = Counter(cell.state for cell in self.cells)
        return total(counts_by_state[state] for state in cell_states)


@lru_cache(maxsize=64)
def moments(variant: Configuration, model: str, granularity: int = 8, seed: int = 0) -> tuple[CrashPoint, ...]:
    """Return the crash points of a small run at which writes are pending."""
    points, _ = visit.crash_points(reference_run(variant, seed), model, granularity, None)
    return tuple(point for point in points if point.streams)


def line_of(variant: Configuration, model: str, number: int, choice_key: str, draw: int = 0) -> str:
    """Return the replay line of crash point `number` of a run.

    `choice_key` is a key of CHOICES; for "some", `draw` is the seed of the random choice.
    """
    point = moments(variant, model)[number]
    choice = CHOICES[choice_key] or point.name(states.random_prefixes(point.sizes, Random(draw)))
    return f"v1:{variant.name}~{model}:0:{point.operation}:{choice}"


def view_state(line: str) -> CrashView:
    """Return the view of the state that a replay line names.

    Raises BadInput for a line with two power losses, a seeded bug or a large table.
    """
    state = replay_line.read_line(line)
    is_small = state.configuration.size in VIEWED_SIZES
    if len(state.operations) != 1 or state.choices[0].run or state.bug or not is_small:
        raise BadInput(
            "The picture can only show a replay line with one power loss, the unbroken protocol and a small table; replay other "
            "lines on the command line."
        )
    points = moments(state.configuration, state.model, state.granularity, state.seed)
    point, counts = replay_line.chosen_state(points, state.operations[0], state.choices[0])
    cells = tuple(_cells(reference_run(state.configuration, state.seed), point, counts))
    return CrashView(line, point.acknowledged, cells, replay_line.replay(line))


def _cells(reference: ReferenceRun, point: CrashPoint, counts: Counts) -> Iterator[MediumCell]:
    pending, kept_counts = Counter[int](), Counter[int]()
    for words, kept in zip(point.words, counts, strict=True):
        pending.update(address // LINE for address, _ in words)
        kept_counts.update(address // LINE for address, _ in words[:kept])
    image = FunctionalMedia(np.frombuffer(point.image(counts), np.uint8))
    for lane, start, stop, holds in _lanes(reference, image):
        for line in range(start // LINE, -(-stop // LINE)):
            yield MediumCell(lane, line - start // LINE, _state(pending[line], kept_counts[line]), holds)


def _state(pending: int, kept_count: int) -> str:
    if not pending:
        return "settled"
    return "kept" if kept_count == pending else "torn" if kept_count else "lost"


def _lanes(reference: ReferenceRun, image: FunctionalMedia) -> Iterator[tuple[str, int, int, str]]:
    """Yield the table and each slot: lane, first address, end, and content in words."""
    place = reference.layout
    yield "Table", TABLE_START, place.table_end, f"{count(place.num_rows, 'row')}"
    for lane, slot in zip(SLOTS, place.slots, strict=True):
        description = "free" if records.is_free(image, slot) else "no whole record"
        if record := records.read_record(image, slot):
            description = f"{record.kind.name.lower().replace('_', ' ')}, batch {record.batch}"
        yield lane, slot.header, slot.stop, description


def recovery_sentence(crash_view: CrashView) -> str:
    """Return a sentence that describes a crash state and its recovery."""
    on_way, survive = crash_view.count("kept", "torn", "lost"), crash_view.count("kept")
    torn = crash_view.count("torn")
    state = f"{count(on_way, 'line')} of 64 B are on their way: {survive} survive whole, {torn} in part"
    if crash_view.verdict.problem:
        return f"{state}. {crash_view.verdict.problem}"
    if crash_view.verdict.no_verdict:
        return f"{state}. No verdict: {crash_view.verdict.no_verdict}"
    if crash_view.verdict.batch is None:
        return f"{state}. Fenced lines are gone, and recovery says so: it refuses"
    promised = f"batch {crash_view.acknowledged} was promised"
    return f"{state}; {promised}. Recovery restores the start of batch {crash_view.verdict.batch}, bit for bit"
