"""Evaluation of design points: points with equal plans are scheduled together and share work."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.arrays import Floats, Ints, Number
from ..core.graph import check_graph
from ..core.points.parts import chosen_points
from ..errors import Cancelled, EmberpoolError
from ..scenario.scenario import Scenario
from ..systems.system import Settled, device_names
from ..systems.traffic import Traffic
from .averages import observe, room_for
from .kernels.template import NO_REPEAT, Averages, DemandCosts, Stretch
from .kernels.totals import EXPOSED, Totals
from .layout import PlanLayout, lay_out_plan
from .machine import Machine, machine_of, settle
from .steady_state import Steady, busy_by_device, steady_of
from .timeline import TaskTimes, WorkDone

MAX_AMOUNTS = 5_000_000  # amounts of different devices that are computed at once


@dataclass(frozen=True, eq=False)
class PlannedBatches:
    """The amounts of planned batches, and the plan laid out as arrays.

    Design points with equal model, data and policy share one such object. So do points planned together (`schedule.together`);
    the amounts are then those of all points, and `costs` are the costs of each point on its own machine.
    """

    amounts: Traffic
    layout: PlanLayout
    costs: DemandCosts | None = None

    def amounts_of(self, points: Sequence["DesignPoint"]) -> Traffic:
        """Return the amounts of some of the plan's points."""
        if self.costs is None:
            return self.amounts
        amounts: Traffic = chosen_points(self.amounts, np.array([point.number for point in points]))
        return amounts

    def costs_of(self, points: Sequence["DesignPoint"]) -> tuple[DemandCosts, Ints]:
        """Return the costs on the distinct machines of some points.

        Return also each point's index among these machines.
        """
        if self.costs is None:
            return self.layout.demand_costs([point.machine.devices for point in points])
        numbers = np.array([point.number for point in points])
        return self.costs.of_machines(numbers), np.arange(len(points))


@dataclass(frozen=True, eq=False)
class NotScheduled:
    """A scenario that cannot be scheduled.

    scenario: the scenario.
    problems: the reasons why the scenario does not fit its machine; empty if an error was raised.
    error: the error that refused the scenario, or None.
    """

    scenario: Scenario
    problems: tuple[str, ...] = ()
    error: EmberpoolError | None = None


@dataclass(frozen=True, eq=False)
class DesignPoint:
    """A scenario ready to be scheduled, with its machine and its planned batches.

    number: the number of the point among those whose amounts of work the plan has together.
    """

    scenario: Scenario
    machine: Machine
    plan: PlannedBatches
    number: int = 0


class UncutRuns(NamedTuple):
    """Figures of the runs of P design points without faults.

    Each array has one value per point.

    elapsed: seconds of each run.
    work: the work done: busy seconds and joules by device, and bytes stored.
    checkpoint_seconds: the seconds that checkpoints add to the run, because no other work hides them.
    checkpoint_joules: the energy that checkpoints take [J].
    timelines: a timeline for each point if the caller asked for timelines, else None for each point.
    """

    elapsed: Floats
    work: WorkDone
    checkpoint_seconds: Number
    checkpoint_joules: Number
    timelines: Iterable[TaskTimes | None] = repeat(None)


class Observations(NamedTuple):
    """Results of scheduling P design points; each array has one value per point.

    average: averages per batch over each point's window of batches.
    staleness: the age of the oldest MLP log at a commit [batches].
    idle_watts: idle power by device [W], (V, P) for V devices.
    uncut_runs: the runs without faults if the caller asked for runs, else None.
    """

    average: Steady
    staleness: Ints
    idle_watts: Floats
    uncut_runs: UncutRuns | None


Rendered = TypeVar("Rendered")
AVERAGES, RUNS, TIMELINES = range(3)  # details to observe of each point


def design_point(scenario: Scenario, plan_batches: Callable[[Settled], PlannedBatches]) -> DesignPoint | NotScheduled:
    """Settle a scenario, build its devices and plan its batches.

    Return NotScheduled with the reasons if the scenario cannot run.
    """
    try:
        settled = settle(scenario)
        m = machine_of(settled)
        if settled.problems:
            return NotScheduled(scenario, settled.problems)
        return DesignPoint(scenario, m, plan_batches(settled))
    except Cancelled:
        raise
    except EmberpoolError as error:
        return NotScheduled(scenario, error=error)


def plan(settled: Settled, amounts: Traffic, batches: Traffic, stretch: Stretch = NO_REPEAT) -> PlannedBatches:
    """Plan `batches` of a settled scenario, and return the plan with `amounts`.

    The run that the batches represent repeats those in `stretch`. `amounts` is stored unchanged, for reports.
    """
    devices = device_names(settled.scenario.system, settled.scenario.machine)
    graph = settled.system.graph(settled, batches)
    check_graph(graph, frozenset(devices), settled.log_policy.log)
    return PlannedBatches(amounts, lay_out_plan(graph, devices, batches.batches, stretch))


def evaluate(
    points: Iterable[DesignPoint | Rendered | NotScheduled],
    render: Callable[[Sequence[DesignPoint], Observations], Iterable[Rendered]],
    detail: int = AVERAGES,
    on_progress: Callable[[], None] = lambda: None,
) -> list[Rendered | NotScheduled]:
    """Schedule design points by groups of equal plans; return a rendering of each, in order.

    points: design points; items that are rendered already or NotScheduled are returned unchanged.
    render: called with some design points and their observations; returns a rendering for each of these points.
    detail: AVERAGES, RUNS (also the runs without faults) or TIMELINES (also their timelines).
    on_progress: called before each group is scheduled; the function may raise to stop the evaluation.
    """
    answers: list[Any] = list(points)
    groups: dict[PlannedBatches, list[int]] = defaultdict(list)
    for i, point in enumerate(answers):
        if isinstance(point, DesignPoint):
            groups[point.plan].append(i)
    for plan, numbers in groups.items():
        batches = plan.layout.kinds if detail == AVERAGES else len(plan.layout.kind)
        step = max(1, MAX_AMOUNTS // (len(plan.layout.demands) * batches))
        for offset in range(0, len(numbers), step):
            on_progress()
            chunk = [answers[i] for i in numbers[offset : offset + step]]
            for members, observed in _observed(plan, chunk, detail):
                for i, rendering in zip(members, render([chunk[i] for i in members], observed), strict=True):
                    answers[numbers[offset + i]] = rendering
    return answers


def _observed(plan: PlannedBatches, points: Sequence[DesignPoint], detail: int) -> Iterator[tuple[list[int], Observations]]:
    """Yield (numbers of some points, their observations).

    Points of a common plan whose machines have the very same devices are scheduled once.
    """
    layout, (demand_costs, machine_index) = plan.layout, plan.costs_of(points)
    queued = layout.log_queues_at(demand_costs)
    for demand in np.unique(queued):
        representatives, members = np.flatnonzero(queued == demand), np.flatnonzero(queued[machine_index] == demand)
        graph, template = layout.graph_queued_at(int(demand))
        room = room_for(len(representatives) if detail else 0, template, layout.accounts, detail == TIMELINES)
        part = demand_costs if len(representatives) == len(queued) else demand_costs.of_machines(representatives)
        member_index: Any = np.searchsorted(representatives, machine_index[members])
        member_index = slice(None) if np.array_equal(member_index, np.arange(len(representatives))) else member_index
        averages = Averages._make(
            column[member_index] for column in observe(template, layout.kind, layout.accounts, part, room, layout.stretch)
        )
        uncut_runs = None
        if detail:
            room = room.of_machines(member_index)
            uncut_runs = _uncut_runs(layout, averages, room, map(partial(TaskTimes, graph, template), room.start, room.end))
        average = steady_of(averages, layout.devices, layout.accounts, layout.cells)
        yield members.tolist(), Observations(average, averages.staleness, part.idle_watts[:, member_index], uncut_runs)


def _uncut_runs(layout: PlanLayout, averages: Averages, room: Totals, lines: Iterable[TaskTimes]) -> UncutRuns:
    """Return the uncut runs of machines from their totals."""
    joules = np.zeros((len(layout.devices), len(room.makespan)))
    log_joules = np.zeros(len(room.makespan))
    for c, (stage, name) in enumerate(layout.cells):
        joules[layout.devices.index(name)] += room.joules[:, c]
        log_joules += room.joules[:, c] if stage == "Checkpoint" else 0.0
    work = WorkDone(busy_by_device(layout.accounts, room.busy), joules, room.written_bytes, room.media_bytes)
    return UncutRuns(room.makespan, work, _waits(layout, averages, room), log_joules, lines if len(room.start) else repeat(None))


def _waits(layout: PlanLayout, averages: Averages, room: Totals) -> Floats:
    """Return the seconds that checkpoints expose of each run: for each batch those of a mean batch, at most its time."""
    logs = [c for c, (stage, _) in enumerate(layout.cells) if stage == "Checkpoint"]
    if not logs:
        return np.zeros(len(room.makespan))
    exposed, ends = averages.cells[:, logs, EXPOSED].sum(axis=1), np.array(room.ends.T, order="C")
    ends[:, -1] = room.makespan - layout.stretch.repeats * (
        ends[:, layout.stretch.last_batch] - ends[:, layout.stretch.first_batch]
    )
    often = np.ones(len(layout.kind))
    often[layout.stretch.first_batch + 1 : layout.stretch.last_batch + 1] += layout.stretch.repeats
    waits: Floats = (np.minimum(exposed[:, None], np.diff(ends, prepend=0.0, axis=1)) * often).sum(axis=1)
    return waits
