"""Arrays of the schedule: tasks, event-loop state, costs and averages; and the critical path."""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Flags, Floats, Ints, Records
from ...core.jit import inner_kernel, shared_kernel

QUEUE = 256
# Slots of ScheduleState.roll: the log being written, the newest complete one, the newest batch whose log could start,
# whether the gate task runs, the batch that waits for a log, the kind of overflow, servers to dispatch, as bits, the run's number
# of the first batch that the state holds, and how many it holds.
ACTIVE, NEWEST, READY, GATE_ON, WAITING, OVERFLOW, TO_DISPATCH, FIRST, HELD = range(9)
FIRST_BATCH = np.int64(0)  # typed, since kernels compile literals apart
NO_CAUSE = np.int64(-(2**31))  # below the index of every task, also of those before the first batch that the state holds
SECONDS, ENERGY, STORED_BYTES = range(3)  # kinds of costs


def dtype(fields: str) -> np.dtype[np.void]:
    """Return the NumPy type of a record, from text such as "start f8, waits i4".

    Fields are aligned, as compiled code needs them.
    """
    return np.dtype([(name, kind) for name, kind in (field.split() for field in fields.split(", "))], align=True)


# A task of every batch: server, background or `runs_ahead` (far, alone), numbers of predecessors in the first and other batches.
# Its followers of the same batch are `followers[same:next]`, those of the next batch `followers[next:stop]`.
TASK = dtype("server i8, background ?, runs_ahead ?, first_needs i8, needs i8, same i8, next i8, stop i8")
# A task of one batch: its seconds, the flat index (batch * K + task) of its cause, its open predecessors, and its task.
RUN = dtype("start f8, end f8, ready f8, left f8, cause i4, waits i2, task i2")
SERVER = dtype("running i8, last i8, finish f8, since f8")  # the first two are flat indices


class Template(NamedTuple):
    """The task graph of one batch as arrays, for N batches of K tasks.

    batches: the number N of batches.
    tasks: the tasks as records of dtype TASK, (K,).
    followers: the tasks that wait for each task; a record of `tasks` names its range in this array.
    roll, gate: the index of the rolling log's task, and of its gate task; -1 without a rolling log.
    staleness_bound: the number of batches by which the rolling log may lag; 0 without one.
    servers: the number of servers.
    """

    batches: int
    tasks: Records
    followers: Ints
    roll: int
    gate: int
    staleness_bound: int
    servers: int


class Stretch(NamedTuple):
    """The scheduled batches `first_batch` + 1 to `last_batch`, repeated `repeats` more times.

    The represented run has these extra batches; they are not scheduled again. `repeats` can be a fraction.
    """

    first_batch: int
    last_batch: int
    repeats: float


NO_REPEAT = Stretch(0, 0, 0.0)


class ScheduleState(NamedTuple):
    """The state of the event loop for N batches of K tasks on S servers.

    The state holds some successive batches of a run, and counts them from 0. A long run moves through it.

    tasks: the tasks of all batches as records of dtype RUN, (N * K,).
    servers: the servers as records of dtype SERVER, (S,).
    staleness: the age of the log at the commit of each batch [batches], (N,).
    log_seconds: the seconds that the rolling log of each batch takes, (N,).
    queue: the waiting tasks by flat index (batch * K + task), in two queues per server: foreground, then background.
    queue_lengths: the number of tasks in each queue, (2 * S,).
    roll: the state of the rolling log and of the loop; the constants NEWEST, GATE_ON, OVERFLOW and others are its indices.
    """

    tasks: Records
    servers: Records
    staleness: Ints
    log_seconds: Floats
    queue: Ints
    queue_lengths: Ints
    roll: Ints


class Accounts(NamedTuple):
    """The task, device, lane and breakdown cell of each of D demands, on V devices.

    task, device, lane, cell: the index of each demand's task, device, lane, and cell of the breakdown, (D,).
    excluded_from_busy: True for work that does not count as busy time of its device, (D,).
    idle_cell: the cell that gets the static power of each device, (V,).
    device_of_lane: the device of each of L lanes, (L,).
    cells: the number of cells; a cell is a pair (stage, device).
    """

    task: Ints
    device: Ints
    lane: Ints
    cell: Ints
    excluded_from_busy: Flags
    idle_cell: Ints
    device_of_lane: Ints
    cells: int


class DemandCosts(NamedTuple):
    """The costs of D demands on P machines.

    The machines have V devices; the plan has R kinds of batches.

    column: the column of each cost in `costs`, (3, D, P). The first axis is seconds, joules of the amounts of work, and bytes
        that the media of persistent memory store.
    costs: the costs of each kind of batch, (R, C); machines can share a column.
    written_bytes: the bytes that training writes to persistent memory, (R, D); (R, D * P) if the amounts of work differ between
        machines.
    busy_watts, idle_watts: extra power of a busy device, and idle power [W], (V, P).
    """

    column: Ints
    costs: Floats
    written_bytes: Floats
    busy_watts: Floats
    idle_watts: Floats

    def of_machines(self, machines: Ints) -> "DemandCosts":
        """Return the costs on the machines with the given indices.

        The arrays keep the memory layout that the kernels are compiled for.
        """
        column, watts = self.column.take(machines, axis=2), (device_watts.take(machines, axis=1) for device_watts in self[3:])
        demands, kinds, written = self.column.shape[1], len(self.costs), self.written_bytes
        if written.shape[1] > demands:
            written = written.reshape(kinds, demands, -1).take(machines, axis=2).reshape(kinds, -1)
        return DemandCosts(column, self.costs, written, *watts)


class Averages(NamedTuple):
    """Averages per batch of P machines, over the window of batches that each machine schedules.

    step: seconds of a step, (P,).
    exposed: seconds of each of K tasks on the critical path, (P, K).
    busy: busy seconds of each of L lanes, (P, L).
    dynamic, static: joules by device of work, and of static power, (P, V).
    cells: busy seconds, exposed seconds and joules of each of C breakdown cells, (P, C, 3).
    written_bytes, media_bytes: bytes that training writes to persistent memory, and bytes that its media store for them, (P,).
    staleness: the age of the oldest log at a commit [batches], (P,).
    """

    step: Floats
    exposed: Floats
    busy: Floats
    dynamic: Floats
    static: Floats
    cells: Floats
    written_bytes: Floats
    media_bytes: Floats
    staleness: Ints


def empty_averages(points: int, tasks: int, accounts: Accounts) -> Averages:
    """Return averages filled with 0 for `points` machines."""
    step, bytes_written, media = np.zeros((3, points))
    busy = np.zeros((points, len(accounts.device_of_lane)))
    dynamic, static = np.zeros((2, points, len(accounts.idle_cell)))
    stale = np.zeros(points, dtype=np.int64)
    by_cell = np.zeros((points, accounts.cells, 3))
    return Averages(step, np.zeros((points, tasks)), busy, dynamic, static, by_cell, bytes_written, media, stale)


def initial_state(template: Template, most: int | None = None) -> ScheduleState:
    """Return the state of the event loop before the first task, filled with 0.

    It holds all batches of the run, or `most` of them at a time.
    """
    batches = template.batches if most is None else min(template.batches, most)
    tasks, servers = np.zeros(batches * len(template.tasks), RUN), np.zeros(template.servers, SERVER)
    queue, queued = np.zeros((2 * template.servers, QUEUE), dtype=np.int64), np.zeros(2 * template.servers, dtype=np.int64)
    stale, log_seconds = np.zeros(batches, dtype=np.int64), np.zeros(batches)
    return ScheduleState(tasks, servers, stale, log_seconds, queue, queued, np.zeros(9, dtype=np.int64))


def refusal(failed: int) -> str:
    """Return the sentence that explains why a schedule failed.

    `failed` is the number that `advance` returned: 1 or 2.
    """
    return f"more than {QUEUE} tasks wait for one device." if failed == 2 else "tasks wait for each other in a circle."


class Path(NamedTuple):
    """The place on the critical path that a walk back has reached.

    place: the flat index (batch * K + task) of the next task, and the batch that waited for it; of held batches, (2,).
    clock: the time up to which the path is known [s], (1,).
    batch_ends: the end of each task of that batch [s], for a batch that is not held any more, (K,).
    """

    place: Ints
    clock: Floats
    batch_ends: Floats


def empty_path(tasks: int) -> Path:
    """Return a place on no path, for a graph of `tasks` tasks."""
    return Path(np.zeros(2, dtype=np.int64), np.zeros(1), np.zeros(tasks))


@inner_kernel
def begin_path(graph: Template, state: ScheduleState, last_task: int, path: Path) -> None:
    """Set the path to the end of `last_task`, a flat index (batch * K + task)."""
    path.place[0], path.place[1], path.clock[0] = last_task, last_task // len(graph.tasks), state.tasks[last_task].end


@shared_kernel
def add_critical_path(
    graph: Template, state: ScheduleState, batches: int, path: Path, begin_seconds: float, share: Floats
) -> None:
    """Add to `share` (K,) the seconds that each task is on the critical path.

    The walk leads back along the path to `begin_seconds`, or until it leaves the first `batches` held batches. The added seconds
    sum to this span. Background work counts only from the end of the last foreground task that ran parallel to it, in the batch
    that waited for the background work.
    """
    width, flat, batch, clock = len(graph.tasks), path.place[0], path.place[1], path.clock[0]
    while 0 <= flat < batches * width and clock > begin_seconds:
        task, task_begin, parallel_task = flat % width, state.tasks[flat].start, -1
        if graph.tasks[task].background or task == graph.roll:
            for other_task in range(width):
                is_held = 0 <= batch < batches
                other_end = state.tasks[batch * width + other_task].end if is_held else path.batch_ends[other_task]
                if other_task != graph.roll and not graph.tasks[other_task].background and task_begin < other_end < clock:
                    parallel_task, task_begin = other_task, other_end
        share[task] += clock - max(task_begin, begin_seconds)
        clock = task_begin
        flat = batch * width + parallel_task if parallel_task >= 0 else state.tasks[flat].cause
        if flat > NO_CAUSE and flat % width != graph.roll and not graph.tasks[flat % width].background:
            batch = flat // width
    path.place[0], path.place[1], path.clock[0] = flat, batch, clock
    for k in range(width if 0 <= batch < batches else 0):
        path.batch_ends[k] = state.tasks[batch * width + k].end


@shared_kernel
def last_task_of(graph: Template, state: ScheduleState, n: int) -> Any:
    """Return the flat index of the foreground task of batch n that ends last.

    Return the first one of several that end together.
    """
    last_task: Any = NO_CAUSE
    width = len(graph.tasks)
    for k in range(width):
        flat = n * width + k
        if (
            k != graph.roll
            and not graph.tasks[k].background
            and (last_task < 0 or state.tasks[flat].end > state.tasks[last_task].end)
        ):
            last_task = flat
    return last_task
