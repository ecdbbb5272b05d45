"""A timeline: when each task of each batch starts and ends, what it costs, and what was durable at an instant."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Flags, Floats, Ints
from ..core.graph import Demand, Task, TaskGraph
from ..core.work import Amount, Work, written
from ..hardware.device import Device, joules, seconds
from .kernels.events import advance
from .kernels.template import ScheduleState, Template, exposed, stretches

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
        return ~self.template.background & self._not_rolling

    @property
    def makespan(self) -> float:
        """When everything but an unfinished rolling log has ended."""
        return float(self.end[:, self._not_rolling].max())

    @property
    def _not_rolling(self) -> Flags:
        return np.array([not task.during for task in self.graph.tasks])


@dataclass(frozen=True)
class Timeline(Line):
    """A line with what it costs.

    `busy` has the seconds each demand keeps its device working (0 for work beside the device's own) and
    `dynamic` its joules, both (N,), in the order of `demands`, which lists (task position, device).
    """

    state: ScheduleState
    demands: tuple[tuple[int, str], ...]
    busy: tuple[Floats, ...]
    dynamic: tuple[Floats, ...]

    def window(self) -> tuple[float, float, int]:
        """Return start, end and number of batches of the steady state: all batches after the first two."""
        ends = self.batch_ends
        return (float(ends[1]), float(ends[-1]), len(ends) - 2) if len(ends) > 2 else (0.0, float(ends[-1]), len(ends))

    def exposed(self) -> Floats:
        """Return each task's seconds on the critical path of a steady-state batch, (K,); they sum to the step time."""
        low, _, batches = self.window()
        last = (self.end.shape[0] - 1) * self.end.shape[1] + int(np.argmax(np.where(self.foreground, self.end[-1], -np.inf)))
        shares: Floats = exposed(self.template, self.state, last, low) / batches
        return shares


@dataclass(frozen=True)
class Slow:
    """Which batches, (N,), meet slower `devices`."""

    batches: Flags
    devices: Mapping[str, Device]


def timeline(
    graph: TaskGraph, devices: Mapping[str, Device], batches: int, like: TaskGraph | None = None, slow: Slow | None = None
) -> Timeline:
    """Schedule `batches` batches of `graph`; amounts are scalars or one value per batch.

    A rolling log queues at its slowest device; part of a longer run says by the run's graph, `like`, which one that is.
    """
    graph = with_log_queued_at(graph, _lane_of_log(graph, devices, like))
    asked = [(k, demand) for k, task in enumerate(graph.tasks) for demand in task.demands]
    demands = tuple((k, demand.device) for k, demand in asked)
    spent = [_seconds(devices, demand, batches, slow) for _, demand in asked]
    dynamic = tuple(np.broadcast_to(joules(devices[demand.device], demand.work), (batches,)) for _, demand in asked)
    durations = np.zeros((batches, len(graph.tasks)))
    for (k, _), some in zip(asked, spent, strict=True):
        durations[:, k] = np.maximum(durations[:, k], some)
    busy = tuple(np.zeros(batches) if demand.beside else some for (_, demand), some in zip(asked, spent, strict=True))
    template = template_of(graph, durations)
    state = advance(template)
    return Timeline(graph, template, state.start, state.end, state, demands, busy, dynamic)


def _seconds(devices: Mapping[str, Device], demand: Demand, batches: int, slow: Slow | None) -> Floats:
    usual = np.broadcast_to(seconds(devices[demand.device], demand.work), (batches,))
    if slow is None or demand.device not in slow.devices:
        return usual
    return np.where(slow.batches, seconds(slow.devices[demand.device], demand.work), usual)


def _lane_of_log(graph: TaskGraph, devices: Mapping[str, Device], like: TaskGraph | None) -> int:
    """Return in the lane of which of its demands a rolling log waits: a slow medium is never asked for more than it has."""
    asked = next((task.demands for task in graph.tasks if task.during), ())
    if like and asked:
        return [demand.device for demand in asked].index(next(task.server[0] for task in like.tasks if task.during))
    return int(np.argmax([np.mean(seconds(devices[demand.device], demand.work)) for demand in asked])) if asked else 0


def with_log_queued_at(graph: TaskGraph, demand: int) -> TaskGraph:
    """Let the rolling log wait in the lane of one of its demands, by number."""

    def queued(task: Task) -> Task:
        chosen = task.demands[demand]
        return replace(task, demands=(chosen, *(other for other in task.demands if other is not chosen)))

    return TaskGraph(tuple(queued(task) if task.during else task for task in graph.tasks))


def template_of(graph: TaskGraph, durations: Floats) -> Template:
    """Return a graph as the arrays that the schedule works on; `durations` are (N, K) seconds."""
    tasks = graph.tasks
    servers = {server: i for i, server in enumerate(dict.fromkeys(task.server for task in tasks))}
    rolls = [k for k, task in enumerate(tasks) if task.during]
    if len(rolls) > 1:
        raise ValueError("a graph can have one rolling log.")
    same_pointers, same = _successors(tasks, {k: task.after for k, task in enumerate(tasks)}, graph)
    next_pointers, following = _successors(tasks, {k: task.after_previous for k, task in enumerate(tasks)}, graph)
    first_needs = np.array([len(set(task.after)) for task in tasks], dtype=np.int64)
    return Template(
        durations=durations,
        server=np.array([servers[task.server] for task in tasks], dtype=np.int64),
        background=np.array([task.background for task in tasks], dtype=np.bool_),
        same_pointers=same_pointers,
        same=same,
        next_pointers=next_pointers,
        next=following,
        first_needs=first_needs,
        needs=first_needs + np.array([len(set(task.after_previous)) for task in tasks], dtype=np.int64),
        roll=rolls[0] if rolls else -1,
        gate=graph.index(tasks[rolls[0]].during) if rolls else -1,
        bound=tasks[rolls[0]].bound if rolls else 0,
        servers=len(servers),
        alike=stretches(durations),
    )


def _successors(tasks: tuple[Task, ...], needs: Mapping[int, tuple[str, ...]], graph: TaskGraph) -> tuple[Ints, Ints]:
    after: list[list[int]] = [[] for _ in tasks]
    for k, names in needs.items():
        for name in sorted(set(names)):
            after[graph.index(name)].append(k)
    pointers = np.cumsum([0, *[len(items) for items in after]], dtype=np.int64)
    return pointers, np.array([k for items in after for k in items], dtype=np.int64)


def dynamic_joules(timeline: Timeline, devices: Mapping[str, Device], until: Until) -> dict[str, float]:
    """Return joules by device, beyond static power, of the work done in the first `until` seconds."""
    joules = dict.fromkeys(devices, 0.0)
    done = fraction_done(timeline, until)
    for (task, name), busy, energy in zip(timeline.demands, timeline.busy, timeline.dynamic, strict=True):
        joules[name] += float(done[:, task] @ (energy + busy * devices[name].busy_watts))
    return joules


def busy_seconds(timeline: Timeline, devices: Mapping[str, Device], until: Until) -> dict[str, float]:
    """Return by device the seconds of work done in the first `until` seconds."""
    seconds = dict.fromkeys(devices, 0.0)
    done = fraction_done(timeline, until)
    for (task, name), spent in zip(timeline.demands, timeline.busy, strict=True):
        seconds[name] += float(done[:, task] @ spent)
    return seconds


def pmem_written(timeline: Timeline, until: Until, bytes_of: Callable[[Work], Amount] = written) -> float:
    """Return the bytes stored into persistent memory in the first `until` seconds; `bytes_of` says what counts."""
    done = fraction_done(timeline, until)
    asked = ((k, demand) for k, task in enumerate(timeline.graph.tasks) for demand in task.demands)
    return sum(float(np.sum(done[:, k] * bytes_of(demand.work))) for k, demand in asked if demand.device == "pmem")


def fraction_done(timeline: Timeline, until: Until) -> Floats:
    """Return for each task, (N, K), the share of its work done by `until`, summed over several; skipped logs did nothing."""
    at, start, end, whole = np.reshape(until, (-1, 1, 1)), timeline.start, timeline.end, timeline.template.durations
    spent = np.where(np.isnan(end), np.minimum(at - start, whole - timeline.state.left), at - start)
    part: Floats = np.divide(spent, whole, out=np.zeros_like(spent), where=(start < at) & (whole > 0))
    done: Floats = np.where(end <= at, 1.0, np.minimum(part, 1.0))
    total: Floats = done[0] if len(done) == 1 else done.sum(axis=0)
    return total
