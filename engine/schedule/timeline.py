"""A timeline: when each task of each batch starts and ends, what it costs, and what was durable at an instant."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..core.arrays import Flags, Floats, Ints, Number
from ..core.graph import TaskGraph
from ..hardware.device import Device
from .averages import schedule_alone
from .kernels.template import ENERGY, ONCE, SECONDS, STORED, Averages, ScheduleState, Stretch, Taken, Template
from .layout import PlanLayout, laid_out, template_of, with_log_queued_at
from .steady_state import Steady, steady_of

Until = float | Floats  # an instant of a timeline in seconds, or those at which several runs of it ended


@dataclass(frozen=True)
class Line:
    """When N batches of the K tasks of a graph start and end, (N, K), in seconds from the line's own start.

    `start` is NaN for a rolling log that was skipped, `end` also for one that had not ended.
    """

    graph: TaskGraph
    template: Template
    start: Floats
    end: Floats

    @property
    def batch_ends(self) -> Floats:
        """When the last foreground task of each batch ends, (N,)."""
        ends: Floats = self.end[:, self.foreground].max(axis=1)
        return ends

    @property
    def foreground(self) -> Flags:
        """Which tasks are neither background work nor a rolling log, (K,)."""
        return ~self.template.tasks["background"] & self._not_rolling

    @property
    def makespan(self) -> float:
        """When everything but an unfinished rolling log has ended."""
        return float(self.end[:, self._not_rolling].max())

    @property
    def ran(self) -> Floats:
        """Share of the batches after the first two in which each task ran, (K,): 1, but less for a log that spans batches."""
        shares: Floats = np.mean(~np.isnan(self.end[2 if len(self.end) > 2 else 0 :]), axis=0)
        return shares

    @property
    def _not_rolling(self) -> Flags:
        return np.array([not task.during for task in self.graph.tasks])


@dataclass(frozen=True)
class Timeline(Line):
    """A line with what it costs: the arrays of one machine.

    kind: the column of `taken` that each batch is like, (N,).
    durations: seconds that each task takes alone, (N, K).
    log_queue: the demand, by number, in whose lane a rolling log waits.
    """

    layout: PlanLayout
    taken: Taken
    kind: Ints
    durations: Floats
    log_queue: int
    state: ScheduleState
    averages: Averages

    @cached_property
    def steady(self) -> Steady:
        """Its averages over the batches after the first two."""
        return steady_of(self.averages, self.layout.devices, self.layout.cells).at(0)

    @cached_property
    def busy(self) -> Floats:
        """Seconds that each demand keeps its device working, by kind of batch, (D, R): 0 for work beside the device's own."""
        spent: Floats = np.where(self.layout.accounts.beside[:, None], 0.0, by_demand(self.taken, SECONDS))
        return spent

    @cached_property
    def joules(self) -> Floats:
        """Joules of each demand beyond static power, by kind of batch, (D, R)."""
        watts = self.taken.busy_watts[self.layout.accounts.device, 0]
        joules: Floats = by_demand(self.taken, ENERGY) + self.busy * watts[:, None]
        return joules


class WorkDone(NamedTuple):
    """Work done of a timeline: seconds and joules by device, (V,), bytes stored into persistent memory and its media."""

    busy: Number
    joules: Number
    written: Number
    media: Number


class Slow(NamedTuple):
    """Which batches, (N,), meet slower `devices`."""

    batches: Flags
    devices: Mapping[str, Device]


def timeline(
    graph: TaskGraph,
    devices: Mapping[str, Device],
    batches: int,
    like: Timeline | None = None,
    slow: Slow | None = None,
    stretch: Stretch = ONCE,
) -> Timeline:
    """Schedule `batches` batches of `graph`; amounts are scalars or one value per batch.

    A rolling log queues at its slowest device, in part of a run where it does in the whole one, `like`. In its averages, a
    `stretch` of batches stands for more.
    """
    layout = laid_out(graph, tuple(devices), batches, stretch)
    (taken, _), kind = layout.taken([devices]), layout.kind
    queue = like.log_queue if like else int(layout.log_queues_at(taken)[0])
    if slow:
        late, _ = layout.taken([{**devices, **slow.devices}])
        costs, written = (np.concatenate([getattr(one, name) for one in (taken, late)]) for name in ("costs", "written"))
        taken, kind = taken._replace(costs=costs, written=written), kind + layout.kinds * slow.batches
    lasting = np.zeros((len(graph.tasks), len(taken.costs)))
    np.maximum.at(lasting, layout.accounts.task, by_demand(taken, SECONDS))
    graph = with_log_queued_at(layout.graph, queue)
    template, durations = template_of(graph, batches), np.ascontiguousarray(lasting.T[kind])
    state, averages = schedule_alone(template, kind, layout.accounts, taken, stretch)
    start, end = (state.tasks[what].reshape(durations.shape) for what in ("start", "end"))
    return Timeline(graph, template, start, end, layout, taken, kind, durations, queue, state, averages)


def by_demand(taken: Taken, what: int) -> Floats:
    """Return what one machine takes by demand and kind of batch, (D, R); sums over it go along its rows."""
    return np.ascontiguousarray(taken.costs[:, taken.column[what, :, 0]].T)


def work_done(line: Timeline, until: Until) -> WorkDone:
    """Return the work done in the first `until` seconds."""
    accounts = line.layout.accounts
    share = np.zeros((len(line.taken.costs), len(line.graph.tasks)))
    np.add.at(share, line.kind, fraction_done(line, until))
    done = share.T[accounts.task]
    busy, joules = np.zeros((2, len(line.layout.devices)))
    np.add.at(busy, accounts.device, (done * line.busy).sum(axis=1))
    np.add.at(joules, accounts.device, (done * line.joules).sum(axis=1))
    return WorkDone(
        busy,
        joules,
        float((done * np.ascontiguousarray(line.taken.written.T)).sum()),
        float((done * by_demand(line.taken, STORED)).sum()),
    )


def fraction_done(timeline: Timeline, until: Until) -> Floats:
    """Return for each task, (N, K), the share of its work done by `until`, summed over several; skipped logs did nothing."""
    instant, start, end, durations = np.reshape(until, (-1, 1, 1)), timeline.start, timeline.end, timeline.durations
    spent = np.where(
        np.isnan(end),
        np.minimum(instant - start, durations - timeline.state.tasks["left"].reshape(durations.shape)),
        instant - start,
    )
    share: Floats = np.divide(spent, durations, out=np.zeros_like(spent), where=(start < instant) & (durations > 0))
    done: Floats = np.where(end <= instant, 1.0, np.minimum(share, 1.0))
    total: Floats = done[0] if len(done) == 1 else done.sum(axis=0)
    return total
