"""One crash state in view: what each line of the medium holds, what was on its way, and what recovery makes of it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..persistence import records
from ..persistence.layout import DATA
from ..persistence.media import LINE, FunctionalMedia
from . import replay_line, states, visit
from .judge import CrashVerdict
from .reference_run import Configuration, ReferenceRun, reference_run
from .states import Counts, CrashPoint

VIEWED = ("tiny", "small", "large")
KEPT = {"nothing": "none", "everything": "all", "some": ""}
SLOTS = ("Row log 1", "Row log 2", "MLP log 1", "MLP log 2", "MLP log 3")


class MediumCell(NamedTuple):
    """A line of 64 B: its lane and number in it; `state` is settled, kept, torn or lost; `holds` says what is in it."""

    lane: str
    line: int
    state: str
    holds: str


@dataclass(frozen=True)
class CrashView:
    """A crash state; `line` replays it."""

    line: str
    acknowledged: int
    cells: tuple[MediumCell, ...]
    verdict: CrashVerdict

    def count(self, *found: str) -> int:
        """Return how many lines are in one of these states."""
        counted = Counter(cell.state for cell in self.cells)
        return sum(counted[state] for state in found)


@lru_cache(maxsize=64)
def moments(of: Configuration, model: str, granularity: int = 8, seed: int = 0) -> tuple[CrashPoint, ...]:
    """Return the moments of a small run at which power can be lost with writes pending."""
    points, _ = visit.crash_points(reference_run(of, seed), model, granularity, None)
    return tuple(point for point in points if point.streams)


def line_of(of: Configuration, model: str, number: int, kept: str, draw: int = 0) -> str:
    """Return the replay line of a moment; `kept` is a key of KEPT, and `draw` numbers the random choices of `some`."""
    point = moments(of, model)[number]
    choice = KEPT[kept] or point.name(states.random_prefixes(point.sizes, Random(draw)))
    return f"v1:{of.name}~{model}:0:{point.operation}:{choice}"


def view(line: str) -> CrashView:
    """Look at the state that a replay line of one power loss names; raises BadInput."""
    asked = replay_line.read(line)
    few = asked.configuration.size in VIEWED
    if len(asked.operations) != 1 or asked.choices[0].run or asked.bug or not few:
        raise BadInput(
            "Only a line of one power loss in the unbroken protocol, on a small table, can be looked at; replay others on the "
            "command line."
        )
    points = moments(asked.configuration, asked.model, asked.granularity, asked.seed)
    point, counts = replay_line.chosen(points, asked.operations[0], asked.choices[0])
    cells = tuple(_cells(reference_run(asked.configuration, asked.seed), point, counts))
    return CrashView(line, point.acknowledged, cells, replay_line.replay(line))


def _cells(reference: ReferenceRun, point: CrashPoint, counts: Counts) -> Iterator[MediumCell]:
    pending, kept = Counter[int](), Counter[int]()
    for words, count in zip(point.words, counts, strict=True):
        pending.update(address // LINE for address, _ in words)
        kept.update(address // LINE for address, _ in words[:count])
    image = FunctionalMedia(np.frombuffer(point.image(counts), np.uint8))
    for lane, start, stop, holds in _lanes(reference, image):
        for line in range(start // LINE, -(-stop // LINE)):
            yield MediumCell(lane, line - start // LINE, _state(pending[line], kept[line]), holds)


def _state(pending: int, kept: int) -> str:
    if not pending:
        return "settled"
    return "kept" if kept == pending else "torn" if kept else "lost"


def _lanes(reference: ReferenceRun, image: FunctionalMedia) -> Iterator[tuple[str, int, int, str]]:
    """Yield the table and each slot: lane, first address, end, and what it holds."""
    place = reference.layout
    yield "Table", DATA, place.table_end, f"{place.num_rows} rows"
    for lane, slot in zip(SLOTS, place.slots, strict=True):
        told = "free" if records.is_free(image, slot) else "no whole record"
        if record := records.read(image, slot):
            told = f"{record.kind.name.lower().replace('_', ' ')}, batch {record.batch}"
        yield lane, slot.header, slot.stop, told


def recovery_sentence(found: CrashView) -> str:
    """Return what recovery does from here, as a sentence."""
    on_way, survive = found.count("kept", "torn", "lost"), found.count("kept")
    torn = found.count("torn")
    state = f"{on_way} lines of 64 B are on their way: {survive} survive whole, {torn} in part"
    if found.verdict.problem:
        return f"{state}. {found.verdict.problem}"
    if found.verdict.no_verdict:
        return f"{state}. No verdict: {found.verdict.no_verdict}"
    if found.verdict.batch is None:
        return f"{state}. Fenced lines are gone, and recovery says so: it refuses"
    promised = f"batch {found.acknowledged} was promised"
    return f"{state}; {promised}. Recovery restores the start of batch {found.verdict.batch}, bit for bit"
