"""The arrays of the schedule: a batch's tasks, the state that changes while it advances, and the critical path through it."""

from typing import NamedTuple

import numpy as np

from ...core.arrays import Flags, Floats, Ints, Records
from ...core.jit import inner

QUEUE = 256
# Slots of ScheduleState.roll: the log being written, the newest complete one, the newest batch whose log could start,
# whether the gate task runs, the batch that waits for a log, whether a queue has overflown, and servers that have to choose.
ACTIVE, NEWEST, READY, GATE_ON, WAITING, OVERFLOW, ASKED = range(7)
FIRST, NOBODY = np.int64(0), np.int64(-1)  # a batch and a cause: as bare numbers they would be types of their own
SECONDS, ENERGY, STORED = range(3)  # of what is taken


def dtype(fields: str) -> np.dtype[np.void]:
    """Return the type of a record, aligned as kernels need it."""
    return np.dtype([(name, kind) for name, kind in (field.split() for field in fields.split(", "))], align=True)


# A task in every batch: its server, whether it is background work, or `apart`; for how many tasks it waits in the first batch and
# in others; of the `followers`, those from `same` to `next` wait for it in its own batch, those up to `stop` in the next one.
TASK = dtype("server i8, background ?, apart ?, first_needs i8, needs i8, same i8, next i8, stop i8")
# A task of one batch: its seconds, the flat index (batch * K + task) of what it started after, and for how many it waits.
RUN = dtype("start f8, end f8, ready f8, left f8, cause i4, waits i4")
SERVER = dtype("running i8, last i8, finish f8, since f8")  # the first two are flat indices


class Template(NamedTuple):
    """A batch's tasks as arrays, `tasks` (K,) of dtype TASK, for so many `batches`."""

    batches: int
    tasks: Records
    followers: Ints
    roll: int
    gate: int
    bound: int
    servers: int


class Stretch(NamedTuple):
    """The batches after number `first` up to `last`: in the run that they are to show there are so many `times` more of them."""

    first: int
    last: int
    times: float


ONCE = Stretch(0, 0, 0.0)


class ScheduleState(NamedTuple):
    """Everything that changes while the schedule advances: `tasks` (N * K,) of dtype RUN, `servers` (S,) of SERVER.

    Two queues a server, foreground and background, hold flat indices; `stale` (N,) is the log's age at a commit, in batches,
    `log_seconds` (N,) what the rolling log of each batch takes.
    """

    tasks: Records
    servers: Records
    stale: Ints
    log_seconds: Floats
    queue: Ints
    queued: Ints
    roll: Ints


class Accounts(NamedTuple):
    """Where what each of D demands takes is entered: its task, device and cell of the breakdown.

    Work `beside` keeps its device no busier; `other` is the cell of each device's idle power, and there are so many `cells`.
    """

    task: Ints
    device: Ints
    cell: Ints
    beside: Flags
    other: Ints
    cells: int


class Taken(NamedTuple):
    """What P machines take for D demands: `column` (3, D, P) says in which column of `costs` (R, C) it stands, by kind of batch.

    First are seconds, then joules by amounts, then bytes stored by persistent memory's media. `written` (R, D) are the bytes
    that training stores; watts are (V, P).
    """

    column: Ints
    costs: Floats
    written: Floats
    busy_watts: Floats
    idle_watts: Floats

    def of(self, some: Ints) -> "Taken":
        """Return what some of the machines take; `take` keeps the layout that kernels are compiled for."""
        column, watts = self.column.take(some, axis=2), (each.take(some, axis=1) for each in self[3:])
        return Taken(column, self.costs, self.written, *watts)


class Averages(NamedTuple):
    """Averages of P machines over their windows, per batch: seconds (P,), of tasks (P, K), by device (P, V), bytes (P,).

    `cells` (P, C, 3) are busy seconds, exposed seconds and joules; `stale` is the oldest log at a commit, in batches.
    """

    step: Floats
    exposed: Floats
    busy: Floats
    dynamic: Floats
    static: Floats
    cells: Floats
    written: Floats
    media: Floats
    stale: Ints


def empty_averages(points: int, tasks: int, devices: int, cells: int) -> Averages:
    """Return room for so many machines."""
    step, written, media = np.zeros((3, points))
    busy, dynamic, static = np.zeros((3, points, devices))
    stale = np.zeros(points, dtype=np.int64)
    by_cell = np.zeros((points, cells, 3))
    return Averages(step, np.zeros((points, tasks)), busy, dynamic, static, by_cell, written, media, stale)


def begin(template: Template) -> ScheduleState:
    """Return the state before anything has run; a relaxed log counts the first checkpoint as its newest."""
    tasks, servers = np.zeros(template.batches * len(template.tasks), RUN), np.zeros(template.servers, SERVER)
    queue, queued = np.zeros((2 * template.servers, QUEUE), dtype=np.int64), np.zeros(2 * template.servers, dtype=np.int64)
    stale, log_seconds = np.zeros(template.batches, dtype=np.int64), np.zeros(template.batches)
    return ScheduleState(tasks, servers, stale, log_seconds, queue, queued, np.zeros(7, dtype=np.int64))


def refusal(failed: int) -> str:
    """Return why a schedule could not be made, by what `advance` returned."""
    return f"more than {QUEUE} tasks wait for one device." if failed == 2 else "tasks wait for each other in a circle."


@inner
def expose(graph: Template, state: ScheduleState, last: int, until: float, share: Floats) -> None:
    """Add up in `share` (K,) the seconds of each task on the critical path from `until` to the end of task `last`.

    `last` is a flat index (batch * K + position), and the sum is the whole span. Background work counts only from the end
    of the last foreground task that ran beside it in the batch that waited for it.
    """
    width, flat, batch, now = len(graph.tasks), last, last // len(graph.tasks), state.tasks[last].end
    while flat >= 0 and now > until:
        task, begin, beside = flat % width, state.tasks[flat].start, -1
        if graph.tasks[task].background or task == graph.roll:
            for other in range(width):
                ended = state.tasks[batch * width + other].end
                if other != graph.roll and not graph.tasks[other].background and begin < ended < now:
                    beside, begin = other, ended
        share[task] += now - max(begin, until)
        now = begin
        flat = batch * width + beside if beside >= 0 else state.tasks[flat].cause
        if flat >= 0 and flat % width != graph.roll and not graph.tasks[flat % width].background:
            batch = flat // width
