"""Steady states of many machines that share a plan: each is scheduled for its window and averaged, without a timeline.

The same kernel averages the window of a single timeline (`engine/schedule/steady_state.py`).
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .kernels.events import _advance, refusal
from .kernels.in_order import LANES, Order, draw, enter_lane, follow, lanes, order, ordered
from .kernels.periodic import forget, nothing_kept
from .kernels.template import GATE_ON, NEWEST, OVERFLOW, Floats, Ints, ScheduleState, Template, begin, exposed, stretches
from .kernels.totals import Totals, enter, means, sums, total

ENOUGH, WORTHWHILE = 8, 0.1  # machines to follow an order; share of them for which another is worth finding
BUSY, EXPOSED, JOULES = range(3)


class Accounts(NamedTuple):
    """Where what each of D demands takes is entered: its task, device and cell of the breakdown.

    Work `beside` keeps its device no busier; `other` is the cell of each device's idle power, and there are so many `cells`.
    """

    task: Ints
    device: Ints
    cell: Ints
    beside: NDArray[np.bool_]
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


def averages(points: int, tasks: int, devices: int, cells: int) -> Averages:
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
    found = averages(points, template.durations.shape[1], devices, accounts.cells)
    some = sums(taken, kind, _seen(kind), len(whole.makespan) > 0)
    alike, todo, state = stretches(kind), np.arange(points), begin(template)
    repeats = 2 * alike[-1] <= len(kind)
    template = template._replace(alike=alike if repeats else np.arange(len(kind)))
    while not repeats and ordered(template) and len(todo) >= ENOUGH:
        _events(template, state, todo[:1], kind, accounts, taken, some, found, whole)
        held = _in_order(order(template, state), kind, accounts, taken, some, todo[1:], found, whole)
        todo = todo[1:][~held]
        if held.mean() < WORTHWHILE:
            break
    _events(template, state, todo, kind, accounts, taken, some, found, whole)
    return found


def _seen(kind: Ints) -> int:
    return len(kind) - 2 if len(kind) > 2 else len(kind)


def _events(template: Template, state: ScheduleState, machines: Ints, *given: Any) -> None:
    past = nothing_kept(template.durations.shape[1], template.servers)
    failed = _observe(template, state, past, machines, *given)
    if failed:
        raise ValueError(refusal(failed))


@njit(cache=True, nogil=True)
def _observe(g: Any, s: Any, past: Any, machines: Any, kind: Any, a: Any, taken: Any, some: Any, found: Any, whole: Any) -> int:
    kinds, (batches, width) = taken.seconds.shape[1], s.start.shape
    newest, seen = 0 if g.bound > 0 else -1, batches - 2 if batches > 2 else batches
    task_seconds = np.zeros((kinds, width))
    for p in machines:
        _longest(a, taken.seconds, taken.row[p], task_seconds)
        _start_over(g, s, kind, task_seconds, newest)
        forget(past)
        failed = _advance(g, s, past)
        if failed:
            return int(failed)
        low, high, last = _bounds(g, s)
        found.step[p] = (high - low) / seen
        found.exposed[p] = exposed(g, s, last, low) / seen
        found.stale[p] = s.stale.max()
        average(a, means(taken, some, p), _ran(g, s, seen), taken.busy_watts[p], taken.idle_watts[p], found, p)
        if len(whole.makespan) > 0:
            total(g, s, kind, a, taken, some, p, whole)
    return 0


def _in_order(o: Order, kind: Ints, *given: Any) -> NDArray[np.bool_]:
    """Let machines follow an order and tell of those for which that is exact; returns which."""
    place = np.empty_like(o.flat)
    place[o.flat] = np.arange(len(o.flat))
    held: NDArray[np.bool_] = _follow(o, place, lanes(len(o.flat), len(o.server), int(kind.max()) + 1), kind, *given)
    return held


@njit(cache=True, nogil=True)
def _follow(
    o: Any, place: Any, room: Any, kind: Any, a: Any, taken: Any, some: Any, machines: Any, found: Any, whole: Any
) -> Any:
    held = np.zeros(len(machines), dtype=np.bool_)
    for first in range(0, len(machines), LANES):
        mine = machines[first : first + LANES]
        exact, all_take_time = follow(o, kind, a, taken, mine, room)
        for lane in range(len(mine)):
            if exact[lane] and enter_lane(o, place, room, lane, all_take_time[lane], mine[lane], found, whole):
                held[first + lane] = True
                _enter(o, room, lane, a, taken, some, mine[lane], found, whole)
    return held


@njit(cache=True, nogil=True)
def _enter(o: Any, room: Any, lane: int, a: Any, taken: Any, some: Any, p: int, found: Any, whole: Any) -> None:
    """Enter what a lane's machine took."""
    average(a, means(taken, some, p), np.ones(len(o.server)), taken.busy_watts[p], taken.idle_watts[p], found, p)
    if len(whole.makespan) > 0:
        whole.makespan[p] = whole.ends[p, -1]
        enter(a, taken, some, p, whole, -1)
    if len(whole.start) > 0:
        draw(o, room, lane, whole.start[p], whole.end[p])


@njit(cache=True, nogil=True)
def _longest(a: Any, seconds: Any, row: Any, found: Any) -> None:
    """A task lasts as long as its slowest demand."""
    found[:] = 0.0
    for d in range(len(row)):
        for r in range(seconds.shape[1]):
            found[r, a.task[d]] = max(found[r, a.task[d]], seconds[row[d], r])


@njit(cache=True, nogil=True)
def _start_over(g: Any, s: Any, kind: Any, task_seconds: Any, newest: int) -> None:
    """Bring the state to where nothing has run, as far as it is looked at before it is written."""
    s.start[:], s.end[:] = np.nan, np.nan
    for n in range(s.start.shape[0]):
        s.left[n] = task_seconds[kind[n]]
        s.waits[n] = g.needs if n else g.first_needs
    s.stale[:], s.running[:], s.last[:], s.queued[:] = 0, -1, -1, 0
    s.roll[:] = -1
    s.roll[NEWEST], s.roll[GATE_ON], s.roll[OVERFLOW] = newest, 0, 0


@njit(cache=True, nogil=True)
def _bounds(g: Any, s: Any) -> Any:
    """Return when the window begins and ends, and the flat index of the foreground task that ends it."""
    batches, width = s.start.shape
    ends, last = np.full(2, -np.inf), 0
    for i, n in enumerate((1 if batches > 2 else 0, batches - 1)):
        for k in range(width):
            if k != g.roll and not g.background[k] and s.end[n, k] > ends[i]:
                ends[i], last = s.end[n, k], n * width + k
    return ends[0] if batches > 2 else 0.0, ends[1], last


@njit(cache=True, nogil=True)
def _ran(g: Any, s: Any, seen: int) -> Any:
    """Return the share of the last batches in which each task ran: 1, but less for a log that spans batches."""
    batches, width = s.start.shape
    shares = np.ones(width)
    if g.roll >= 0:
        shares[g.roll] = np.sum(~np.isnan(s.end[batches - seen :, g.roll])) / seen
    return shares


@njit(cache=True, nogil=True)
def average(a: Any, mean: Any, ran: Any, busy_watts: Any, idle_watts: Any, found: Any, p: int) -> None:
    """Enter what demands take on average, (4, D) seconds, joules, bytes written and stored, in the accounts of machine p.

    A task's exposed seconds go to the device that sets its pace, static power to Other.
    """
    pace, pacing = np.full(len(ran), -1.0), np.zeros(len(ran), dtype=np.int64)
    for d in range(len(a.task)):
        k, v, cell = a.task[d], a.device[d], a.cell[d]
        seconds = 0.0 if a.beside[d] else mean[0, d] * ran[k]
        joules = mean[1, d] * ran[k] + seconds * busy_watts[v]
        found.busy[p, v] += seconds
        found.dynamic[p, v] += joules
        found.cells[p, cell, BUSY] += seconds
        found.cells[p, cell, JOULES] += joules
        found.written[p] += ran[k] * mean[2, d]
        found.media[p] += ran[k] * mean[3, d]
        if (0.0 if a.beside[d] else mean[0, d]) > pace[k]:
            pace[k], pacing[k] = (0.0 if a.beside[d] else mean[0, d]), cell
    for k in range(len(ran)):
        found.cells[p, pacing[k], EXPOSED] += found.exposed[p, k]
    for v in range(len(idle_watts)):
        found.static[p, v] = idle_watts[v] * found.step[p]
        found.cells[p, a.other[v], JOULES] += found.static[p, v]
