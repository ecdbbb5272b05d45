"""The course of a run: its schedule in parts, which need little memory.

The event loop holds some thousand batches of a run. Once they have ended, later batches take their places. The course keeps the
state between two parts; from it a part runs again when somebody asks for its tasks. So each part is the same, to the bit, as in
a schedule that holds the whole run.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.jit import entry_kernel
from .kernels.held import run_batches
from .kernels.template import (
    ACTIVE,
    FIRST,
    HELD,
    Accounts,
    DemandCosts,
    Path,
    ScheduleState,
    Stretch,
    Template,
    add_critical_path,
    begin_path,
    empty_path,
    initial_state,
    last_task_of,
    refusal,
)

HELD_BATCHES = 8192  # batches that the event loop holds; a run of so many is one part
OPENING_BATCHES = 16  # batches at the start of a run all of whose tasks are shown
SPARE_BATCHES = 64  # held batches after those of a part, as tasks of the next batches run beside its last ones
TOO_FAR_AHEAD = 3  # the failure of a run whose tasks need more spare batches


class Inputs(NamedTuple):
    """Inputs of the averaging kernel for P machines with one plan.

    kind: the kind of each scheduled batch, (N,).
    accounts: the task, device and breakdown cell of each demand.
    demand_costs: the costs of each demand on each machine.
    stretch: the scheduled batches that the represented run repeats.
    """

    kind: Ints
    accounts: Accounts
    demand_costs: DemandCosts
    stretch: Stretch


class Checkpoint(NamedTuple):
    """The state of the event loop between two parts of a run.

    dropped: the number of held batches that have ended and are dropped; -1 at the start of the run.
    batches: tasks, staleness and log seconds of the other held batches.
    servers, queue, queue_lengths, roll: copies of these fields of the state.
    """

    dropped: int
    batches: tuple[Any, ...] = ()
    servers: Any = None
    queue: Any = None
    queue_lengths: Any = None
    roll: Any = None


class Part(NamedTuple):
    """Successive batches of a run: n batches of K tasks.

    first: the number of the first batch.
    start, end: the start and end of each task [s], (n, K).
    left: the seconds of each task that were left when it was last suspended, or its seconds, (n, K).
    """

    first: int
    start: Floats
    end: Floats
    left: Floats

    @property
    def batches(self) -> slice:
        """The numbers of the batches, as a slice of the run's."""
        return slice(self.first, self.first + len(self.start))


class Course:
    """The schedule of the run of machine number `machine`.

    batch_ends: the end of the last foreground task of each batch [s], (N,).
    staleness: the age of the log at the commit of each batch [batches], (N,).
    makespan: the time when all tasks except rolling logs have ended [s].
    log_ended: True for each batch whose rolling log ended, (N,).
    firsts: the number of the first batch of each part.

    Raises ValueError for a graph that cannot be scheduled.
    """

    def __init__(self, template: Template, inputs: Inputs, machine: int = 0) -> None:
        self.template, self.inputs, self.machine = template, inputs, machine
        not_rolling = np.arange(len(template.tasks)) != template.roll
        self._timed, self._foreground = not_rolling, not_rolling & ~template.tasks["background"]
        held = HELD_BATCHES if inputs.stretch.repeats == 0.0 else template.batches
        while failure := self._schedule(held):
            if failure != TOO_FAR_AHEAD:
                raise ValueError(refusal(failure))
            held *= 2

    def _schedule(self, held: int) -> int:
        """Run all parts with `held` batches at a time; return 0, or the number of the failure."""
        state, batches = initial_state(self.template, held), self.template.batches
        self.batch_ends, self.staleness, self.makespan = np.empty(batches), np.empty(batches, dtype=np.int64), 0.0
        self.log_ended = np.zeros(batches, dtype=np.bool_)
        self.firsts, self._checkpoints = [0], [Checkpoint(-1)]
        while True:
            if failure := self._run_part(state, self._checkpoints[-1].dropped):
                return failure
            first, count, is_last = self.firsts[-1], self._ended(state), self.firsts[-1] + state.roll[HELD] == batches
            self._note(self._part(state, first, count), state)
            self._states = {len(self.firsts) - 1: state}
            if is_last:
                return 0
            if 2 * count < state.roll[HELD]:
                return TOO_FAR_AHEAD
            self._checkpoints.append(self._checkpoint(state, count))
            self.firsts.append(first + count)

    def _run_part(self, state: ScheduleState, dropped: int) -> int:
        return int(run_batches(self.template, state, *self.inputs[:3], self.machine, dropped, SPARE_BATCHES))

    def _ended(self, state: ScheduleState) -> int:
        """Return the number of held batches that have ended, up to the one whose log is being written."""
        held, active = int(state.roll[HELD]), int(state.roll[ACTIVE])
        if state.roll[FIRST] + held == self.template.batches:
            return held
        return min(held - SPARE_BATCHES, active) if active >= 0 else held - SPARE_BATCHES

    def _note(self, part: Part, state: ScheduleState) -> None:
        self.batch_ends[part.batches] = part.end[:, self._foreground].max(axis=1)
        self.staleness[part.batches] = state.staleness[: len(part.start)]
        self.makespan = max(self.makespan, float(part.end[:, self._timed].max()))
        if self.template.roll >= 0:
            self.log_ended[part.batches] = ~np.isnan(part.end[:, self.template.roll])

    def _checkpoint(self, state: ScheduleState, dropped: int) -> Checkpoint:
        held, width, longest = int(state.roll[HELD]), len(self.template.tasks), int(state.queue_lengths.max())
        kept = state.tasks[dropped * width : held * width], state.staleness[dropped:held], state.log_seconds[dropped:held]
        arrays = state.servers, state.queue[:, :longest], state.queue_lengths, state.roll
        return Checkpoint(dropped, tuple(values.copy() for values in kept), *(values.copy() for values in arrays))

    def _state(self, number: int) -> ScheduleState:
        """Return the state in which part `number` has ended; those of two parts are kept."""
        if number not in self._states:
            dropped, kept, servers, queue, queue_lengths, roll = self._checkpoints[number]
            state = initial_state(self.template, len(next(iter(self._states.values())).staleness))
            if dropped >= 0:
                held, width = int(roll[HELD]), len(self.template.tasks)
                state.tasks[dropped * width : held * width] = kept[0]
                state.staleness[dropped:held], state.log_seconds[dropped:held] = kept[1:]
                state.servers[:], state.queue_lengths[:], state.roll[:] = servers, queue_lengths, roll
                state.queue[:, : queue.shape[1]] = queue
            self._run_part(state, dropped)
            self._states = {**dict([*self._states.items()][-1:]), number: state}
        return self._states[number]

    def _part(self, state: ScheduleState, first: int, count: int) -> Part:
        width = len(self.template.tasks)
        tasks = state.tasks[: count * width].reshape(count, width)
        return Part(first, tasks["start"], tasks["end"], tasks["left"])

    def part(self, number: int) -> Part:
        """Return part `number` of the run; its arrays are views, which the next parts replace."""
        state = self._state(number)
        return self._part(state, self.firsts[number], self._ended(state))

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the run in order."""
        return map(self.part, range(len(self.firsts)))

    @property
    def last_part(self) -> Part:
        """The last part of the run."""
        return self.part(len(self.firsts) - 1)

    @property
    def last_state(self) -> ScheduleState:
        """The state of the event loop at the end of the run."""
        return self._state(len(self.firsts) - 1)

    @property
    def log_shares(self) -> Floats:
        """The share of each batch's rolling log that the run finishes, (N,)."""
        shares, last, roll = self.log_ended.astype(np.float64), self.last_part, self.template.roll
        for n in np.flatnonzero(last.start[:, roll] < self.makespan):
            seconds = self.last_state.log_seconds[n]
            if not self.log_ended[last.first + n] and seconds > 0:
                done = min(self.makespan - last.start[n, roll], seconds - last.left[n, roll])
                shares[last.first + n] = min(done / seconds, 1.0)
        return shares

    def opening(self) -> tuple[Floats, Floats]:
        """Return the start and end of the first tasks [s], (n, K).

        The n batches are so many that no later task starts before the end of OPENING_BATCHES batches.
        """
        high, starts, ends = self.batch_ends[:OPENING_BATCHES].max(), list[Floats](), list[Floats]()
        for part in self.parts():
            starts.append(part.start.copy())
            ends.append(part.end.copy())
            if np.nanmin(part.start[-1]) >= high:
                break
        return np.concatenate(starts), np.concatenate(ends)

    def critical_path(self, begin_seconds: float) -> Floats:
        """Return the seconds that each task is on the critical path after `begin_seconds`, (K,)."""
        number, width = len(self.firsts) - 1, len(self.template.tasks)
        share, path, last_batch = np.zeros(width), empty_path(width), self.template.batches - 1
        while number >= 0:
            part = self.part(number)
            offset = part.first * width, part.first
            path.place[:] -= offset
            is_last = last_batch - part.first if not path.clock[0] else -1
            _follow(self.template, self._state(number), len(part.start), is_last, path, begin_seconds, share)
            path.place[:] += offset
            if not path.clock[0] > begin_seconds or path.place[0] < 0:  # the clock is NaN at a log that never ran
                break
            number = bisect_right(self.firsts, path.place[0] // width) - 1
        return share


@entry_kernel
def _follow(
    graph: Template, state: ScheduleState, batches: int, last_batch: int, path: Path, begin_seconds: float, share: Floats
) -> None:
    """Follow the critical path through a part; it begins at the end of held batch `last_batch` unless that is -1."""
    if last_batch >= 0:
        begin_path(graph, state, last_task_of(graph, state, last_batch), path)
    add_critical_path(graph, state, batches, path, begin_seconds, share)
