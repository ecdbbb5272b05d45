"""Schedule many machines that share a plan, one after the other, and average their batches.

A long run is scheduled in parts (`course.py`), which need little memory; the results are the same to the bit.
"""

from typing import Any

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.jit import entry_kernel, shared_kernel
from .course import HELD_BATCHES, Course, Inputs
from .kernels.events import advance
from .kernels.held import reset_state
from .kernels.template import (
    FIRST_BATCH,
    NO_REPEAT,
    Accounts,
    Averages,
    DemandCosts,
    Path,
    ScheduleState,
    Stretch,
    Template,
    add_critical_path,
    begin_path,
    empty_averages,
    empty_path,
    initial_state,
    last_task_of,
    refusal,
)
from .kernels.totals import Totals, empty_totals, enter_averages, enter_demands, enter_run, logged_share, sums_of

NO_LINES = np.empty((0, 0, 0))


def observe(
    template: Template, kind: Ints, accounts: Accounts, demand_costs: DemandCosts, totals: Totals, stretch: Stretch = NO_REPEAT
) -> Averages:
    """Schedule P machines that share a plan, and return their averages per batch.

    `totals` is filled with the figures of uncut runs, unless it has room for 0 machines. The run repeats the batches of
    `stretch`. Raises ValueError for a graph that cannot be scheduled.
    """
    points, width, inputs = demand_costs.busy_watts.shape[1], len(template.tasks), Inputs(kind, accounts, demand_costs, stretch)
    averages = empty_averages(points, width, accounts)
    log_share, with_totals = np.ones(points), len(totals.makespan) > 0
    sums = sums_of(demand_costs, kind, with_totals, stretch)
    if with_totals:
        of_one_layout = totals._replace(start=NO_LINES, end=NO_LINES)  # those of long runs are lists: it would compile twice
        enter_demands(accounts, demand_costs, sums, of_one_layout, template.roll)
    if template.batches > HELD_BATCHES and stretch.repeats == 0.0:
        for p in range(points):
            course = Course(template, inputs, p)
            log_share[p] = _enter_course(course, averages)
            if with_totals:
                _enter_totals(course, totals)
    else:
        failure = _observe(template, initial_state(template), inputs, empty_path(width), averages, totals, log_share)
        if failure:
            raise ValueError(refusal(failure))
    enter_averages(accounts, demand_costs, sums, template.roll, log_share, averages)
    return averages


def room_for(points: int, template: Template, accounts: Accounts, lines: bool) -> Totals:
    """Return empty totals for `points` runs of a plan.

    With `lines` they have room for the times of tasks: of a long run those of its opening, an array for each machine.
    """
    shape, is_long = (template.batches, len(template.tasks)), template.batches > HELD_BATCHES
    room = empty_totals(points, shape, accounts, lines and not is_long)
    start, end = np.empty((2, points), dtype=object)
    return room._replace(start=start, end=end) if lines and is_long else room


def averages_of(course: Course) -> Averages:
    """Return the averages per batch of a scheduled machine, as arrays for one machine."""
    template, (kind, accounts, demand_costs, stretch) = course.template, course.inputs
    averages, log_share = empty_averages(1, len(template.tasks), accounts), np.ones(1)
    if len(course.firsts) == 1:
        path = empty_path(len(template.tasks))
        log_share[0] = _enter_alone(template, course.last_state, stretch, path, averages)
    else:
        log_share[0] = _enter_course(course, averages)
    sums = sums_of(demand_costs, kind, False, stretch)
    enter_averages(accounts, demand_costs, sums, template.roll, log_share, averages)
    return averages


def _enter_course(course: Course, averages: Averages) -> float:
    """Enter a long run's averages over the batches after the first two.

    Return the share of them in which a rolling log ran.
    """
    averaged, p = course.template.batches - 2, course.machine
    begin_seconds = float(course.batch_ends[FIRST_BATCH + 1])
    averages.step[p] = (course.batch_ends[-1] - begin_seconds) / averaged
    averages.exposed[p] = course.critical_path(begin_seconds) / averaged
    averages.staleness[p] = course.staleness.max()
    return int(np.count_nonzero(course.log_ended[2:])) / averaged


def _enter_totals(course: Course, totals: Totals) -> None:
    """Enter the figures of a long run into `totals`."""
    p, roll = course.machine, course.template.roll
    totals.ends[:, p], totals.makespan[p] = np.maximum.accumulate(course.batch_ends), course.makespan
    if len(totals.start):
        totals.start[p], totals.end[p] = course.opening()
    for d in np.flatnonzero(course.inputs.accounts.task == roll) if roll >= 0 else ():
        _enter_log(course, int(d), totals)


def _enter_log(course: Course, d: int, totals: Totals) -> None:
    """Add a demand of a long run's rolling log, batch after batch as `enter_run` does."""
    (kind, accounts, demand_costs, _), p, shares = course.inputs, course.machine, course.log_shares
    seconds, joules, stored = (demand_costs.costs[kind, column] for column in demand_costs.column[:, d, p])
    busy = 0.0 if accounts.excluded_from_busy[d] else np.cumsum(shares * seconds)[-1]
    watts = demand_costs.busy_watts[accounts.device[d], p]
    totals.busy[p, accounts.lane[d]] += busy
    totals.joules[p, accounts.cell[d]] += np.cumsum(shares * joules)[-1] + busy * watts
    for total, nbytes in ((totals.written_bytes, demand_costs.written_bytes[kind, d]), (totals.media_bytes, stored)):
        total[p] = np.cumsum(np.concatenate(([total[p]], shares * nbytes)))[-1]


@entry_kernel
def _enter_alone(graph: Template, state: ScheduleState, stretch: Stretch, path: Path, averages: Averages) -> Any:
    return _enter_window(graph, state, stretch, path, 0, averages)


@entry_kernel
def _observe(
    graph: Template,
    state: ScheduleState,
    inputs: Inputs,
    path: Path,
    averages: Averages,
    totals: Totals,
    log_share: Floats,
) -> int:
    for p in range(len(log_share)):
        reset_state(graph, state, inputs.kind, inputs.accounts, inputs.demand_costs, p)
        failure = advance(graph, state, graph.batches)
        if failure:
            return int(failure)
        log_share[p] = _enter_window(graph, state, inputs.stretch, path, p, averages)
        if len(totals.makespan) > 0:
            enter_run(graph, state, inputs.kind, inputs.accounts, inputs.demand_costs, inputs.stretch, p, totals)
    return 0


@shared_kernel
def _enter_window(graph: Template, state: ScheduleState, stretch: Stretch, path: Path, p: int, averages: Averages) -> Any:
    """Enter a machine's averages over the batches after the first two.

    Return the share of them in which a rolling log ran.
    """
    batches, width, stale, log_batches = len(state.staleness), len(graph.tasks), 0, 0.0
    window_batches = batches - 2 if batches > 2 else batches
    averaged = window_batches + stretch.repeats * (stretch.last_batch - stretch.first_batch)
    last_task = last_task_of(graph, state, batches - 1)
    end_seconds, begin_seconds = (
        state.tasks[last_task].end,
        state.tasks[last_task_of(graph, state, FIRST_BATCH + 1)].end if batches > 2 else 0.0,
    )
    averages.step[p] = (end_seconds - begin_seconds) / averaged
    last_repeated, repeated_from = (
        last_task_of(graph, state, stretch.last_batch),
        state.tasks[last_task_of(graph, state, stretch.first_batch)].end,
    )
    repeated_until = state.tasks[last_repeated].end
    if stretch.repeats > 0.0:
        averages.step[p] += stretch.repeats * (repeated_until - repeated_from) / averaged
        begin_path(graph, state, last_repeated, path)
        add_critical_path(graph, state, batches, path, repeated_from, averages.exposed[p])
        for k in range(width):
            averages.exposed[p, k] *= stretch.repeats
    begin_path(graph, state, last_task, path)
    add_critical_path(graph, state, batches, path, begin_seconds, averages.exposed[p])
    for k in range(width):
        averages.exposed[p, k] /= averaged
    for n in range(batches):
        stale = max(stale, state.staleness[n])
        if graph.roll >= 0:
            log_batches += n >= batches - window_batches and not np.isnan(state.tasks[n * width + graph.roll].end)
        if graph.roll >= 0 and stretch.repeats > 0.0:
            log_batches += stretch.repeats * logged_share(graph, state, n, repeated_from, repeated_until, end_seconds)
    averages.staleness[p] = stale
    return log_batches / averaged
