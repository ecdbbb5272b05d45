"""Averaging kernel: machines that share a plan are scheduled and averaged, many without a timeline each, one with its state."""

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Flags, Floats, Ints
from ..core.jit import entry, inner, shared
from .kernels.entering import certain, enter_lanes, total_lane
from .kernels.events import advance
from .kernels.in_order import follow
from .kernels.lanes import Lanes, Program, empty_lanes
from .kernels.periodic import forget
from .kernels.template import (
    FIRST,
    GATE_ON,
    NEWEST,
    NOBODY,
    ONCE,
    OVERFLOW,
    SECONDS,
    Accounts,
    Averages,
    Past,
    ScheduleState,
    Stretch,
    Taken,
    Template,
    begin,
    empty_averages,
    expose,
    refusal,
    stretches,
)
from .kernels.totals import Totals, average, empty_totals, enter, logged, sums_of, total
from .service import program_of

ENOUGH = 8  # machines that run a program together


class Inputs(NamedTuple):
    """What P machines with one plan are given: the kind of each batch, the accounts of demands, and what these take.

    The `stretch` is what is repeated in the run that the batches show.
    """

    kind: Ints
    accounts: Accounts
    taken: Taken
    stretch: Stretch


def observe(template: Template, kind: Ints, accounts: Accounts, taken: Taken, whole: Totals, stretch: Stretch = ONCE) -> Averages:
    """Schedule and average P machines, and total `whole` runs if there is room for them.

    Of the template, durations count only by their shape, (N, K). Batches of which few are like the one before do not repeat
    themselves, and machines then run the graph's program together, if it has one.
    """
    devices, points = taken.busy_watts.shape
    found = empty_averages(points, template.durations.shape[1], devices, accounts.cells)
    inputs, sums = Inputs(kind, accounts, taken, stretch), sums_of(taken, kind, len(whole.makespan) > 0, stretch)
    if len(whole.makespan) > 0:
        enter(accounts, taken, sums, whole, template.roll)
    alike, todo, state, ran = stretches(kind), np.arange(points), begin(template), np.ones(points)
    repeats = 2 * alike[-1] <= len(kind)
    template = template._replace(alike=alike if repeats else np.arange(len(kind)))
    unlike = repeats or points < ENOUGH or (template.roll >= 0 and stretch.times > 0.0)
    program = None if unlike else program_of(template, taken.idle(accounts.task, len(template.tasks)))
    if program is not None:
        todo = todo[~_in_order(program, todo, inputs, found, whole)]
    _events(template, state, todo, inputs, found, whole, ran)
    average(accounts, taken, sums, template.roll, ran, found)
    return found


def schedule_alone(
    template: Template, kind: Ints, accounts: Accounts, taken: Taken, stretch: Stretch = ONCE
) -> tuple[ScheduleState, Averages]:
    """Schedule and average the first of the machines, and keep its schedule; durations count by their shape and stretches."""
    shape, state, ran = template.durations.shape, begin(template), np.ones(1)
    found = empty_averages(1, shape[1], len(taken.busy_watts), accounts.cells)
    inputs = Inputs(kind, accounts, taken, stretch)
    _events(template, state, np.zeros(1, dtype=np.int64), inputs, found, empty_totals(0, shape, accounts.cells), ran)
    average(accounts, taken, sums_of(taken, kind, False, stretch), template.roll, ran, found)
    return state, found


def _events(
    template: Template, state: ScheduleState, machines: Ints, inputs: Inputs, averages: Averages, totals: Totals, ran: Floats
) -> None:
    past = Past.empty(template.durations.shape[1], template.servers)
    failed = _observe(template, state, past, machines, inputs, averages, totals, ran)
    if failed:
        raise ValueError(refusal(failed))


@entry
def _observe(
    graph: Template,
    state: ScheduleState,
    past: Past,
    machines: Ints,
    inputs: Inputs,
    averages: Averages,
    totals: Totals,
    ran: Floats,
) -> int:
    for p in machines:
        start_over(graph, state, inputs.kind, inputs.accounts, inputs.taken, p)
        forget(past)
        failed = advance(graph, state, past)
        if failed:
            return int(failed)
        ran[p] = _enter_window(graph, state, inputs, p, averages)
        if len(totals.makespan) > 0:
            total(graph, state, inputs.kind, inputs.accounts, inputs.taken, inputs.stretch, p, totals)
    return 0


def _in_order(program: Program, machines: Ints, inputs: Inputs, averages: Averages, totals: Totals) -> Flags:
    """Let machines run a program and tell of those for which that is exact; returns which."""
    lanes = empty_lanes(program, len(inputs.accounts.task), len(inputs.kind), int(inputs.kind.max()) + 1, len(machines))
    held = np.zeros(len(machines), dtype=np.bool_)
    _follow(program, lanes, machines, inputs, averages, totals, held)
    return held


@entry
def _follow(
    program: Program, lanes: Lanes, machines: Ints, inputs: Inputs, averages: Averages, totals: Totals, held: Flags
) -> None:
    kind, accounts, taken, stretch = inputs.kind, inputs.accounts, inputs.taken, inputs.stretch
    for first in range(0, len(machines), lanes.wide):
        mine = machines[first : first + lanes.wide]
        follow(program, kind, accounts, taken, mine, lanes)
        enter_lanes(program, lanes, mine, stretch, averages, totals)
        for lane in range(len(mine)):
            held[first + lane] = certain(program, lanes, lane)
            if held[first + lane] and len(totals.makespan) > 0:
                total_lane(program, lanes, lane, kind, accounts, taken, stretch, mine[lane], totals)


@inner
def start_over(graph: Template, state: ScheduleState, kind: Ints, accounts: Accounts, taken: Taken, p: int) -> None:
    """Bring the state to where nothing has run, as far as it is looked at before it is written."""
    width = len(graph.tasks)
    for n in range(len(kind)):
        state.stale[n] = 0
        same, first = n > 0 and kind[n] == kind[n - 1], n * width
        for k in range(width):
            run, task = state.tasks[first + k], graph.tasks[k]
            run.start, run.end, run.left = np.nan, np.nan, state.tasks[first - width + k].left if same else 0.0
            run.waits = task.needs if n else task.first_needs
        for d in range(0 if same else len(accounts.task)):  # a task lasts as long as its slowest demand
            run = state.tasks[first + accounts.task[d]]
            run.left = max(run.left, taken.costs[kind[n], taken.column[SECONDS, d, p]])
    for server in range(graph.servers):
        state.servers[server].running, state.servers[server].last = -1, -1
        state.queued[2 * server], state.queued[2 * server + 1] = 0, 0
    for slot in range(len(state.roll)):
        state.roll[slot] = -1
    state.roll[NEWEST], state.roll[GATE_ON], state.roll[OVERFLOW] = 0 if graph.bound > 0 else -1, 0, 0


@inner
def _enter_window(graph: Template, state: ScheduleState, inputs: Inputs, p: int, averages: Averages) -> Any:
    """Enter when a machine did what on average, after the first two batches; returns in which share of them a rolling log ran."""
    batches, width, stale, ran, stretch = len(state.stale), len(graph.tasks), 0, 0.0, inputs.stretch
    counted = batches - 2 if batches > 2 else batches
    seen = counted + stretch.times * (stretch.last - stretch.first)
    last = _last(graph, state, batches - 1)
    until, low = state.tasks[last].end, state.tasks[_last(graph, state, FIRST + 1)].end if batches > 2 else 0.0
    averages.step[p] = (until - low) / seen
    for k in range(width):
        averages.exposed[p, k] = 0.0  # a machine that left its order has entered something here
    again, begun = _last(graph, state, stretch.last), state.tasks[_last(graph, state, stretch.first)].end
    ended = state.tasks[again].end
    if stretch.times > 0.0:
        averages.step[p] += stretch.times * (ended - begun) / seen
        expose(graph, state, again, begun, averages.exposed[p])
        for k in range(width):
            averages.exposed[p, k] *= stretch.times
    expose(graph, state, last, low, averages.exposed[p])
    for k in range(width):
        averages.exposed[p, k] /= seen
    for n in range(batches):
        stale = max(stale, state.stale[n])
        if graph.roll >= 0:
            ran += n >= batches - counted and not np.isnan(state.tasks[n * width + graph.roll].end)
        if graph.roll >= 0 and stretch.times > 0.0:
            kind, accounts, taken = inputs.kind, inputs.accounts, inputs.taken
            ran += stretch.times * logged(graph, state, kind, accounts, taken, p, n, begun, ended, until)
    averages.stale[p] = stale
    return ran / seen


@shared
def _last(graph: Template, state: ScheduleState, n: int) -> Any:
    """Return the flat index of the foreground task of batch n that ends last, the first of several."""
    last: Any = NOBODY
    width = len(graph.tasks)
    for k in range(width):
        flat = n * width + k
        if k != graph.roll and not graph.tasks[k].background and (last < 0 or state.tasks[flat].end > state.tasks[last].end):
            last = flat
    return last
