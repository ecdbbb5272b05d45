"""Averaging kernel: machines that share a plan are scheduled and averaged, many without a timeline each, one with its state."""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..core.arrays import Flags, Floats, Ints
from .kernels.events import advance, refusal
from .kernels.in_order import LANES, Lanes, Order, draw, empty_lanes, enter_lane, follow, order_of, ordered
from .kernels.periodic import forget
from .kernels.template import (
    GATE_ON,
    NEWEST,
    OVERFLOW,
    Accounts,
    Averages,
    Past,
    ScheduleState,
    Taken,
    Template,
    begin,
    exposed,
    stretches,
)
from .kernels.totals import Sums, Totals, empty_totals, enter, means, sums_of, total

ENOUGH, WORTHWHILE = 8, 0.1  # machines to follow an order; share of them for which another is worth finding
BUSY, EXPOSED, JOULES = range(3)


class Inputs(NamedTuple):
    """What P machines with one plan are given: the kind of each batch, the accounts of demands, what these take, and its sums."""

    kind: Ints
    accounts: Accounts
    taken: Taken
    sums: Sums


def empty_averages(points: int, tasks: int, devices: int, cells: int) -> Averages:
    """Return room for so many machines."""
    step, written, media = np.zeros((3, points))
    busy, dynamic, static = np.zeros((3, points, devices))
    stale = np.zeros(points, dtype=np.int64)
    by_cell = np.zeros((points, cells, 3))
    return Averages(step, np.zeros((points, tasks)), busy, dynamic, static, by_cell, written, media, stale)


def observe(template: Template, kind: Ints, accounts: Accounts, taken: Taken, whole: Totals) -> Averages:
    """Schedule and average P machines, and total `whole` runs if there is room for them.

    Of the template, durations count only by their shape, (N, K). Batches of which few are like the one before do not repeat
    themselves, and machines whose servers take tasks in one order then follow it together.
    """
    points, devices = taken.busy_watts.shape
    found = empty_averages(points, template.durations.shape[1], devices, accounts.cells)
    inputs = Inputs(kind, accounts, taken, sums_of(taken, kind, len(whole.makespan) > 0))
    alike, todo, state = stretches(kind), np.arange(points), begin(template)
    repeats = 2 * alike[-1] <= len(kind)
    template = template._replace(alike=alike if repeats else np.arange(len(kind)))
    while not repeats and ordered(template) and len(todo) >= ENOUGH:
        _events(template, state, todo[:1], inputs, found, whole)
        held = _in_order(order_of(template, state), todo[1:], inputs, found, whole)
        todo = todo[1:][~held]
        if held.mean() < WORTHWHILE:
            break
    _events(template, state, todo, inputs, found, whole)
    return found


def schedule_alone(template: Template, kind: Ints, accounts: Accounts, taken: Taken) -> tuple[ScheduleState, Averages]:
    """Schedule and average the first of the machines, and keep its schedule; durations count by their shape and stretches."""
    shape, state = template.durations.shape, begin(template)
    found = empty_averages(1, shape[1], taken.busy_watts.shape[1], accounts.cells)
    inputs, untotalled = Inputs(kind, accounts, taken, sums_of(taken, kind, False)), empty_totals(0, shape, accounts.cells)
    _events(template, state, np.zeros(1, dtype=np.int64), inputs, found, untotalled)
    return state, found


def _events(template: Template, state: ScheduleState, machines: Ints, inputs: Inputs, averages: Averages, totals: Totals) -> None:
    past = Past.empty(template.durations.shape[1], template.servers)
    failed = _observe(template, state, past, machines, inputs, averages, totals)
    if failed:
        raise ValueError(refusal(failed))


@njit(cache=True, nogil=True)
def _observe(
    graph: Template, state: ScheduleState, past: Past, machines: Ints, inputs: Inputs, averages: Averages, totals: Totals
) -> int:
    kind, accounts, taken, sums = inputs
    kinds, (batches, width) = taken.seconds.shape[1], state.start.shape
    newest, seen = 0 if graph.bound > 0 else -1, batches - 2 if batches > 2 else batches
    task_seconds = np.zeros((kinds, width))
    for p in machines:
        _longest(accounts, taken.seconds, taken.row[p], task_seconds)
        _start_over(graph, state, kind, task_seconds, newest)
        forget(past)
        failed = advance(graph, state, past)
        if failed:
            return int(failed)
        low, high, last = _bounds(graph, state)
        averages.step[p] = (high - low) / seen
        averages.exposed[p] = exposed(graph, state, last, low) / seen
        averages.stale[p] = state.stale.max()
        average(accounts, means(taken, sums, p), _ran(graph, state, seen), taken.busy_watts[p], taken.idle_watts[p], averages, p)
        if len(totals.makespan) > 0:
            total(graph, state, kind, accounts, taken, sums, p, totals)
    return 0


def _in_order(order: Order, machines: Ints, inputs: Inputs, averages: Averages, totals: Totals) -> Flags:
    """Let machines follow an order and tell of those for which that is exact; returns which."""
    place = np.empty_like(order.flat)
    place[order.flat] = np.arange(len(order.flat))
    lanes = empty_lanes(len(order.flat), len(order.server), int(inputs.kind.max()) + 1)
    held: Flags = _follow(order, place, lanes, machines, inputs, averages, totals)
    return held


@njit(cache=True, nogil=True)
def _follow(order: Order, place: Ints, lanes: Lanes, machines: Ints, inputs: Inputs, averages: Averages, totals: Totals) -> Flags:
    kind, accounts, taken, _ = inputs
    held = np.zeros(len(machines), dtype=np.bool_)
    for first in range(0, len(machines), LANES):
        mine = machines[first : first + LANES]
        exact, all_take_time = follow(order, kind, accounts, taken, mine, lanes)
        for lane in range(len(mine)):
            if exact[lane] and enter_lane(order, place, lanes, lane, all_take_time[lane], mine[lane], averages, totals):
                held[first + lane] = True
                _enter(order, lanes, lane, inputs, mine[lane], averages, totals)
    return held


@njit(cache=True, nogil=True)
def _enter(order: Order, lanes: Lanes, lane: int, inputs: Inputs, p: int, averages: Averages, totals: Totals) -> None:
    """Enter what a lane's machine took."""
    _, accounts, taken, sums = inputs
    average(accounts, means(taken, sums, p), np.ones(len(order.server)), taken.busy_watts[p], taken.idle_watts[p], averages, p)
    if len(totals.makespan) > 0:
        totals.makespan[p] = totals.ends[p, -1]
        enter(accounts, taken, sums, p, totals, -1)
    if len(totals.start) > 0:
        draw(order, lanes, lane, totals.start[p], totals.end[p])


@njit(cache=True, nogil=True)
def _longest(accounts: Accounts, seconds: Floats, row: Ints, longest: Floats) -> None:
    """A task lasts as long as its slowest demand."""
    longest[:] = 0.0
    for d in range(len(row)):
        for r in range(seconds.shape[1]):
            longest[r, accounts.task[d]] = max(longest[r, accounts.task[d]], seconds[row[d], r])


@njit(cache=True, nogil=True)
def _start_over(graph: Template, state: ScheduleState, kind: Ints, task_seconds: Floats, newest: int) -> None:
    """Bring the state to where nothing has run, as far as it is looked at before it is written."""
    state.start[:], state.end[:] = np.nan, np.nan
    for n in range(state.start.shape[0]):
        state.left[n] = task_seconds[kind[n]]
        state.waits[n] = graph.needs if n else graph.first_needs
    state.stale[:], state.running[:], state.last[:], state.queued[:] = 0, -1, -1, 0
    state.roll[:] = -1
    state.roll[NEWEST], state.roll[GATE_ON], state.roll[OVERFLOW] = newest, 0, 0


@njit(cache=True, nogil=True)
def _bounds(graph: Template, state: ScheduleState) -> tuple[float, float, int]:
    """Return when the window begins and ends, and the flat index of the foreground task that ends it."""
    batches, width = state.start.shape
    ends, last = np.full(2, -np.inf), 0
    for i, n in enumerate((1 if batches > 2 else 0, batches - 1)):
        for k in range(width):
            if k != graph.roll and not graph.background[k] and state.end[n, k] > ends[i]:
                ends[i], last = state.end[n, k], n * width + k
    return ends[0] if batches > 2 else 0.0, ends[1], last


@njit(cache=True, nogil=True)
def _ran(graph: Template, state: ScheduleState, seen: int) -> Floats:
    """Return the share of the last batches in which each task ran: 1, but less for a log that spans batches."""
    batches, width = state.start.shape
    shares = np.ones(width)
    if graph.roll >= 0:
        shares[graph.roll] = np.sum(~np.isnan(state.end[batches - seen :, graph.roll])) / seen
    return shares


@njit(cache=True, nogil=True)
def average(
    accounts: Accounts, mean: Floats, ran: Floats, busy_watts: Floats, idle_watts: Floats, averages: Averages, p: int
) -> None:
    """Enter what demands take on average, (4, D) seconds, joules, bytes written and stored, in the accounts of machine p.

    A task's exposed seconds go to the device that sets its pace, static power to Other.
    """
    pace, pacing = np.full(len(ran), -1.0), np.zeros(len(ran), dtype=np.int64)
    for d in range(len(accounts.task)):
        k, v, cell = accounts.task[d], accounts.device[d], accounts.cell[d]
        seconds = 0.0 if accounts.beside[d] else mean[0, d] * ran[k]
        joules = mean[1, d] * ran[k] + seconds * busy_watts[v]
        averages.busy[p, v] += seconds
        averages.dynamic[p, v] += joules
        averages.cells[p, cell, BUSY] += seconds
        averages.cells[p, cell, JOULES] += joules
        averages.written[p] += ran[k] * mean[2, d]
        averages.media[p] += ran[k] * mean[3, d]
        if (0.0 if accounts.beside[d] else mean[0, d]) > pace[k]:
            pace[k], pacing[k] = (0.0 if accounts.beside[d] else mean[0, d]), cell
    for k in range(len(ran)):
        averages.cells[p, pacing[k], EXPOSED] += averages.exposed[p, k]
    for v in range(len(idle_watts)):
        averages.static[p, v] = idle_watts[v] * averages.step[p]
        averages.cells[p, accounts.other[v], JOULES] += averages.static[p, v]
