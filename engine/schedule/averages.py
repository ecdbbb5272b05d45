"""Schedule many machines that share a plan, one after the other, and average their batches."""

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.jit import entry_kernel, inner_kernel, shared_kernel
from .kernels.events import advance
from .kernels.template import (
    FIRST_BATCH,
    GATE_ON,
    NEWEST,
    NO_CAUSE,
    NO_REPEAT,
    OVERFLOW,
    SECONDS,
    Accounts,
    Averages,
    DemandCosts,
    ScheduleState,
    Stretch,
    Template,
    add_critical_path,
    empty_averages,
    initial_state,
    refusal,
)
from .kernels.totals import Totals, empty_totals, enter_averages, enter_demands, enter_run, logged_share, sums_of


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


def observe(
    template: Template, kind: Ints, accounts: Accounts, demand_costs: DemandCosts, totals: Totals, stretch: Stretch = NO_REPEAT
) -> Averages:
    """Schedule P machines that share a plan, and return their averages per batch.

    `totals` is filled with the figures of uncut runs, unless it has room for 0 machines. The run repeats the batches of
    `stretch`.
    """
    machines = np.arange(demand_costs.busy_watts.shape[1])
    return _averages(template, initial_state(template), machines, Inputs(kind, accounts, demand_costs, stretch), totals)


def schedule_alone(
    template: Template, kind: Ints, accounts: Accounts, demand_costs: DemandCosts, stretch: Stretch = NO_REPEAT
) -> tuple[ScheduleState, Averages]:
    """Schedule the first machine only; return its final event-loop state and its averages.

    The averages hold one machine. The represented run repeats the batches of `stretch`.
    """
    state, no_totals = initial_state(template), empty_totals(0, (template.batches, len(template.tasks)), accounts.cells)
    machines = np.zeros(1, dtype=np.int64)
    return state, _averages(template, state, machines, Inputs(kind, accounts, demand_costs, stretch), no_totals)


def _averages(template: Template, state: ScheduleState, machines: Ints, inputs: Inputs, totals: Totals) -> Averages:
    """Schedule and average machines, by number; raises ValueError for a graph that cannot be scheduled."""
    kind, accounts, demand_costs, stretch = inputs
    averages = empty_averages(len(machines), len(template.tasks), len(demand_costs.busy_watts), accounts.cells)
    log_share, with_totals = np.ones(len(machines)), len(totals.makespan) > 0
    sums = sums_of(demand_costs, kind, with_totals, stretch)
    if with_totals:
        enter_demands(accounts, demand_costs, sums, totals, template.roll)
    failure = _observe(template, state, machines, inputs, averages, totals, log_share)
    if failure:
        raise ValueError(refusal(failure))
    enter_averages(accounts, demand_costs, sums, template.roll, log_share, averages)
    return averages


@entry_kernel
def _observe(
    graph: Template,
    state: ScheduleState,
    machines: Ints,
    inputs: Inputs,
    averages: Averages,
    totals: Totals,
    log_share: Floats,
) -> int:
    for p in machines:
        reset_state(graph, state, inputs.kind, inputs.accounts, inputs.demand_costs, p)
        failure = advance(graph, state)
        if failure:
            return int(failure)
        log_share[p] = _enter_window(graph, state, inputs.stretch, p, averages)
        if len(totals.makespan) > 0:
            enter_run(graph, state, inputs.kind, inputs.accounts, inputs.demand_costs, inputs.stretch, p, totals)
    return 0


@inner_kernel
def reset_state(graph: Template, state: ScheduleState, kind: Ints, accounts: Accounts, demand_costs: DemandCosts, p: int) -> None:
    """Reset the event-loop state to the begin of a run on machine `p`.

    Each task gets the seconds of its slowest demand as work that is left. Arrays that the event loop writes before it reads them
    keep their old values.
    """
    width = len(graph.tasks)
    for n in range(len(kind)):
        state.staleness[n] = 0
        is_repeat, first_task = n > 0 and kind[n] == kind[n - 1], n * width
        for k in range(width):
            run, task = state.tasks[first_task + k], graph.tasks[k]
            run.start, run.end, run.left = np.nan, np.nan, state.tasks[first_task - width + k].left if is_repeat else 0.0
            run.waits = task.needs if n else task.first_needs
        for d in range(0 if is_repeat else len(accounts.task)):  # a task lasts as long as its slowest demand
            run = state.tasks[first_task + accounts.task[d]]
            run.left = max(run.left, demand_costs.costs[kind[n], demand_costs.column[SECONDS, d, p]])
        if graph.roll >= 0:
            state.log_seconds[n] = state.tasks[first_task + graph.roll].left
    for server in range(graph.servers):
        state.servers[server].running, state.servers[server].last = -1, -1
        state.queue_lengths[2 * server], state.queue_lengths[2 * server + 1] = 0, 0
    for slot in range(len(state.roll)):
        state.roll[slot] = -1
    state.roll[NEWEST], state.roll[GATE_ON], state.roll[OVERFLOW] = 0 if graph.staleness_bound > 0 else -1, 0, 0


@inner_kernel
def _enter_window(graph: Template, state: ScheduleState, stretch: Stretch, p: int, averages: Averages) -> Any:
    """Enter a machine's averages over the batches after the first two.

    Return the share of them in which a rolling log ran.
    """
    batches, width, stale, log_batches = len(state.staleness), len(graph.tasks), 0, 0.0
    window_batches = batches - 2 if batches > 2 else batches
    averaged = window_batches + stretch.repeats * (stretch.last_batch - stretch.first_batch)
    last_task = _last_task(graph, state, batches - 1)
    end_seconds, begin_seconds = (
        state.tasks[last_task].end,
        state.tasks[_last_task(graph, state, FIRST_BATCH + 1)].end if batches > 2 else 0.0,
    )
    averages.step[p] = (end_seconds - begin_seconds) / averaged
    last_repeated, repeated_from = (
        _last_task(graph, state, stretch.last_batch),
        state.tasks[_last_task(graph, state, stretch.first_batch)].end,
    )
    repeated_until = state.tasks[last_repeated].end
    if stretch.repeats > 0.0:
        averages.step[p] += stretch.repeats * (repeated_until - repeated_from) / averaged
        add_critical_path(graph, state, last_repeated, repeated_from, averages.exposed[p])
        for k in range(width):
            averages.exposed[p, k] *= stretch.repeats
    add_critical_path(graph, state, last_task, begin_seconds, averages.exposed[p])
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


@shared_kernel
def _last_task(graph: Template, state: ScheduleState, n: int) -> Any:
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
