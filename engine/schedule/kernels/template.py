"""The arrays of the schedule: a batch's tasks, the state that changes while it advances, and the critical path through it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Flags, Floats, Ints
from ...core.jit import inner

QUEUE = 256
# Slots of ScheduleState.roll: the log being written, the newest complete one, the newest batch whose log could start,
# whether the gate task runs, the batch that waits for a log, and whether a queue has overflown.
ACTIVE, NEWEST, READY, GATE_ON, WAITING, OVERFLOW = range(6)
DEPTH = 16  # batches under way at once that are looked at; of more, nothing is looked for


class Template(NamedTuple):
    """A batch's tasks as arrays: N batches, K tasks; successor lists as pointer and item arrays.

    `alike` numbers the stretches of batches of the same durations, (N,).
    """

    durations: Floats
    server: Ints
    background: Flags
    same_pointers: Ints
    same: Ints
    next_pointers: Ints
    next: Ints
    first_needs: Ints
    needs: Ints
    roll: int
    gate: int
    bound: int
    servers: int
    alike: Ints


class ScheduleState(NamedTuple):
    """Everything that changes while the schedule advances."""

    start: Floats
    end: Floats
    cause: Ints
    left: Floats
    ready: Floats
    waits: Ints
    stale: Ints
    running: Ints
    finish: Floats
    since: Floats
    last: Ints
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
    """What P machines take for D demands: `row` (P, D) says in which row of the tables it stands.

    Tables have a column for each kind of batch: seconds, joules by amounts, bytes stored by persistent memory's media.
    `written` (D, R) are the bytes that training stores; watts are (P, V).
    """

    row: Ints
    seconds: Floats
    joules: Floats
    stored: Floats
    written: Floats
    busy_watts: Floats
    idle_watts: Floats


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


def stretches(rows: NDArray[Any]) -> Ints:
    """Return for each row, (N, ...), the number of the stretch of equal rows that it is in."""
    changes = np.diff(rows.reshape(len(rows), -1), axis=0).any(axis=1)
    return np.concatenate(([0], np.cumsum(changes)))


def begin(template: Template) -> ScheduleState:
    """Return the state before anything has run; a relaxed log counts the first checkpoint as its newest."""
    batches, width = template.durations.shape
    nan = np.full((batches, width), np.nan)
    newest = 0 if template.bound > 0 else -1
    return ScheduleState(
        start=nan,
        end=nan.copy(),
        cause=np.full((batches, width), -1, dtype=np.int64),
        left=template.durations.copy(),
        ready=np.zeros((batches, width)),
        waits=np.concatenate([template.first_needs[None, :], np.tile(template.needs, (batches - 1, 1))]),
        stale=np.zeros(batches, dtype=np.int64),
        running=np.full(template.servers, -1, dtype=np.int64),
        finish=np.zeros(template.servers),
        since=np.zeros(template.servers),
        last=np.full(template.servers, -1, dtype=np.int64),
        queue=np.zeros((2 * template.servers, QUEUE), dtype=np.int64),
        queued=np.zeros(2 * template.servers, dtype=np.int64),
        roll=np.array([-1, newest, -1, 0, -1, 0], dtype=np.int64),
    )


@inner
def expose(graph: Template, state: ScheduleState, last: int, until: float, share: Floats) -> None:
    """Add up in `share` (K,) the seconds of each task on the critical path from `until` to the end of task `last`.

    `last` is a flat index (batch * K + position), and the sum is the whole span. Background work counts only from the end
    of the last foreground task that ran beside it in the batch that waited for it.
    """
    width = state.start.shape[1]
    flat, batch = last, last // width
    now = state.end[batch, last % width]
    while flat >= 0 and now > until:
        task = flat % width
        begin = state.start[flat // width, task]
        beside = -1
        if graph.background[task] or task == graph.roll:
            for other in range(width):
                ended = state.end[batch, other]
                if other != graph.roll and not graph.background[other] and begin < ended < now:
                    beside, begin = other, ended
        share[task] += now - max(begin, until)
        now = begin
        flat = batch * width + beside if beside >= 0 else state.cause[flat // width, task]
        if flat >= 0 and flat % width != graph.roll and not graph.background[flat % width]:
            batch = flat // width


class Past(NamedTuple):
    """A state as it was kept: rows are batches from the first under way; `at` is its time, `counts` are named above."""

    times: Floats
    marks: Ints
    finish: Floats
    servers: Ints
    roll: Ints
    at: Floats
    counts: Ints

    @classmethod
    def empty(cls, tasks: int, servers: int) -> "Past":
        """Return room for a state."""
        return cls(
            times=np.zeros((2, DEPTH, tasks)),
            marks=np.zeros((3, DEPTH, tasks), dtype=np.int64),
            finish=np.zeros(servers),
            servers=np.zeros((2, servers), dtype=np.int64),
            roll=np.zeros(5, dtype=np.int64),
            at=np.zeros(2),
            counts=np.array([0, 0, 0, 1, 0], dtype=np.int64),
        )
