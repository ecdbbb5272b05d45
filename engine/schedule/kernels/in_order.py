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
from numba import njit
from numpy.typing import NDArray

from .template import Floats, Ints, ScheduleState, Template

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


def ordered(g: Template) -> bool:
    """Return whether a graph's schedule follows from the order in which servers take its tasks."""
    return g.roll < 0 and not g.background.any()


def order(g: Template, s: ScheduleState) -> Order:
    """Return the order of a schedule that events have made."""
    (batches, width), number = s.start.shape, s.start.size
    flat = np.lexsort((np.arange(number), s.ready.reshape(-1), s.start.reshape(-1)))
    place, server = np.empty(number, dtype=np.int64), np.tile(g.server, batches)
    place[flat] = np.arange(number)
    lines = flat[np.argsort(server[flat], kind="stable")]
    before = np.full(number, number)
    before[lines[1:]] = np.where(server[lines[1:]] == server[lines[:-1]], lines[:-1], number)
    first, waited = _waits(g, batches, width)
    sizes = np.diff(first)[flat]
    chosen = np.repeat(first[flat] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) + np.arange(sizes.sum())
    tie = np.where(before[flat] < flat, np.where(_sure(g, first, before[flat], flat), SURE, RIGHT), WRONG)
    return Order(flat, before[flat], tie, np.concatenate(([0], np.cumsum(sizes))), waited[chosen], g.server)


def _sure(g: Template, first: Ints, before: Ints, flat: Ints) -> NDArray[np.bool_]:
    """Return which tasks wait for the one before, or for just what that one waits for, so that both are ready in one round."""
    width, sizes = len(g.server), np.diff(first, append=first[-1:])
    needs = np.zeros((width, 2 * width), dtype=np.bool_)
    for column, pointers, items in ((0, g.same_pointers, g.same), (width, g.next_pointers, g.next)):
        needs[items, column + np.repeat(np.arange(width), np.diff(pointers))] = True
    beyond = needs[:, :width]
    for _ in range(width.bit_length()):
        beyond = beyond | (beyond @ beyond)
    certain = (needs[:, None] == needs).all(axis=2) | beyond
    here = certain[flat % width, before % width] & (before // width == flat // width)
    found: NDArray[np.bool_] = here | ((sizes[before] == 0) & (sizes[flat] == 0))
    return found


def _waits(g: Template, batches: int, width: int) -> tuple[Ints, Ints]:
    """Return what each task waits for, by flat index."""
    same = np.repeat(np.arange(width), np.diff(g.same_pointers)), g.same
    following = np.repeat(np.arange(width), np.diff(g.next_pointers)), g.next
    at = np.arange(batches)[:, None] * width
    who = np.concatenate([(at + same[1]).reshape(-1), (at[1:] + following[1]).reshape(-1)])
    whom = np.concatenate([(at + same[0]).reshape(-1), (at[:-1] + following[0]).reshape(-1)])
    sorting = np.argsort(who, kind="stable")
    return np.searchsorted(who[sorting], np.arange(batches * width + 1)), whom[sorting]


class Lanes(NamedTuple):
    """Room for the times of LANES machines: tasks' ready and end (M + 1, LANES), durations (K, R, LANES)."""

    ready: Floats
    end: Floats
    lasts: Floats


def lanes(number: int, tasks: int, kinds: int) -> Lanes:
    """Return room for so many tasks of as many kinds of batch; nothing is ready long before all, and has ended at 0."""
    ready, end = np.empty((2, number + 1, LANES))
    ready[number], end[number] = -np.inf, 0.0
    return Lanes(ready, end, np.empty((tasks, kinds, LANES)))


@njit(cache=True, nogil=True)
def follow(o: Any, kind: Any, a: Any, taken: Any, machines: Any, room: Any) -> Any:
    """Let up to LANES machines follow an order; returns for each whether it is exact, and whether all its tasks take time."""
    width, number = len(o.server), len(o.flat)
    _durations(a, taken, machines, room.lasts)
    gaps, moved = np.full((3, LANES), np.inf), np.full(LANES, np.inf)
    for i in range(number):
        f, p = o.flat[i], o.before[i]
        w = o.waited[o.first[i]] if o.first[i] < o.first[i + 1] else number
        ready, end, before, lasts = room.ready[f], room.end[f], room.end[p], room.lasts[f % width, kind[f // width]]
        _ready(ready, room.end[w])
        for j in range(o.first[i] + 1, o.first[i + 1]):
            _later(ready, room.end[o.waited[j]])
        _serve(ready, end, before, room.ready[p], lasts, gaps[o.tie[i]], moved)
    return (gaps[WRONG] > 0.0) & ((gaps[RIGHT] > 0.0) | ((gaps[RIGHT] == 0.0) & (moved > 0.0))), moved > 0.0


@njit(cache=True, nogil=True)
def _ready(ready: Any, end: Any) -> None:
    for lane in range(LANES):
        ready[lane] = end[lane]


@njit(cache=True, nogil=True)
def _later(ready: Any, end: Any) -> None:
    for lane in range(LANES):
        ready[lane] = ready[lane] if ready[lane] > end[lane] else end[lane]


@njit(cache=True, nogil=True)
def _serve(ready: Any, end: Any, before: Any, ready_before: Any, lasts: Any, gaps: Any, moved: Any) -> None:
    """Serve one task in every lane, and keep the least seconds that it was ready after the one before, and that it took."""
    for lane in range(LANES):
        start = ready[lane] if ready[lane] > before[lane] else before[lane]
        gap, ended = ready[lane] - ready_before[lane], start + lasts[lane]
        gaps[lane] = gap if gap < gaps[lane] else gaps[lane]
        took = ended - start
        moved[lane] = took if took < moved[lane] else moved[lane]
        end[lane] = ended


@njit(cache=True, nogil=True)
def _durations(a: Any, taken: Any, machines: Any, lasts: Any) -> None:
    """A task lasts as long as its slowest demand."""
    lasts[:] = 0.0
    for d in range(len(a.task)):
        for lane in range(LANES):
            row = taken.seconds[taken.row[machines[min(lane, len(machines) - 1)], d]]
            for r in range(lasts.shape[1]):
                lasts[a.task[d], r, lane] = max(lasts[a.task[d], r, lane], row[r])


@njit(cache=True, nogil=True)
def enter_lane(o: Any, place: Any, room: Any, lane: int, all_take_time: bool, p: int, found: Any, whole: Any) -> bool:
    """Set what a lane's machine did when; returns False where its critical path is not certain."""
    width = len(o.server)
    batches, reached, low, last = len(o.flat) // width, 0.0, 0.0, 0
    seen = batches - 2 if batches > 2 else batches
    for n in range(batches):
        last = n * width
        for f in range(n * width, (n + 1) * width):
            last = f if room.end[f, lane] > room.end[last, lane] else last
        reached = max(reached, room.end[last, lane])
        low = room.end[last, lane] if n == 1 and batches > 2 else low
        if len(whole.makespan) > 0:
            whole.ends[p, n] = reached
    found.step[p], found.exposed[p] = (room.end[last, lane] - low) / seen, 0.0
    tied = _walk(o, place, room, lane, last, low, found.exposed[p])
    found.exposed[p] /= seen
    return bool(all_take_time or not tied)


@njit(cache=True, nogil=True)
def _walk(o: Any, place: Any, room: Any, lane: int, last: int, until: float, share: Any) -> bool:
    """Add up in `share` (K,) the seconds of each task on the critical path of a lane: critical_path, without logs.

    The cause of a start is the task before on the server, where that ended after all was ready; else what ended last.
    Of several that ended at once events take them server by server, in the same round; returns whether there were such.
    """
    number, width, flat, tied = len(o.flat), len(o.server), last, False
    now = room.end[last, lane]
    while flat < number and now > until:
        i, before = place[flat], o.before[place[flat]]
        begin, cause = room.ready[flat, lane], number
        if room.end[before, lane] > begin:
            begin, cause = room.end[before, lane], before
        else:
            for j in range(o.first[i], o.first[i + 1]):
                other = o.waited[j]
                if room.end[other, lane] == begin:
                    tied = tied or cause < number
                    cause = other if cause == number or o.server[other % width] > o.server[cause % width] else cause
        share[flat % width] += now - max(begin, until)
        now, flat = begin, cause
    return tied


@njit(cache=True, nogil=True)
def draw(o: Any, room: Any, lane: int, start: Any, end: Any) -> None:
    """Write a lane's times as (N, K)."""
    width = len(o.server)
    for i in range(len(o.flat)):
        n, k = o.flat[i] // width, o.flat[i] % width
        start[n, k] = max(room.ready[o.flat[i], lane], room.end[o.before[i], lane])
        end[n, k] = room.end[o.flat[i], lane]
