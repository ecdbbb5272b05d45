"""A timeline: when each task of each batch starts and ends, and its costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..core.arrays import Flags, Floats, Ints, Number
from ..core.graph import TaskGraph
from ..hardware.device import Device
from .averages import averages_of
from .course import Course, Inputs, Part
from .kernels.template import ENERGY, NO_REPEAT, SECONDS, STORED_BYTES, Averages, DemandCosts, Stretch, Template
from .layout import PlanLayout, lay_out_plan, template_of, with_log_queued_at
from .steady_state import Steady, busy_by_device, steady_of

EndSeconds = float | Floats  # an instant of a timeline [s], or the instants at which several runs of the timeline ended


@dataclass(frozen=True)
class TaskTimes:
    """The start and end of each of K tasks in N batches.

    graph, template: the task graph, and the graph as arrays.
    start: seconds from the first batch's start, (N, K); NaN for a rolling log that was skipped.
    end: seconds from the first batch's start, (N, K); NaN for a rolling log that was skipped or had not ended.
    """

    graph: TaskGraph
    template: Template
    start: Floats
    end: Floats

    @property
    def batch_ends(self) -> Floats:
        """The end of the last foreground task of each batch [s], (N,)."""
        is_rolling = np.arange(len(self.graph.tasks)) == self.template.roll
        ends: Floats = self.end[:, ~self.template.tasks["background"] & ~is_rolling].max(axis=1)
        return ends


@dataclass(frozen=True)
class Timeline:
    """The task times of N batches on one machine, with their costs.

    A long run is held in parts, and `start` and `end` gather them. So take what few tasks or batches need from `course`.

    graph: the task graph of K tasks.
    course: the schedule of the run.
    layout: the arrays of the plan.
    demand_costs: the costs of the D demands.
    kind: the row of `demand_costs` for each batch, (N,).
    lasting: seconds that each task takes in each kind of batch when no other task delays it, (R, K).
    log_queue: the index of the rolling log's demand in whose lane the log waits.
    """

    graph: TaskGraph
    course: Course
    layout: PlanLayout
    demand_costs: DemandCosts
    kind: Ints
    lasting: Floats
    log_queue: int

    @property
    def template(self) -> Template:
        """The task graph as arrays."""
        return self.course.template

    @property
    def batches(self) -> int:
        """The number N of batches."""
        return len(self.kind)

    @property
    def batch_ends(self) -> Floats:
        """The end of the last foreground task of each batch [s], (N,)."""
        return self.course.batch_ends

    @property
    def makespan(self) -> float:
        """The time when all tasks except rolling logs have ended [s]."""
        return self.course.makespan

    @property
    def start(self) -> Floats:
        """The start of each task of each batch [s], (N, K), as in TaskTimes."""
        return np.concatenate([part.start for part in self.course.parts()])

    @property
    def end(self) -> Floats:
        """The end of each task of each batch [s], (N, K), as in TaskTimes."""
        return np.concatenate([part.end for part in self.course.parts()])

    @property
    def durations(self) -> Floats:
        """Seconds that each task takes when no other task delays it, (N, K)."""
        return self.lasting[self.kind]

    @property
    def opening(self) -> TaskTimes:
        """The task times at the start of the run."""
        return TaskTimes(self.graph, self.template, *self.course.opening())

    @property
    def ran_shares(self) -> Floats:
        """For each task, the share of batches in which it ran to its end, (K,).

        The first two batches are left out. The share is 1, or less for a rolling log.
        """
        shares: Floats = np.mean(~np.isnan(self.end[2 if self.batches > 2 else 0 :]), axis=0)
        return shares

    def times_of(self, task: int) -> tuple[Floats, Floats]:
        """Return the start and end of a task in each batch [s], (N,) each."""
        columns = [(part.start[:, task].copy(), part.end[:, task].copy()) for part in self.course.parts()]
        start, end = map(np.concatenate, zip(*columns, strict=True))
        return start, end

    @cached_property
    def averages(self) -> Averages:
        """The averages per batch, as arrays for one machine."""
        return averages_of(self.course)

    @cached_property
    def steady(self) -> Steady:
        """The averages per batch over all batches after the first two."""
        return steady_of(self.averages, self.layout.devices, self.layout.accounts, self.layout.cells).point(0)

    @cached_property
    def busy(self) -> Floats:
        """Busy seconds of each demand in each kind of batch, (D, R).

        The value is 0 for work that does not count as busy time.
        """
        spent: Floats = np.where(self.layout.accounts.excluded_from_busy[:, None], 0.0, by_demand(self.demand_costs, SECONDS))
        return spent

    @cached_property
    def joules(self) -> Floats:
        """Joules of each demand without static power, in each kind of batch, (D, R)."""
        watts = self.demand_costs.busy_watts[self.layout.accounts.device, 0]
        joules: Floats = by_demand(self.demand_costs, ENERGY) + self.busy * watts[:, None]
        return joules


class WorkDone(NamedTuple):
    """The work done in a timeline.

    busy, joules: busy seconds of the busiest lane, and joules without static power, by device, (V,) for V devices.
    written_bytes, media_bytes: bytes that training writes to persistent memory, and bytes that its media store for them.
    """

    busy: Number
    joules: Number
    written_bytes: Number
    media_bytes: Number


class SlowBatches(NamedTuple):
    """The batches that run on slower devices.

    batches: True for each such batch, (N,).
    devices: the slower devices by name.
    """

    batches: Flags
    devices: Mapping[str, Device]


def timeline(
    graph: TaskGraph,
    devices: Mapping[str, Device],
    batches: int,
    reference: Timeline | None = None,
    slow: SlowBatches | None = None,
    stretch: Stretch = NO_REPEAT,
) -> Timeline:
    """Return the timeline of `batches` batches of `graph` on named devices.

    The amounts of work in `graph` are scalars, or arrays with one value per batch.

    reference: the timeline of the whole run, if this is a part of the run; the rolling log waits for the same device as there.
        Without `reference` the log waits for the device that it uses longest.
    slow: the batches that run on slower devices.
    stretch: the batches that the averages count several times, because the run repeats them.
    """
    layout = lay_out_plan(graph, tuple(devices), batches, stretch)
    (demand_costs, _), kind = layout.demand_costs([devices]), layout.kind
    queue = reference.log_queue if reference else int(layout.log_queues_at(demand_costs)[0])
    if slow:
        slow_costs, _ = layout.demand_costs([{**devices, **slow.devices}])
        costs, bytes_written = (
            np.concatenate([getattr(device_costs, name) for device_costs in (demand_costs, slow_costs)])
            for name in ("costs", "written_bytes")
        )
        demand_costs, kind = demand_costs._replace(costs=costs, written_bytes=bytes_written), kind + layout.kinds * slow.batches
    lasting = np.zeros((len(graph.tasks), len(demand_costs.costs)))
    np.maximum.at(lasting, layout.accounts.task, by_demand(demand_costs, SECONDS))
    graph = with_log_queued_at(layout.graph, queue)
    course = Course(template_of(graph, batches), Inputs(kind, layout.accounts, demand_costs, stretch))
    return Timeline(graph, course, layout, demand_costs, kind, np.ascontiguousarray(lasting.T), queue)


def by_demand(demand_costs: DemandCosts, quantity: int) -> Floats:
    """Return one cost of each demand in each kind of batch, (D, R).

    `quantity` is SECONDS, ENERGY or STORED_BYTES. The costs are those of the first machine. The array is contiguous by demand.
    """
    return np.ascontiguousarray(demand_costs.costs[:, demand_costs.column[quantity, :, 0]].T)


def work_done(line: Timeline, end_seconds: EndSeconds) -> WorkDone:
    """Return the work that a timeline has done by `end_seconds`.

    For several instants the result is the sum over the instants.
    """
    accounts = line.layout.accounts
    share = np.zeros((len(line.demand_costs.costs), len(line.graph.tasks)))
    for part in line.course.parts():
        np.add.at(share, line.kind[part.batches], fraction_done(line, part, end_seconds))
    done_share = share.T[accounts.task]
    busy, joules = np.zeros(len(accounts.device_of_lane)), np.zeros(len(line.layout.devices))
    np.add.at(busy, accounts.lane, (done_share * line.busy).sum(axis=1))
    np.add.at(joules, accounts.device, (done_share * line.joules).sum(axis=1))
    return WorkDone(
        busy_by_device(accounts, busy[None])[:, 0],
        joules,
        float((done_share * np.ascontiguousarray(line.demand_costs.written_bytes.T)).sum()),
        float((done_share * by_demand(line.demand_costs, STORED_BYTES)).sum()),
    )


def fraction_done(timeline: Timeline, part: Part, end_seconds: EndSeconds) -> Floats:
    """Return the share of each task's work that is done by `end_seconds`, (n, K).

    `part` has the n batches of the timeline. For several instants the result is the sum over the instants. The share of a skipped
    log is 0.
    """
    instant, durations = np.reshape(end_seconds, (-1, 1, 1)), timeline.lasting[timeline.kind[part.batches]]
    spent = np.where(np.isnan(part.end), np.minimum(instant - part.start, durations - part.left), instant - part.start)
    is_begun = (part.start < instant) & (durations > 0)
    seconds = np.fmax(durations, part.end - part.start)  # longer than its work if others interrupt the task
    share: Floats = np.divide(spent, seconds, out=np.zeros_like(spent), where=is_begun)
    done_share: Floats = np.where(part.end <= instant, 1.0, np.minimum(share, 1.0))
    total: Floats = done_share[0] if len(done_share) == 1 else done_share.sum(axis=0)
    return total
