"""Schedules of many machines whose servers take tasks in the same order: maxima and sums instead of events, exact or refused.

Once it is known in which order each server takes its tasks, a task starts when what it waits for and the task before it on
its server have ended. One machine is simulated event by event, and others are given its order (schedule/averages). That is
exact for a machine where every task became ready after the one ahead of it on its server, or in the same instant and stands
behind it in the order of ties: then, as far as all times up to an instant are right, whoever chooses next finds the same
tasks waiting, and takes the same. Where some task takes no time, one instant has several rounds of choices; then ties count
only between tasks that wait for the same. Such a machine's times are those of the events, to the bit; any other is
refused. Only graphs without background work and rolling logs have an order.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Flags, Floats, Ints
from ...core.jit import inner
from .template import FIRST, NOBODY, Accounts, Averages, ScheduleState, Stretch, Taken, Template
from .totals import Sums, Totals, enter

LANES = 16  # machines at once; their times stand side by side
WRONG, RIGHT, SURE = range(3)  # ties: the other one is first; this one is, among tasks ready in one round; both always are


class Order(NamedTuple):
    """M = N K tasks in the order in which they begin, as flat indices (batch * K + task); index M is no task.

    `before` is the task ahead on the server, and `tie` says what it is if both become ready in one instant; task i waits
    for `waited[first[i]:first[i + 1]]`. All but `server` (K,) are by place in the order.
    """

    flat: Ints
    before: Ints
    tie: Ints
    first: Ints
    waited: Ints
    server: Ints


def ordered(graph: Template) -> bool:
    """Return whether a graph's schedule follows from the order in which servers take its tasks."""
    return graph.roll < 0 and not graph.tasks["background"].any()


def order_of(graph: Template, state: ScheduleState) -> Order:
    """Return the order of a schedule that events have made."""
    number, width = len(state.tasks), len(graph.tasks)
    batches = number // width
    flat = np.lexsort((np.arange(number), state.tasks["ready"], state.tasks["start"]))
    place, server = np.empty(number, dtype=np.int64), np.tile(graph.tasks["server"], batches)
    place[flat] = np.arange(number)
    lines = flat[np.argsort(server[flat], kind="stable")]
    before = np.full(number, number)
    before[lines[1:]] = np.where(server[lines[1:]] == server[lines[:-1]], lines[:-1], number)
    first, waited = _waits(graph, batches, width)
    sizes = np.diff(first)[flat]
    chosen = np.repeat(first[flat] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) + np.arange(sizes.sum())
    tie = np.where(before[flat] < flat, np.where(_sure(graph, first, before[flat], flat), SURE, RIGHT), WRONG)
    return Order(flat, before[flat], tie, np.concatenate(([0], np.cumsum(sizes))), waited[chosen], graph.tasks["server"].copy())


def _sure(graph: Template, first: Ints, before: Ints, flat: Ints) -> Flags:
    """Return which tasks wait for the one before, or for just what that one waits for, so that both are ready in one round."""
    width, sizes = len(graph.tasks), np.diff(first, append=first[-1:])
    needs = np.zeros((width, 2 * width), dtype=np.bool_)
    for column, (whom, who) in zip((0, width), graph.edges(), strict=True):
        needs[who, column + whom] = True
    beyond = needs[:, :width]
    for _ in range(width.bit_length()):
        beyond = beyond | (beyond @ beyond)
    certain = (needs[:, None] == needs).all(axis=2) | beyond
    here = certain[flat % width, before % width] & (before // width == flat // width)
    found: Flags = here | ((sizes[before] == 0) & (sizes[flat] == 0))
    return found


def _waits(graph: Template, batches: int, width: int) -> tuple[Ints, Ints]:
    """Return what each task waits for, by flat index."""
    same, following = graph.edges()
    at = np.arange(batches)[:, None] * width
    who = np.concatenate([(at + same[1]).reshape(-1), (at[1:] + following[1]).reshape(-1)])
    whom = np.concatenate([(at + same[0]).reshape(-1), (at[:-1] + following[0]).reshape(-1)])
    sorting = np.argsort(who, kind="stable")
    return np.searchsorted(who[sorting], np.arange(batches * width + 1)), whom[sorting]


class Lanes(NamedTuple):
    """Room for the times of LANES machines: tasks' ready and end (M + 1, LANES), durations (K, R, LANES).

    `gaps` (3, LANES), by tie, are the least seconds that tasks were ready after the one before, `moved` (LANES,) that one took.
    """

    ready: Floats
    end: Floats
    lasts: Floats
    gaps: Floats
    moved: Floats


def empty_lanes(number: int, tasks: int, kinds: int) -> Lanes:
    """Return room for so many tasks of as many kinds of batch; nothing is ready long before all, and has ended at 0."""
    ready, end = np.empty((2, number + 1, LANES))
    ready[number], end[number] = -np.inf, 0.0
    return Lanes(ready, end, np.empty((tasks, kinds, LANES)), np.empty((3, LANES)), np.empty(LANES))


@inner
def follow(order: Order, kind: Ints, accounts: Accounts, taken: Taken, machines: Ints, lanes: Lanes) -> None:
    """Let up to LANES machines follow an order."""
    width, number = len(order.server), len(order.flat)
    _durations(accounts, taken, machines, lanes.lasts)
    for lane in range(LANES):
        lanes.gaps[WRONG, lane] = lanes.gaps[RIGHT, lane] = lanes.gaps[SURE, lane] = lanes.moved[lane] = np.inf
    for i in range(number):
        f, p = order.flat[i], order.before[i]
        w = order.waited[order.first[i]] if order.first[i] < order.first[i + 1] else number
        ready, end, before, lasts = lanes.ready[f], lanes.end[f], lanes.end[p], lanes.lasts[f % width, kind[f // width]]
        _ready(ready, lanes.end[w])
        for j in range(order.first[i] + 1, order.first[i + 1]):
            _later(ready, lanes.end[order.waited[j]])
        _serve(ready, end, before, lanes.ready[p], lasts, lanes.gaps[order.tie[i]], lanes.moved)


@inner
def exact(lanes: Lanes, lane: int) -> bool:
    """Return whether what a lane's machine did is exact: no task was ready before the one ahead of it."""
    apart, tied = lanes.gaps[RIGHT, lane] > 0.0, lanes.gaps[RIGHT, lane] == 0.0 and lanes.moved[lane] > 0.0
    return bool(lanes.gaps[WRONG, lane] > 0.0 and (apart or tied))


@inner
def _ready(ready: Floats, end: Floats) -> None:
    for lane in range(LANES):
        ready[lane] = end[lane]


@inner
def _later(ready: Floats, end: Floats) -> None:
    for lane in range(LANES):
        ready[lane] = ready[lane] if ready[lane] > end[lane] else end[lane]


@inner
def _serve(ready: Floats, end: Floats, before: Floats, ready_before: Floats, lasts: Floats, gaps: Floats, moved: Floats) -> None:
    """Serve one task in every lane, and keep the least seconds that it was ready after the one before, and that it took."""
    for lane in range(LANES):
        start = ready[lane] if ready[lane] > before[lane] else before[lane]
        gap, ended = ready[lane] - ready_before[lane], start + lasts[lane]
        gaps[lane] = gap if gap < gaps[lane] else gaps[lane]
        took = ended - start
        moved[lane] = took if took < moved[lane] else moved[lane]
        end[lane] = ended


@inner
def _durations(accounts: Accounts, taken: Taken, machines: Ints, lasts: Floats) -> None:
    """A task lasts as long as its slowest demand."""
    for k in range(lasts.shape[0]):
        for r in range(lasts.shape[1]):
            for lane in range(LANES):
                lasts[k, r, lane] = 0.0
    for d in range(len(accounts.task)):
        for lane in range(LANES):
            row = taken.row[machines[min(lane, len(machines) - 1)], d]
            for r in range(lasts.shape[1]):
                lasts[accounts.task[d], r, lane] = max(lasts[accounts.task[d], r, lane], taken.seconds[row, r])


@inner
def enter_lane(
    order: Order, place: Ints, lanes: Lanes, lane: int, stretch: Stretch, p: int, averages: Averages, totals: Totals
) -> bool:
    """Set what a lane's machine did when; returns False where its critical path is not certain."""
    width = len(order.server)
    last: Any = FIRST
    again: Any = FIRST
    batches, reached, low, begun = len(order.flat) // width, 0.0, 0.0, 0.0
    seen = (batches - 2 if batches > 2 else batches) + stretch.times * (stretch.last - stretch.first)
    for n in range(batches):
        last = n * width
        for f in range(n * width, (n + 1) * width):
            last = f if lanes.end[f, lane] > lanes.end[last, lane] else last
        reached = max(reached, lanes.end[last, lane])
        low = lanes.end[last, lane] if n == 1 and batches > 2 else low
        begun = lanes.end[last, lane] if n == stretch.first else begun
        again = last if n == stretch.last else again
        if len(totals.makespan) > 0:
            totals.ends[p, n] = reached
    averages.step[p] = (lanes.end[last, lane] - low + stretch.times * (lanes.end[again, lane] - begun)) / seen
    for k in range(width):
        averages.exposed[p, k] = 0.0
    tied = stretch.times > 0.0 and _walk(order, place, lanes, lane, again, begun, averages.exposed[p])
    for k in range(width):
        averages.exposed[p, k] *= stretch.times
    tied = _walk(order, place, lanes, lane, last, low, averages.exposed[p]) or tied
    for k in range(width):
        averages.exposed[p, k] /= seen
    return bool(lanes.moved[lane] > 0.0 or not tied)


@inner
def _walk(order: Order, place: Ints, lanes: Lanes, lane: int, last: int, until: float, share: Floats) -> bool:
    """Add up in `share` (K,) the seconds of each task on the critical path of a lane, as `exposed` does, without logs.

    The cause of a start is the task before on the server, where that ended after all was ready; else what ended last.
    Of several that ended at once events take them server by server, in the same round; returns whether there were such.
    """
    number, width, flat, tied = len(order.flat), len(order.server), last, False
    now = lanes.end[last, lane]
    while flat < number and now > until:
        i, before = place[flat], order.before[place[flat]]
        begin, cause = lanes.ready[flat, lane], number
        if lanes.end[before, lane] > begin:
            begin, cause = lanes.end[before, lane], before
        else:
            for j in range(order.first[i], order.first[i + 1]):
                other = order.waited[j]
                if lanes.end[other, lane] == begin:
                    tied = tied or cause < number
                    cause = other if cause == number or order.server[other % width] > order.server[cause % width] else cause
        share[flat % width] += now - max(begin, until)
        now, flat = begin, cause
    return tied


@inner
def total_lane(
    order: Order, lanes: Lanes, lane: int, accounts: Accounts, taken: Taken, sums: Sums, stretch: Stretch, p: int, totals: Totals
) -> None:
    """Total what a lane's machine took, and write its times, if there is room for them."""
    width = len(order.server)
    if len(totals.makespan) > 0:
        totals.makespan[p] = totals.ends[p, totals.ends.shape[1] - 1]
        totals.makespan[p] += stretch.times * (totals.ends[p, stretch.last] - totals.ends[p, stretch.first])
        enter(accounts, taken, sums, p, totals, NOBODY)
    for i in range(len(order.flat) if len(totals.start) > 0 else 0):
        n, k = order.flat[i] // width, order.flat[i] % width
        totals.start[p, n, k] = max(lanes.ready[order.flat[i], lane], lanes.end[order.before[i], lane])
        totals.end[p, n, k] = lanes.end[order.flat[i], lane]
