"""Evaluation of design points: those with the same plan are scheduled and averaged together, what they share is computed once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat, starmap
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.graph import check
from ..errors import Cancelled, EmberpoolError
from ..hardware.device import Device
from ..registry import load
from ..scenario.scenario import Scenario
from ..systems.system import System, log_policy, named
from ..systems.traffic import Traffic
from .averages import EXPOSED, observe
from .kernels.template import Averages
from .kernels.totals import Totals, empty_totals
from .layout import PlanLayout, laid_out, template_of, with_log_queued_at
from .machine import Machine, machine_of, settle
from .steady_state import Steady, steadies
from .timeline import Line, Worked

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
    """A run that nothing cuts: its seconds, its work, of which checkpoints expose `waits` seconds and take `logs` joules.

    Its `line` is there if it was asked for.
    """

    elapsed: float
    work: Worked
    waits: float
    logs: float
    line: Line | None = None


class Observed(NamedTuple):
    """A point's averages over its window, the oldest log at a commit in batches, and its whole run if that was asked for."""

    average: Steady
    stale: int
    whole: Whole | None


Rendered = TypeVar("Rendered")
AVERAGES, RUNS, TIMELINES = range(3)  # how much to observe of each point


def design_point(scenario: Scenario, planned: Callable[[Scenario, str], PlannedBatches]) -> DesignPoint | NotScheduled:
    """Settle a scenario, build its devices and plan its batches; or say why it cannot run, or what refuses it."""
    try:
        settled = settle(scenario)
        m = machine_of(settled.scenario)
        if settled.problems:
            return NotScheduled(scenario, settled.problems)
        return DesignPoint(scenario, m, planned(settled.scenario, scenario.system))
    except Cancelled:
        raise
    except EmberpoolError as error:
        return NotScheduled(scenario, error=error)


def plan(s: Scenario, system: str, amounts: Traffic, batches: Traffic) -> PlannedBatches:
    """Plan a system's `batches`, of which a report looks at the `amounts`."""
    chosen: System = load("systems", system)
    devices = named(system, s.machine)
    policies = log_policy(s, chosen)
    graph = chosen.plan(s, policies, batches)
    check(graph, frozenset(devices), policies.log)
    return PlannedBatches(amounts, laid_out(graph, devices, batches.batches))


def evaluate(
    points: Iterable[DesignPoint | Rendered | NotScheduled],
    render: Callable[[DesignPoint, Observed], Rendered],
    what: int = AVERAGES,
    on_progress: Callable[[], None] = lambda: None,
) -> list[Rendered | NotScheduled]:
    """Schedule all points and return what `render` makes of each, or what was already known of it; `on_progress` may end it.

    Each is rendered as soon as it is known: all reports at once would keep Python's garbage collector busy.
    """
    found: list[Any] = list(points)
    groups: dict[PlannedBatches, dict[int, DesignPoint]] = {}
    for i, point in enumerate(found):
        if isinstance(point, DesignPoint):
            groups.setdefault(point.plan, {})[i] = point
    for plan, alike in groups.items():
        numbers = list(alike)
        batches = plan.layout.kinds if what == AVERAGES else len(plan.layout.kind)
        step = max(1, MOST_AMOUNTS // (len(plan.layout.demands) * batches))
        for first in range(0, len(numbers), step):
            on_progress()
            some = numbers[first : first + step]
            for i, seen in _observed(plan.layout, [alike[number].machine.devices for number in some], what):
                found[some[i]] = render(alike[some[i]], seen)
    return found


def _observed(layout: PlanLayout, machines: Sequence[Mapping[str, Device]], what: int) -> Iterator[tuple[int, Observed]]:
    taken = layout.taken(machines)
    queued = layout.log_queues_at(taken)
    for demand in np.unique(queued):
        mine = np.flatnonzero(queued == demand)
        shape = len(layout.kind), len(layout.graph.tasks)
        graph = with_log_queued_at(layout.graph, int(demand))
        template = template_of(graph, np.zeros(shape))
        room = empty_totals(len(mine) if what else 0, shape, len(layout.cells), what == TIMELINES)
        part = taken._replace(row=taken.row[mine], busy_watts=taken.busy_watts[mine], idle_watts=taken.idle_watts[mine])
        seen = observe(template, layout.kind, layout.accounts, part, room)
        averages = steadies(seen, layout.devices, layout.cells)
        lines: Iterable[Line | None] = starmap(partial(Line, graph, template), zip(room.start, room.end, strict=True))
        runs = _wholes(layout, seen, room, lines if what == TIMELINES else repeat(None)) if what else repeat(None)
        for i, stale, average, run in zip(mine.tolist(), seen.stale.tolist(), averages, runs, strict=False):
            yield i, Observed(average, stale, run)


def _wholes(layout: PlanLayout, seen: Averages, room: Totals, lines: Iterable[Line | None]) -> Iterator[Whole]:
    """Return whole runs: of each batch's time, its checkpoint is what checkpoints expose of a mean one, if it is that long."""
    logs = [c for c, (stage, _) in enumerate(layout.cells) if stage == "Checkpoint"]
    exposed = seen.cells[:, logs, EXPOSED].sum(axis=1)
    ends = room.ends.copy()
    ends[:, -1] = room.makespan
    waits = np.minimum(exposed[:, None], np.diff(ends, prepend=0.0, axis=1)).sum(axis=1)
    busy, joules = np.zeros((2, len(ends), len(layout.devices)))
    kept = np.zeros(len(ends))
    for c, (stage, name) in enumerate(layout.cells):
        busy[:, layout.devices.index(name)] += room.cells[:, c, 0]
        joules[:, layout.devices.index(name)] += room.cells[:, c, 1]
        kept += room.cells[:, c, 1] if stage == "Checkpoint" else 0.0
    works = map(Worked, busy, joules, room.written.tolist(), room.media.tolist())
    return map(Whole, room.makespan.tolist(), works, waits.tolist(), kept.tolist(), lines)
