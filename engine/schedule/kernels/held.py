"""The batches that the event loop holds; those of a long run take turns."""

import numpy as np

from ...core.arrays import Ints
from ...core.jit import entry_kernel, inner_kernel, shared_kernel
from .events import advance, run_ahead
from .template import (
    ACTIVE,
    FIRST,
    GATE_ON,
    HELD,
    NEWEST,
    NO_CAUSE,
    OVERFLOW,
    READY,
    SECONDS,
    TO_DISPATCH,
    WAITING,
    Accounts,
    DemandCosts,
    ScheduleState,
    Template,
)


@shared_kernel
def reset_state(graph: Template, state: ScheduleState, kind: Ints, accounts: Accounts, demand_costs: DemandCosts, p: int) -> None:
    """Reset the event-loop state to the begin of a run on machine `p`."""
    for server in range(graph.servers):
        state.servers[server].running, state.servers[server].last = -1, NO_CAUSE
        state.queue_lengths[2 * server], state.queue_lengths[2 * server + 1] = 0, 0
    state.roll[ACTIVE], state.roll[READY], state.roll[WAITING] = -1, -1, -1
    state.roll[NEWEST] = 0 if graph.staleness_bound > 0 else -1
    state.roll[GATE_ON], state.roll[OVERFLOW], state.roll[TO_DISPATCH], state.roll[FIRST] = 0, 0, 0, 0
    _fill(graph, state, kind, accounts, demand_costs, p, 0)


@inner_kernel
def _fill(
    graph: Template, state: ScheduleState, kind: Ints, accounts: Accounts, demand_costs: DemandCosts, p: int, first: int
) -> None:
    """Fill the state with batches of the run, from held batch `first` on.

    Each task gets the seconds of its slowest demand as work that is left. Arrays that the event loop writes before it reads them
    keep their old values.
    """
    width, run_batch = len(graph.tasks), state.roll[FIRST]
    state.roll[HELD] = min(len(state.staleness), len(kind) - run_batch)
    for n in range(first, state.roll[HELD]):
        state.staleness[n] = 0
        is_repeat, first_task, r = n > first and kind[run_batch + n] == kind[run_batch + n - 1], n * width, kind[run_batch + n]
        for k in range(width):
            run, task = state.tasks[first_task + k], graph.tasks[k]
            run.start, run.end, run.left = np.nan, np.nan, state.tasks[first_task - width + k].left if is_repeat else 0.0
            run.waits, run.task = task.needs if run_batch + n else task.first_needs, k
        for d in range(0 if is_repeat else len(accounts.task)):  # a task lasts as long as its slowest demand
            run = state.tasks[first_task + accounts.task[d]]
            run.left = max(run.left, demand_costs.costs[r, demand_costs.column[SECONDS, d, p]])
        if graph.roll >= 0:
            state.log_seconds[n] = state.tasks[first_task + graph.roll].left
    run_ahead(graph, state, first)


@inner_kernel
def _move_on(graph: Template, state: ScheduleState, batches: int) -> None:
    """Drop the first `batches` held batches, all of which have ended; the others count from 0 again."""
    dropped_tasks, held = batches * len(graph.tasks), state.roll[HELD] - batches
    for flat in range(held * len(graph.tasks)):
        old, run = state.tasks[flat + dropped_tasks], state.tasks[flat]
        run.start, run.end, run.ready, run.left = old.start, old.end, old.ready, old.left
        run.waits, run.task = old.waits, old.task
        run.cause = old.cause - dropped_tasks if old.cause > NO_CAUSE else NO_CAUSE
    for n in range(held):
        state.staleness[n], state.log_seconds[n] = state.staleness[n + batches], state.log_seconds[n + batches]
    for server in range(graph.servers):
        lane = state.servers[server]
        lane.running = lane.running - dropped_tasks if lane.running >= 0 else -1
        lane.last = lane.last - dropped_tasks if lane.last > NO_CAUSE else NO_CAUSE
        for line in range(2 * server, 2 * server + 2):
            for i in range(state.queue_lengths[line]):
                state.queue[line, i] -= dropped_tasks
    for slot in (ACTIVE, WAITING):
        state.roll[slot] = state.roll[slot] - batches if state.roll[slot] >= 0 else -1
    state.roll[READY] -= batches
    state.roll[NEWEST] -= batches
    state.roll[FIRST] += batches


@entry_kernel
def run_batches(
    graph: Template,
    state: ScheduleState,
    kind: Ints,
    accounts: Accounts,
    demand_costs: DemandCosts,
    p: int,
    dropped: int,
    spare: int,
) -> int:
    """Run held batches on machine `p` to their end.

    Return 0, or what `advance` returns for a failure. The first `dropped` held batches are replaced by later ones of the run
    before; -1 begins the run. All held batches are run if they are the last ones, else all but the last `spare`.
    """
    if dropped < 0:
        reset_state(graph, state, kind, accounts, demand_costs, p)
    elif dropped > 0:
        held = state.roll[HELD] - dropped
        _move_on(graph, state, dropped)
        _fill(graph, state, kind, accounts, demand_costs, p, held)
    held = state.roll[HELD]
    return int(advance(graph, state, held if state.roll[FIRST] + held == len(kind) else held - spare))
