"""The critical paths of machines in lanes, found step by step back."""

from typing import Any

from ...core.arrays import Floats
from ...core.jit import inner, shared
from .lanes import SERVE, TRY, WAITS, Lanes, Program, fill, ready_row
from .template import NOBODY
from .walk import last_of

NONE, SOME, ALL = range(3)  # of the lanes


@shared
def trace(program: Program, lanes: Lanes, last: int) -> None:
    """Add up the seconds of each task on the critical path that ends with batch `last`, as `expose` does, step by step back.

    The cause of a start is the task before on the server, where that ended after all was ready; else what ended last.
    Of several that ended at once events take them server by server, in the same round; lanes with such are `tied`.
    Most tasks are on the path of all lanes or of none, which `on` tells; which lanes others are on says a row of `path`.
    """
    batches, width, rows = len(lanes.ended), len(program.server), len(lanes.path)
    for row in range(rows):
        fill(lanes.path[row], 0.0)
    for flat in range(len(lanes.on)):
        lanes.on[flat] = NONE
    for lane in range(lanes.wide):
        flat = last_of(program, lanes, last, lane)
        lanes.on[flat], lanes.path[flat % rows, lane] = SOME, 1.0
    for m in range(min(last + rows // width, batches + program.deep) - 1, -1, -1):
        for later in range(program.deep + 1):
            lanes.begin[later] = (m + lanes.deep - later) % lanes.deep * width
        for i in range(len(program.steps) - 1, -1, -1):
            step = program.steps[i]
            n = m - step.later
            if 0 <= n < batches and step.flags & (SERVE | TRY) and lanes.on[n * width + step.task] != NONE:
                _visit(program, lanes, step, n * width + step.task)


@inner
def _visit(program: Program, lanes: Lanes, step: Any, flat: int) -> None:
    which, path = lanes.on[flat], lanes.path[flat % len(lanes.path)]
    lanes.on[flat] = NONE
    some = lanes.wide if which == ALL else _count(path)
    if some == lanes.wide and _blame_all(program, lanes, step, flat):
        if which == SOME:
            fill(path, 0.0)
    elif some > 0:
        if which == ALL:
            fill(path, 1.0)
        _blame(program, lanes, step, flat, path)


@inner
def _blame_all(program: Program, lanes: Lanes, step: Any, flat: int) -> bool:
    """Enter a task that is on the path of all lanes, and put its cause there, if it is the same in all; returns whether."""
    width, k, cause, late = len(program.server), step.task, NOBODY, 0
    if program.open[program.server[k]]:
        return False
    end, begin = lanes.end[flat], lanes.end[ready_row(program, lanes, step.later, k)]
    ahead = lanes.ahead[flat, 0] if step.flags & WAITS else NOBODY
    if ahead >= 0:
        late = _later(lanes.end[ahead], begin)
        if 0 < late < lanes.wide:
            return False
    if late > 0:
        cause, begin = ahead, lanes.end[ahead]
    else:
        first, stop = program.first[k], program.first[k + 1]
        for j in range(first, stop):
            w = program.waited[j]
            other = flat - k + (w if w < width else w - 2 * width)
            if other >= 0:
                hits = lanes.wide if stop == first + 1 else _equal(lanes.end[other], begin)
                if 0 < hits < lanes.wide or (hits > 0 and cause >= 0):
                    return False
                cause = other if hits > 0 else cause
    _expose_all(begin, lanes.until, end, lanes.share[k])
    if cause >= 0 and (end[0] > lanes.until[0] or _later(end, lanes.until) > 0):
        lanes.on[cause] = ALL
    return True


@inner
def _blame(program: Program, lanes: Lanes, step: Any, flat: int, path: Floats) -> None:
    """Enter a task in the lanes whose path it is on, and put its cause there in its place."""
    width, k, rows = len(program.server), step.task, len(lanes.path)
    ready, end, share = lanes.end[ready_row(program, lanes, step.later, k)], lanes.end[flat], lanes.share[k]
    left, until = lanes.took[0], lanes.until
    _leave(path, end, until, left)
    if program.open[program.server[k]]:
        for lane in range(lanes.wide):
            ahead, begin = lanes.ahead[flat, lane] if step.flags & WAITS else NOBODY, ready[lane]
            share[lane] += left[lane] * (end[lane] - max(begin, until[lane], lanes.end[ahead, lane] if ahead >= 0 else 0.0))
            if ahead >= 0 and lanes.end[ahead, lane] > begin:
                lanes.on[ahead], lanes.path[ahead % rows, lane] = SOME, max(lanes.path[ahead % rows, lane], left[lane])
                left[lane] = 0.0
    else:  # the same task was ahead in all lanes
        ahead = lanes.ahead[flat, 0] if step.flags & WAITS else NOBODY
        free = lanes.end[ahead if ahead >= 0 else lanes.deep * width]
        _expose(left, ready, free, until, end, share)
        if ahead >= 0:
            lanes.on[ahead] = SOME
            _yield(left, ready, free, lanes.path[ahead % rows])
    for j in range(program.first[k], program.first[k + 1]):
        w = program.waited[j]
        other = flat - k + (w if w < width else w - 2 * width)
        if other >= 0:
            lanes.on[other] = SOME
            _tie(lanes.took[0], lanes.end[other], ready, lanes.tied)
            _pass(lanes.took[0], lanes.end[other], ready, lanes.path[other % rows])


# Loops of their own, of few rows each: whether more of them overlap is not asked, and they are not done side by side.
@inner
def _count(path: Floats) -> int:
    some = 0
    for lane in range(len(path)):
        some += path[lane] > 0.0  # whole numbers are added up side by side, others one after the other
    return some


@inner
def _later(one: Floats, other: Floats) -> int:
    some = 0
    for lane in range(len(one)):
        some += one[lane] > other[lane]
    return some


@inner
def _equal(one: Floats, other: Floats) -> int:
    some = 0
    for lane in range(len(one)):
        some += one[lane] == other[lane]
    return some


@inner
def _expose_all(begin: Floats, until: Floats, end: Floats, share: Floats) -> None:
    for lane in range(len(end)):
        low = begin[lane] if begin[lane] > until[lane] else until[lane]
        share[lane] += (end[lane] if end[lane] > until[lane] else until[lane]) - low


@inner
def _leave(path: Floats, end: Floats, until: Floats, left: Floats) -> None:
    """Take a task from the path; `left` is 1 where it was on it, and ended within what is looked at."""
    for lane in range(len(path)):
        left[lane] = path[lane] if end[lane] > until[lane] else 0.0
    fill(path, 0.0)


@inner
def _expose(left: Floats, ready: Floats, free: Floats, until: Floats, end: Floats, share: Floats) -> None:
    for lane in range(len(end)):
        begin = ready[lane] if ready[lane] > free[lane] else free[lane]
        share[lane] += left[lane] * (end[lane] - (begin if begin > until[lane] else until[lane]))


@inner
def _yield(left: Floats, ready: Floats, free: Floats, path: Floats) -> None:
    """Put the task ahead on the path where it ended after all was ready."""
    for lane in range(len(path)):
        path[lane] = left[lane] if free[lane] > ready[lane] and left[lane] > path[lane] else path[lane]
    for lane in range(len(path)):
        left[lane] = 0.0 if free[lane] > ready[lane] else left[lane]


@inner
def _tie(left: Floats, end: Floats, ready: Floats, tied: Floats) -> None:
    """Note where more than one ended last."""
    for lane in range(len(end)):
        tied[lane] = 1.0 if end[lane] == ready[lane] and left[lane] == 2.0 else tied[lane]


@inner
def _pass(left: Floats, end: Floats, ready: Floats, path: Floats) -> None:
    """Put what ended last on the path; `left` is 1 where there is no cause yet, 2 where there is one."""
    for lane in range(len(end)):
        hit = end[lane] == ready[lane]
        path[lane] = 1.0 if hit and left[lane] == 1.0 else path[lane]
        left[lane] = 2.0 if hit and left[lane] > 0.0 else left[lane]
