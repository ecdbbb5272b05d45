"""Evaluation of design points: those with the same plan are scheduled and averaged together, what they share is computed once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.arrays import Floats, Ints, Number
from ..core.graph import check
from ..errors import Cancelled, EmberpoolError
from ..hardware.device import Device
from ..scenario.scenario import Scenario
from ..systems.system import Settled, named
from ..systems.traffic import Traffic
from .averages import observe
from .kernels.template import ONCE, Averages, Stretch
from .kernels.totals import EXPOSED, Totals, empty_totals
from .layout import PlanLayout, laid_out
from .machine import Machine, machine_of, settle
from .steady_state import Steady, steady_of
from .timeline import Line, WorkDone

MOST_AMOUNTS = 5_000_000  # of devices that differ, at once


@dataclass(frozen=True, eq=False)
class PlannedBatches:
    """What points with the same knobs of model, data and policy share: the batches' amounts, and the plan laid out."""

    amounts: Traffic
    layout: PlanLayout


@dataclass(frozen=True, eq=False)
class NotScheduled:
    """A scenario that does not fit its machine, and the sentences that say why; or that is refused, and the error."""

    scenario: Scenario
    problems: tuple[str, ...] = ()
    error: EmberpoolError | None = None


@dataclass(frozen=True, eq=False)
class DesignPoint:
    """A scenario ready to be scheduled."""

    scenario: Scenario
    machine: Machine
    plan: PlannedBatches


class Whole(NamedTuple):
    """Runs that nothing cuts: their seconds, work, of which checkpoints expose `waits` seconds and take `logs` joules.

    All are columns, of work those of each device; `lines` are there if they were asked for.
    """

    elapsed: Floats
    work: WorkDone
    waits: Number
    logs: Number
    lines: Iterable[Line | None] = repeat(None)


class Observed(NamedTuple):
    """Averages of points over their windows, their oldest logs at a commit in batches, and whole runs if these were asked for.

    All are columns; `idle_watts` (V, P) are by device.
    """

    average: Steady
    stale: Ints
    idle_watts: Floats
    whole: Whole | None


Rendered = TypeVar("Rendered")
AVERAGES, RUNS, TIMELINES = range(3)  # how much to observe of each point


def design_point(scenario: Scenario, planned: Callable[[Settled], PlannedBatches]) -> DesignPoint | NotScheduled:
    """Settle a scenario, build its devices and plan its batches; or say why it cannot run, or what refuses it."""
    try:
        settled = settle(scenario)
        m = machine_of(settled)
        if settled.problems:
            return NotScheduled(scenario, settled.problems)
        return DesignPoint(scenario, m, planned(settled))
    except Cancelled:
        raise
    except EmberpoolError as error:
        return NotScheduled(scenario, error=error)


def plan(settled: Settled, amounts: Traffic, batches: Traffic, stretch: Stretch = ONCE) -> PlannedBatches:
    """Plan a system's `batches`, a `stretch` of which stands for more; a report looks at the `amounts`."""
    devices = named(settled.scenario.system, settled.scenario.machine)
    graph = settled.system.graph(settled, batches)
    check(graph, frozenset(devices), settled.log_policy.log)
    return PlannedBatches(amounts, laid_out(graph, devices, batches.batches, stretch))


def evaluate(
    points: Iterable[DesignPoint | Rendered | NotScheduled],
    render: Callable[[Sequence[DesignPoint], Observed], Iterable[Rendered]],
    what: int = AVERAGES,
    on_progress: Callable[[], None] = lambda: None,
) -> list[Rendered | NotScheduled]:
    """Schedule all points and return what `render` makes of some, or what was already known; `on_progress` may end it."""
    found: list[Any] = list(points)
    groups: dict[PlannedBatches, list[int]] = defaultdict(list)
    for i, point in enumerate(found):
        if isinstance(point, DesignPoint):
            groups[point.plan].append(i)
    for plan, numbers in groups.items():
        batches = plan.layout.kinds if what == AVERAGES else len(plan.layout.kind)
        step = max(1, MOST_AMOUNTS // (len(plan.layout.demands) * batches))
        for first in range(0, len(numbers), step):
            on_progress()
            some = [found[i] for i in numbers[first : first + step]]
            for mine, seen in _observed(plan.layout, [point.machine.devices for point in some], what):
                for i, one in zip(mine, render([some[i] for i in mine], seen), strict=True):
                    found[numbers[first + i]] = one
    return found


def _observed(layout: PlanLayout, machines: Sequence[Mapping[str, Device]], what: int) -> Iterator[tuple[list[int], Observed]]:
    """Yield some of the machines, by number, and what was observed of them; those with the very same devices are one."""
    taken, same = layout.taken(machines)
    queued = layout.log_queues_at(taken)
    for demand in np.unique(queued):
        some, mine = np.flatnonzero(queued == demand), np.flatnonzero(queued[same] == demand)
        shape = len(layout.kind), len(layout.graph.tasks)
        graph, template = layout.queued_at(int(demand))
        room = empty_totals(len(some) if what else 0, shape, len(layout.cells), what == TIMELINES)
        part = taken if len(some) == len(queued) else taken.of(some)
        back: Any = np.searchsorted(some, same[mine])
        back = slice(None) if np.array_equal(back, np.arange(len(some))) else back
        seen = Averages._make(each[back] for each in observe(template, layout.kind, layout.accounts, part, room, layout.stretch))
        whole = None
        if what:
            room = room.of(back)
            whole = _whole(layout, seen, room, map(partial(Line, graph, template), room.start, room.end))
        average = steady_of(seen, layout.devices, layout.cells)
        yield mine.tolist(), Observed(average, seen.stale, part.idle_watts[:, back], whole)


def _whole(layout: PlanLayout, seen: Averages, room: Totals, lines: Iterable[Line]) -> Whole:
    """Return whole runs by what was entered of them."""
    busy, joules = np.zeros((2, len(layout.devices), len(room.makespan)))
    kept = np.zeros(len(room.makespan))
    for c, (stage, name) in enumerate(layout.cells):
        busy[layout.devices.index(name)] += room.cells[:, c, 0]
        joules[layout.devices.index(name)] += room.cells[:, c, 1]
        kept += room.cells[:, c, 1] if stage == "Checkpoint" else 0.0
    work = WorkDone(busy, joules, room.written, room.media)
    return Whole(room.makespan, work, _waits(layout, seen, room), kept, lines if len(room.start) else repeat(None))


def _waits(layout: PlanLayout, seen: Averages, room: Totals) -> Floats:
    """Return what checkpoints expose of each run: of each batch's time as much as of a mean one, if it is that long."""
    logs = [c for c, (stage, _) in enumerate(layout.cells) if stage == "Checkpoint"]
    if not logs:
        return np.zeros(len(room.makespan))
    exposed, ends = seen.cells[:, logs, EXPOSED].sum(axis=1), np.array(room.ends.T, order="C")
    ends[:, -1] = room.makespan - layout.stretch.times * (ends[:, layout.stretch.last] - ends[:, layout.stretch.first])
    often = np.ones(len(layout.kind))
    often[layout.stretch.first + 1 : layout.stretch.last + 1] += layout.stretch.times
    waits: Floats = (np.minimum(exposed[:, None], np.diff(ends, prepend=0.0, axis=1)) * often).sum(axis=1)
    return waits
