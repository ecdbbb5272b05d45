"""The critical paths of machines in lanes, found step by step back, and what else is entered of machines that ran a program."""

from typing import Any

from ...core.arrays import Floats, Ints
from ...core.jit import inner
from .lanes import BACKGROUND, LANES, SERVE, TRY, WAITS, Lanes, Program, fill, ready_row
from .template import NOBODY, Accounts, Averages, Stretch, Taken
from .totals import Sums, Totals, enter, enter_whole_log
from .walk import last_of, walk

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
        lanes.until[lane] = lanes.end[last_of(program, lanes, stretch.first, lane), lane]
    if stretch.times > 0.0:
        _path(program, lanes, stretch.last)
    for lane in range(len(machines)):
        p = machines[lane]
        begun, low = lanes.until[lane], lanes.end[last_of(program, lanes, 1, lane), lane] if batches > 2 else 0.0
        averages.step[p] = (lanes.end[last_of(program, lanes, batches - 1, lane), lane] - low) / seen
        if stretch.times > 0.0:
            averages.step[p] += stretch.times * (lanes.end[last_of(program, lanes, stretch.last, lane), lane] - begun) / seen
        lanes.until[lane] = low
        for k in range(width):
            lanes.share[k, lane] *= stretch.times
    _path(program, lanes, batches - 1)
    for lane in range(len(machines)):
        for k in range(width):
            averages.exposed[machines[lane], k] = lanes.share[k, lane] / seen
        for n in range(batches if len(totals.makespan) > 0 else 0):
            totals.ends[machines[lane], n] = lanes.ended[n, lane]


@inner
def _path(program: Program, lanes: Lanes, last: int) -> None:
    """Add up the seconds of each task on the critical paths that end with batch `last`."""
    if program.low:
        walk(program, lanes, last)
    else:
        _trace(program, lanes, last)


@inner
def certain(program: Program, lanes: Lanes, lane: int) -> bool:
    """Return whether a lane's times and its critical path are those of the events."""
    return bool(exact(lanes, lane) and ((lanes.tied[lane] == 0.0 and program.log < 0) or moves(lanes, lane)))


@inner
def exact(lanes: Lanes, lane: int) -> bool:
    """Return whether what a lane's machine did is exact: nobody was ready before the one ahead, or at once where it matters."""
    return bool(lanes.gaps[1, lane] > 0.0 and (lanes.gaps[0, lane] > 0.0 or (lanes.gaps[0, lane] == 0.0 and moves(lanes, lane))))


@inner
def moves(lanes: Lanes, lane: int) -> bool:
    """Return whether every task ended after it began: none lasts so little that its start swallows it."""
    return bool(lanes.least[0, lane] > lanes.ended[len(lanes.ended) - 1, lane] * EPSILON)


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
        lanes.path[last_of(program, lanes, last, lane) % len(lanes.path), lane] = 1.0
    for m in range(min(last + ring, batches + program.deep) - 1, -1, -1):
        for later in range(program.deep + 1):
            lanes.begin[later] = (m + lanes.deep - later) % lanes.deep * width
        for i in range(len(program.steps) - 1, -1, -1):
            step = program.steps[i]
            n = m - step.later
            if 0 <= n < batches and step.flags & (SERVE | TRY):
                flat = n * width + step.task
                path, some = lanes.path[flat % len(lanes.path)], 0
                for lane in range(LANES):
                    some += path[lane] > 0.0  # whole numbers are added up side by side, others one after the other
                if some > 0:
                    _blame(program, lanes, step, flat, path)


@inner
def _blame(program: Program, lanes: Lanes, step: Any, flat: int, path: Floats) -> None:
    """Enter a task in the lanes whose path it is on, and put its cause there in its place."""
    width, k, rows = len(program.server), step.task, len(lanes.path)
    ready, end, share = lanes.end[ready_row(program, lanes, step.later, k)], lanes.end[flat], lanes.share[k]
    left, until = lanes.took[0], lanes.until
    _leave(path, end, until, left)
    if program.open[program.server[k]]:
        for lane in range(LANES):
            ahead, begin = lanes.ahead[flat, lane] if step.flags & WAITS else NOBODY, ready[lane]
            share[lane] += left[lane] * (end[lane] - max(begin, until[lane], lanes.end[ahead, lane] if ahead >= 0 else 0.0))
            if ahead >= 0 and lanes.end[ahead, lane] > begin:
                lanes.path[ahead % rows, lane], left[lane] = max(lanes.path[ahead % rows, lane], left[lane]), 0.0
    else:  # the same task was ahead in all lanes
        ahead = lanes.ahead[flat, 0] if step.flags & WAITS else NOBODY
        free = lanes.end[ahead if ahead >= 0 else lanes.deep * width]
        _expose(left, ready, free, until, end, share)
        if ahead >= 0:
            _yield(left, ready, free, lanes.path[ahead % rows])
    for j in range(program.first[k], program.first[k + 1]):
        w = program.waited[j]
        other = flat - k + (w if w < width else w - 2 * width)
        if other >= 0:
            _tie(lanes.took[0], lanes.end[other], ready, lanes.tied)
            _pass(lanes.took[0], lanes.end[other], ready, lanes.path[other % rows])


# Loops of their own, of few rows each: whether more of them overlap is not asked, and they are not done side by side.
@inner
def _leave(path: Floats, end: Floats, until: Floats, left: Floats) -> None:
    """Take a task from the path; `left` is 1 where it was on it, and ended within what is looked at."""
    for lane in range(LANES):
        left[lane] = path[lane] if end[lane] > until[lane] else 0.0
    fill(path, 0.0)


@inner
def _expose(left: Floats, ready: Floats, free: Floats, until: Floats, end: Floats, share: Floats) -> None:
    for lane in range(LANES):
        begin = ready[lane] if ready[lane] > free[lane] else free[lane]
        share[lane] += left[lane] * (end[lane] - (begin if begin > until[lane] else until[lane]))


@inner
def _yield(left: Floats, ready: Floats, free: Floats, path: Floats) -> None:
    """Put the task ahead on the path where it ended after all was ready."""
    for lane in range(LANES):
        path[lane] = left[lane] if free[lane] > ready[lane] and left[lane] > path[lane] else path[lane]
    for lane in range(LANES):
        left[lane] = 0.0 if free[lane] > ready[lane] else left[lane]


@inner
def _tie(left: Floats, end: Floats, ready: Floats, tied: Floats) -> None:
    """Note where more than one ended last."""
    for lane in range(LANES):
        tied[lane] = 1.0 if end[lane] == ready[lane] and left[lane] == 2.0 else tied[lane]


@inner
def _pass(left: Floats, end: Floats, ready: Floats, path: Floats) -> None:
    """Put what ended last on the path; `left` is 1 where there is no cause yet, 2 where there is one."""
    for lane in range(LANES):
        hit = end[lane] == ready[lane]
        path[lane] = 1.0 if hit and left[lane] == 1.0 else path[lane]
        left[lane] = 2.0 if hit and left[lane] > 0.0 else left[lane]


@inner
def total_lane(
    program: Program,
    lanes: Lanes,
    lane: int,
    kind: Ints,
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
        for k in range(width):
            if program.rank[k] == BACKGROUND:
                totals.makespan[p] = max(totals.makespan[p], lanes.end[len(lanes.ahead) - width + k, lane])
        totals.makespan[p] += stretch.times * (totals.ends[p, stretch.last] - totals.ends[p, stretch.first])
        enter(accounts, taken, sums, p, totals, program.log)
        for d in range(len(accounts.task)):
            if accounts.task[d] == program.log:
                enter_whole_log(kind, accounts, taken, p, d, totals)
    for flat in range(len(lanes.ahead) if len(totals.start) > 0 else 0):
        n, k = flat // width, flat % width
        begin, ahead = 0.0, lanes.ahead[flat, lane]
        for j in range(program.first[k], program.first[k + 1]):
            w = program.waited[j]
            other = n * width + (w if w < width else w - 2 * width)
            begin = max(begin, lanes.end[other, lane] if other >= 0 else 0.0)
        totals.start[p, n, k] = max(begin, lanes.end[ahead, lane] if ahead >= 0 else 0.0)
        totals.end[p, n, k] = lanes.end[flat, lane]
