"""The schedule once more, as SimPy processes: one for each task of each batch, one for each turn on a lane.

Written from the sentences in engine.core.graph and engine.schedule. At any instant everything that ends does so
first; then every lane chooses what it serves next: foreground, background, rolling log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import simpy
from numpy.typing import NDArray

from engine.core.graph import TaskGraph
from engine.hardware.device import Device, seconds

LAST_PRIORITY = 2  # after SimPy's urgent and normal events of the same instant


@dataclass(eq=False)
class Job:
    """A task of a batch on its way through a lane."""

    batch: int
    position: int
    remainder: float
    ready: float = 0.0

    @property
    def key(self) -> tuple[float, int, int]:
        """Who comes first among jobs of a kind."""
        return self.ready, self.batch, self.position


@dataclass(eq=False)
class Lane:
    """A server: two queues, and what it serves at the moment."""

    foreground: list[Job] = field(default_factory=list)
    background: list[Job] = field(default_factory=list)
    serving: Job | None = None
    turn: simpy.Process | None = None


@dataclass(frozen=True)
class Schedule:
    """Start and end of every task, (batches, tasks), NaN for what never happened; age of the log by batch."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    stale: NDArray[np.int64]


def durations(graph: TaskGraph, devices: Mapping[str, Device], batches: int) -> NDArray[np.float64]:
    """Return (batches, tasks) seconds: a task takes as long as its slowest demand."""
    by_task = [[np.broadcast_to(seconds(devices[d.device], d.work), (batches,)) for d in task.demands] for task in graph.tasks]
    return np.array([np.max(task_seconds, axis=0) for task_seconds in by_task]).T


def schedule(graph: TaskGraph, times: NDArray[np.float64]) -> Schedule:
    """Run all batches; `times` are the seconds of every task, (batches, tasks)."""
    return Floor(graph, times).run()


class Floor:
    """The machine in operation."""

    def __init__(self, graph: TaskGraph, times: NDArray[np.float64]) -> None:
        self.env, self.graph, self.times = simpy.Environment(), graph, times
        self.start, self.end = np.full(times.shape, np.nan), np.full(times.shape, np.nan)
        self.stale = np.zeros(len(times), dtype=np.int64)
        self.lanes = {task.server: Lane() for task in graph.tasks}
        self.completions = [[self.env.event() for _ in graph.tasks] for _ in times]
        self.roll = next((k for k, task in enumerate(graph.tasks) if task.gate_task), None)
        self.log: Job | None = None
        self.ready, self.waiting = -1, None
        self.newest = -1
        if self.roll is not None:
            self.gate, self.bound = graph.index(graph.tasks[self.roll].gate_task), graph.tasks[self.roll].staleness_bound
            self.newest = 0 if self.bound else -1
        self.choosing = False

    def run(self) -> Schedule:
        """Operate until every task but the rolling log has ended."""
        for n in range(len(self.times)):
            for k in range(len(self.graph.tasks)):
                self.env.process(self._task(n, k))
        endings = [event for row in self.completions for k, event in enumerate(row) if k != self.roll]
        self.env.run(until=self.env.all_of(endings))
        while self.env.peek() == self.env.now:
            self.env.step()
        return Schedule(self.start, self.end, self.stale)

    def _task(self, n: int, k: int):
        task = self.graph.tasks[k]
        needs = [self.completions[n][self.graph.index(name)] for name in task.predecessors]
        needs += [self.completions[n - 1][self.graph.index(name)] for name in task.previous_batch_predecessors if n]
        yield self.env.all_of(needs)
        job = Job(n, k, float(self.times[n, k]), self.env.now)
        if k == self.roll:
            self.ready, self.waiting = n, n
            self.log = self.log or job
        else:
            lane = self.lanes[task.server]
            (lane.background if task.background else lane.foreground).append(job)
        self._choose_later()

    def _choose_later(self) -> None:
        if self.choosing:
            return
        self.choosing = True
        event = self.env.event()
        event._ok, event._value = True, None
        event.callbacks.append(self._choose)
        self.env.schedule(event, priority=LAST_PRIORITY)

    def _choose(self, _) -> None:
        self.choosing = False
        if self._let_waiting_go():
            self._choose_later()
            return
        for lane in self.lanes.values():
            self._choose_queued(lane)
        if self.roll is not None:
            self._choose_log(self.lanes[self.graph.tasks[self.roll].server])

    def _let_waiting_go(self) -> bool:
        n = self.waiting
        if n is None or self.newest < n - self.bound:
            return False
        self.waiting, self.stale[n] = None, n - self.newest
        self.completions[n][self.roll].succeed()
        return True

    def _choose_queued(self, lane: Lane) -> None:
        running = lane.serving
        rank = 3 if running is None else 2 if running.position == self.roll else self._kind(running)
        for kind, queue in enumerate((lane.foreground, lane.background)):
            if queue and kind < rank and not (rank == 1 and kind == 1):
                self._stop(lane)
                job = min(queue, key=lambda job: job.key)
                queue.remove(job)
                self._serve(lane, job)
                return

    def _choose_log(self, lane: Lane) -> None:
        runs = any(lane.serving and lane.serving.position == self.gate for lane in self.lanes.values())
        permission = self.log is not None and (runs or self.waiting is not None)
        if lane.serving is None and permission:
            self._serve(lane, self.log)
        elif lane.serving is not None and lane.serving.position == self.roll and not permission:
            self._stop(lane)

    def _kind(self, job: Job) -> int:
        return int(self.graph.tasks[job.position].background)

    def _serve(self, lane: Lane, job: Job) -> None:
        if np.isnan(self.start[job.batch, job.position]):
            self.start[job.batch, job.position] = self.env.now
        lane.serving, lane.turn = job, self.env.process(self._turn(lane, job))

    def _stop(self, lane: Lane) -> None:
        job = lane.serving
        if job is None:
            return
        lane.turn.interrupt()
        lane.serving = None
        if job.position != self.roll:
            lane.background.append(job)

    def _turn(self, lane: Lane, job: Job):
        turn_start = self.env.now
        try:
            yield self.env.timeout(job.remainder)
        except simpy.Interrupt:
            job.remainder -= self.env.now - turn_start
            return
        lane.serving = None
        self.end[job.batch, job.position] = self.env.now
        if job.position == self.roll:
            self._log_is_complete(job.batch)
        else:
            self.completions[job.batch][job.position].succeed()
        self._choose_later()

    def _log_is_complete(self, n: int) -> None:
        """The next log begins if its batch waits for it or is not past its gate task yet."""
        self.newest, self.log, latest = n, None, self.ready
        if latest > n and (self.waiting is not None or np.isnan(self.end[latest, self.gate])):
            self.log = Job(latest, self.roll, float(self.times[latest, self.roll]))
