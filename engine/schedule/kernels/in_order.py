"""Schedules of many machines at once by a program of steps: maxima and sums instead of events, exact or refused.

The order in which servers take tasks mostly follows from the graph alone (schedule/service). Then a task starts when what it
waits for and the task before it on its server have ended; where times decide who is first, they do so machine by machine.
Each machine is exact if tasks were served by when they became ready, and ties as events have them: at one instant whoever
is ready is served by batch, then position, but where some task takes no time, one instant has several rounds of choices; a
machine with both is refused, unless who is first is certain. The times of the others are those of the events, to the bit.
"""

from typing import Any

import numpy as np

from ...core.arrays import Floats, Ints
from ...core.jit import inner
from .lanes import KEEPS, LANES, LAST, OPEN, READY, STRICT, TRY, WAITS, YIELDS, Lanes, Program, copy, fill, later_of, ready_row
from .template import NOBODY, SECONDS, Accounts, Taken


@inner
def follow(program: Program, kind: Ints, accounts: Accounts, taken: Taken, machines: Ints, lanes: Lanes) -> None:
    """Let up to LANES machines run the program."""
    width, batches = len(program.server), len(kind)
    _durations(accounts, taken, machines, lanes)
    _start_over(lanes)
    for m in range(batches + program.deep):
        for later in range(program.deep + 1):  # where the rows of batches begin
            lanes.begin[later] = (m + lanes.deep - later) % lanes.deep * width
        for i in range(len(program.steps)):
            step = program.steps[i]
            n, k = m - step.later, step.task
            if n < 0 or n >= batches:
                continue
            if step.flags & OPEN:
                _open(program, lanes, step, n, batches, lanes.lasts[k, kind[n]])
            else:
                _next(program, lanes, step, n, lanes.lasts[k, kind[n]])
    for n in range(1, batches):
        later_of(lanes.ended[n], lanes.ended[n - 1])


@inner
def _next(program: Program, lanes: Lanes, step: Any, n: int, lasts: Floats) -> None:
    """Serve a task that is sure to be its server's next one."""
    width, k = len(program.server), step.task
    server, ready = program.server[k], lanes.end[ready_row(program, lanes, step.later, k)]
    end = lanes.end[lanes.begin[step.later] + k]
    _note(lanes, step.flags, server, n * width + k, lanes.ahead[n * width + k])
    if step.flags & STRICT:
        _check(ready, lanes.last[server], lanes.gaps[1])
    if step.flags & WAITS:
        _serve_after(ready, lanes.end[lanes.free[server]], lasts, lanes.same[k], end)
    else:
        _serve(ready, lasts, lanes.same[k], end)
    if step.flags & KEEPS:
        _keep(program, lanes, server, lanes.begin[step.later] + k, ready)
    if step.flags & LAST:
        later_of(lanes.ended[n], end)


@inner
def _keep(program: Program, lanes: Lanes, server: int, row: int, ready: Floats) -> None:
    """Keep whom a server served last: in which row its end is or, where that is not the same task in all lanes, the end."""
    own = lanes.deep * len(program.server) + 2 + server
    lanes.free[server] = own if program.open[server] else row
    if program.open[server]:
        copy(lanes.end[row], lanes.end[own])
    copy(ready, lanes.last[server])


@inner
def _open(program: Program, lanes: Lanes, step: Any, n: int, batches: int, lasts: Floats) -> None:
    """Do a step of a task that is not sure to come before or after another."""
    width, k = len(program.server), step.task
    mine, server = lanes.pending[n % program.deep * width + k], program.server[k]
    if step.flags & READY:
        copy(lanes.end[ready_row(program, lanes, step.later, k)], mine)
        return
    free = lanes.deep * width + 2 + server
    row, other = lanes.begin[step.later] + k, lanes.pending[n % program.deep * width + k]
    if step.flags & TRY:
        batch = n + step.other // width - 1
        if batch >= batches or batch < 0:
            return
        other = lanes.pending[batch % program.deep * width + step.other % width]
    for lane in range(LANES):
        ready, rival = mine[lane], other[lane]
        goes = ready < np.inf
        if step.flags & TRY:
            goes = ready < rival < np.inf or (ready == rival < np.inf and not step.flags & YIELDS)
            lanes.gaps[0, lane] = 0.0 if ready == rival < np.inf else lanes.gaps[0, lane]
        if goes:
            if step.flags & STRICT:
                lanes.gaps[1, lane] = min(lanes.gaps[1, lane], ready - lanes.last[server, lane])
            end = max(ready, lanes.end[free, lane]) + lasts[0 if lanes.same[k] else lane]
            lanes.ahead[row, lane], lanes.who[server, lane] = lanes.who[server, lane], row
            lanes.end[row, lane], lanes.end[free, lane], lanes.last[server, lane] = end, end, ready
            mine[lane] = np.inf
            if step.flags & LAST:
                lanes.ended[n, lane] = max(lanes.ended[n, lane], end)


@inner
def _serve(start: Floats, lasts: Floats, same: bool, end: Floats) -> None:
    if same:
        took = lasts[0]
        for lane in range(LANES):
            end[lane] = start[lane] + took
    else:
        for lane in range(LANES):
            end[lane] = start[lane] + lasts[lane]


@inner
def _serve_after(ready: Floats, free: Floats, lasts: Floats, same: bool, end: Floats) -> None:
    if same:
        took = lasts[0]
        for lane in range(LANES):
            end[lane] = (ready[lane] if ready[lane] > free[lane] else free[lane]) + took
    else:
        for lane in range(LANES):
            end[lane] = (ready[lane] if ready[lane] > free[lane] else free[lane]) + lasts[lane]


@inner
def _check(ready: Floats, last: Floats, gaps: Floats) -> None:
    """Keep the least seconds that a task was ready after the one before it on its server."""
    for lane in range(LANES):
        gap = ready[lane] - last[lane]
        gaps[lane] = gap if gap < gaps[lane] else gaps[lane]


@inner
def _note(lanes: Lanes, flags: int, server: int, flat: int, ahead: Ints) -> None:
    """Note which task was served before, where it may be one that has ended later than the task was ready."""
    for lane in range(LANES):
        ahead[lane] = lanes.who[server, lane] if flags & WAITS else NOBODY
        lanes.who[server, lane] = flat if flags & KEEPS else lanes.who[server, lane]


@inner
def _start_over(lanes: Lanes) -> None:
    for row in range(len(lanes.end)):
        fill(lanes.end[row], 0.0)
    width = (len(lanes.end) - 2 - len(lanes.free)) // lanes.deep
    for server in range(len(lanes.free)):
        lanes.free[server] = lanes.deep * width + 2 + server
        fill(lanes.last[server], -np.inf)
        for lane in range(LANES):
            lanes.who[server, lane] = NOBODY
    for n in range(len(lanes.ended)):
        fill(lanes.ended[n], 0.0)
    for which in range(len(lanes.gaps)):
        fill(lanes.gaps[which], np.inf)


@inner
def _durations(accounts: Accounts, taken: Taken, machines: Ints, lanes: Lanes) -> None:
    """A task lasts as long as its slowest demand, the SAME in all lanes or not; keep the least that any lasts."""
    fill(lanes.least[0], np.inf)
    for k in range(len(lanes.same)):
        lanes.same[k] = True
    for d in range(len(accounts.task)):
        for lane in range(LANES):
            lanes.rows[d, lane] = taken.column[SECONDS, d, machines[min(lane, len(machines) - 1)]]
            lanes.same[accounts.task[d]] &= lanes.rows[d, lane] == lanes.rows[d, 0]
    for d in range(len(accounts.task)):
        k, more = accounts.task[d], d > 0 and accounts.task[d - 1] == accounts.task[d]
        for r in range(lanes.lasts.shape[1]):
            lasts = lanes.lasts[k, r]
            for lane in range(1 if lanes.same[k] else LANES):
                took = taken.costs[r, lanes.rows[d, lane]]
                lasts[lane] = max(lasts[lane], took) if more else took
            if lanes.same[k]:
                _sooner(lanes.least[0], lasts[0])
            else:
                for lane in range(LANES):
                    lanes.least[0, lane] = min(lanes.least[0, lane], lasts[lane])


@inner
def _sooner(to: Floats, took: float) -> None:
    for lane in range(LANES):
        to[lane] = to[lane] if to[lane] < took else took
