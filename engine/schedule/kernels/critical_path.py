"""The critical paths of machines in lanes, found step by step back, and what else is entered of machines that ran a program."""

from typing import Any

from ...core.arrays import Floats, Ints
from ...core.jit import inner
from .lanes import LANES, SERVE, TRY, WAITS, Lanes, Program, fill, ready_row
from .template import FIRST, NOBODY, Accounts, Averages, Stretch, Taken
from .totals import Sums, Totals, enter

EPSILON = 2.0**-52


@inner
def enter_lanes(program: Program, lanes: Lanes, machines: Ints, stretch: Stretch, averages: Averages, totals: Totals) -> None:
    """Set what machines did when, and the seconds of each task on their critical paths."""
    batches, width = len(lanes.ended), len(program.server)
    seen = (batches - 2 if batches > 2 else batches) + stretch.times * (stretch.last - stretch.first)
    fill(lanes.tied, 0.0)
    for k in range(width):
        fill(lanes.share[k], 0.0)
    for lane in range(LANES):
        lanes.until[lane] = lanes.end[_last(lanes, stretch.first, width, lane), lane]
    if stretch.times > 0.0:
        _trace(program, lanes, stretch.last)
    for lane in range(len(machines)):
        p = machines[lane]
        begun, low = lanes.until[lane], lanes.end[_last(lanes, 1, width, lane), lane] if batches > 2 else 0.0
        averages.step[p] = (lanes.end[_last(lanes, batches - 1, width, lane), lane] - low) / seen
        if stretch.times > 0.0:
            averages.step[p] += stretch.times * (lanes.end[_last(lanes, stretch.last, width, lane), lane] - begun) / seen
        lanes.until[lane] = low
        for k in range(width):
            lanes.share[k, lane] *= stretch.times
    _trace(program, lanes, batches - 1)
    for lane in range(len(machines)):
        for k in range(width):
            averages.exposed[machines[lane], k] = lanes.share[k, lane] / seen
        for n in range(batches if len(totals.makespan) > 0 else 0):
            totals.ends[machines[lane], n] = lanes.ended[n, lane]


@inner
def certain(lanes: Lanes, lane: int) -> bool:
    """Return whether a lane's times and its critical path are those of the events."""
    return bool(exact(lanes, lane) and (lanes.tied[lane] == 0.0 or moves(lanes, lane)))


@inner
def exact(lanes: Lanes, lane: int) -> bool:
    """Return whether what a lane's machine did is exact: nobody was ready before the one ahead, or at once where it matters."""
    return bool(lanes.gaps[1, lane] > 0.0 and (lanes.gaps[0, lane] > 0.0 or (lanes.gaps[0, lane] == 0.0 and moves(lanes, lane))))


@inner
def moves(lanes: Lanes, lane: int) -> bool:
    """Return whether every task ended after it began: none lasts so little that its start swallows it."""
    return bool(lanes.least[0, lane] > lanes.ended[len(lanes.ended) - 1, lane] * EPSILON)


@inner
def _last(lanes: Lanes, n: int, width: int, lane: int) -> Any:
    """Return the task of batch n that ends last, the first of several."""
    last: Any = FIRST
    last = n * width
    for flat in range(n * width, (n + 1) * width):
        last = flat if lanes.end[flat, lane] > lanes.end[last, lane] else last
    return last


@inner
def _trace(program: Program, lanes: Lanes, last: int) -> None:
    """Add up the seconds of each task on the critical path that ends with batch `last`, as `expose` does, step by step back.

    The cause of a start is the task before on the server, where that ended after all was ready; else what ended last.
    Of several that ended at once events take them server by server, in the same round; lanes with such are `tied`.
    """
    batches, width, ring = len(lanes.ended), len(program.server), len(lanes.path) // len(program.server)
    for row in range(len(lanes.path)):
        fill(lanes.path[row], 0.0)
    for lane in range(LANES):
        lanes.path[_last(lanes, last, width, lane) % len(lanes.path), lane] = 1.0
    for m in range(min(last + ring, batches + program.deep) - 1, -1, -1):
        for later in range(program.deep + 1):
            lanes.begin[later] = (m + lanes.deep - later) % lanes.deep * width
        for i in range(len(program.steps) - 1, -1, -1):
            step = program.steps[i]
            n = m - step.later
            if 0 <= n < batches and step.flags & (SERVE | TRY):
                flat = n * width + step.task
                path, some = lanes.path[flat % len(lanes.path)], 0.0
                for lane in range(LANES):
                    some += path[lane]
                if some > 0.0:
                    _blame(program, lanes, step, flat, path)


@inner
def _blame(program: Program, lanes: Lanes, step: Any, flat: int, path: Floats) -> None:
    """Enter a task in the lanes whose path it is on, and put its cause there in its place."""
    width, k, rows = len(program.server), step.task, len(lanes.path)
    ready, end, share = lanes.end[ready_row(program, lanes, step.later, k)], lanes.end[flat], lanes.share[k]
    for lane in range(LANES):
        ahead = lanes.ahead[flat, lane] if step.flags & WAITS else NOBODY
        begin, left = ready[lane], path[lane] if end[lane] > lanes.until[lane] else 0.0
        path[lane] = 0.0
        lanes.took[0, lane] = left
        if ahead >= 0 and lanes.end[ahead, lane] > begin:
            begin = lanes.end[ahead, lane]
            lanes.path[ahead % rows, lane] = max(lanes.path[ahead % rows, lane], left)
            lanes.took[0, lane] = 0.0
        share[lane] += left * (end[lane] - max(begin, lanes.until[lane]))
    for j in range(program.first[k], program.first[k + 1]):
        w = program.waited[j]
        other = flat - k + (w if w < width else w - 2 * width)
        if other >= 0:
            _pass(lanes.took[0], lanes.end[other], ready, lanes.path[other % rows], lanes.tied)


@inner
def _pass(left: Floats, end: Floats, ready: Floats, path: Floats, tied: Floats) -> None:
    """Put what ended last on the path; `left` is 1 where there is no cause yet, 2 where there is one."""
    for lane in range(LANES):
        hit = end[lane] == ready[lane]
        path[lane] = 1.0 if hit and left[lane] == 1.0 else path[lane]
        tied[lane] = 1.0 if hit and left[lane] == 2.0 else tied[lane]
        left[lane] = 2.0 if hit and left[lane] > 0.0 else left[lane]


@inner
def total_lane(
    program: Program,
    lanes: Lanes,
    lane: int,
    accounts: Accounts,
    taken: Taken,
    sums: Sums,
    stretch: Stretch,
    p: int,
    totals: Totals,
) -> None:
    """Total what a lane's machine took, and write its times, if there is room for them."""
    width = len(program.server)
    if len(totals.makespan) > 0:
        totals.makespan[p] = totals.ends[p, totals.ends.shape[1] - 1]
        totals.makespan[p] += stretch.times * (totals.ends[p, stretch.last] - totals.ends[p, stretch.first])
        enter(accounts, taken, sums, p, totals, NOBODY)
    for flat in range(len(lanes.ahead) if len(totals.start) > 0 else 0):
        n, k = flat // width, flat % width
        begin, ahead = 0.0, lanes.ahead[flat, lane]
        for j in range(program.first[k], program.first[k + 1]):
            w = program.waited[j]
            other = n * width + (w if w < width else w - 2 * width)
            begin = max(begin, lanes.end[other, lane] if other >= 0 else 0.0)
        totals.start[p, n, k] = max(begin, lanes.end[ahead, lane] if ahead >= 0 else 0.0)
        totals.end[p, n, k] = lanes.end[flat, lane]
