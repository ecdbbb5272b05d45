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
from ...core.jit import inner, shared
from .interrupted import note_low
from .lanes import KEEPS, LAST, LOW, OPEN, READY, STRICT, TRY, WAITS, YIELDS, Lanes, Program, copy, fill, later_of, ready_row
from .template import NOBODY, SECONDS, Accounts, Taken


@inner
def follow(program: Program, kind: Ints, accounts: Accounts, taken: Taken, machines: Ints, lanes: Lanes) -> None:
    """Let machines run the program, at most one a lane."""
    width, batches = len(program.server), len(kind)
    _durations(accounts, taken, machines, lanes)
    _start_over(lanes)
    for m in range(batches + program.deep):
        for later in range(program.deep + 1):  # where the rows of batches begin
            lanes.begin[later] = (m + lanes.deep - later) % lanes.deep * width
        for i in range(len(program.steps)):
            step = program.steps[i]
            n = m - step.later
            if n < 0 or n >= batches:
                continue
            if step.flags & LOW:
                note_low(program, lanes, kind, step, n)
            elif step.flags & OPEN:
                _open(program, lanes, step, n, batches, kind[n])
            else:
                _next(program, lanes, step, n, kind[n])
    for n in range(1, batches):
        later_of(lanes.ended[n], lanes.ended[n - 1])


@inner
def _next(program: Program, lanes: Lanes, step: Any, n: int, r: int) -> None:
    """Serve a task that is sure to be its server's next one."""
    width, k = len(program.server), step.task
    server, ready = program.server[k], lanes.end[ready_row(program, lanes, step.later, k)]
    end = lanes.end[lanes.begin[step.later] + k]
    _note(lanes, step.flags, server, n * width + k, lanes.wide if program.open[server] else 1)
    if step.flags & STRICT:
        _check(ready, lanes.last[server], lanes.gaps[1])
    if step.flags & WAITS:
        _serve_after(ready, lanes.end[lanes.free[server]], lanes.lasts[k, r], lanes.same[k], lanes.once[k, r], end)
    else:
        _serve(ready, lanes.lasts[k, r], lanes.same[k], lanes.once[k, r], end)
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
def _open(program: Program, lanes: Lanes, step: Any, n: int, batches: int, r: int) -> None:
    """Do a step of a task that is not sure to come before or after another."""
    width, k = len(program.server), step.task
    mine, server = lanes.pending[n % program.deep * width + k], program.server[k]
    if step.flags & READY:
        copy(lanes.end[ready_row(program, lanes, step.later, k)], mine)
        return
    free = lanes.deep * width + 2 + server
    row, other = lanes.begin[step.later] + k, lanes.pending[n % program.deep * width + k]
    if step.flags & TRY:
        flat = n * width + step.other
        if flat < 0 or flat >= batches * width:
            return
        other = lanes.pending[flat % len(lanes.pending)]
    for lane in range(lanes.wide):
        ready, rival = mine[lane], other[lane]
        goes = ready < np.inf
        if step.flags & TRY:
            goes = ready < rival < np.inf or (ready == rival < np.inf and not step.flags & YIELDS)
            lanes.gaps[0, lane] = 0.0 if ready == rival < np.inf else lanes.gaps[0, lane]
        if goes:
            if step.flags & STRICT:
                lanes.gaps[1, lane] = min(lanes.gaps[1, lane], ready - lanes.last[server, lane])
            end = max(ready, lanes.end[free, lane]) + (lanes.once[k, r] if lanes.same[k] else lanes.lasts[k, r, lane])
            lanes.ahead[row, lane], lanes.who[server, lane] = lanes.who[server, lane], row
            lanes.end[row, lane], lanes.end[free, lane], lanes.last[server, lane] = end, end, ready
            mine[lane] = np.inf
            if step.flags & LAST:
                lanes.ended[n, lane] = max(lanes.ended[n, lane], end)


@inner
def _serve(start: Floats, lasts: Floats, same: bool, once: float, end: Floats) -> None:
    if same:
        for lane in range(len(end)):
            end[lane] = start[lane] + once
    else:
        for lane in range(len(end)):
            end[lane] = start[lane] + lasts[lane]


@inner
def _serve_after(ready: Floats, free: Floats, lasts: Floats, same: bool, once: float, end: Floats) -> None:
    if same:
        for lane in range(len(end)):
            end[lane] = (ready[lane] if ready[lane] > free[lane] else free[lane]) + once
    else:
        for lane in range(len(end)):
            end[lane] = (ready[lane] if ready[lane] > free[lane] else free[lane]) + lasts[lane]


@inner
def _check(ready: Floats, last: Floats, gaps: Floats) -> None:
    """Keep the least seconds that a task was ready after the one before it on its server."""
    for lane in range(len(gaps)):
        gap = ready[lane] - last[lane]
        gaps[lane] = gap if gap < gaps[lane] else gaps[lane]


@inner
def _note(lanes: Lanes, flags: int, server: int, flat: int, different: int) -> None:
    """Note who was served before, in `different` lanes, where that may be a task that has ended later than this one was ready."""
    for lane in range(different):
        lanes.ahead[flat, lane] = lanes.who[server, lane] if flags & WAITS else NOBODY
        lanes.who[server, lane] = flat if flags & KEEPS else lanes.who[server, lane]


@shared
def _start_over(lanes: Lanes) -> None:
    width = (len(lanes.end) - 2 - len(lanes.free)) // lanes.deep
    for row in range((lanes.deep - 1) * width, len(lanes.end)):  # the batch before the first, and those that belong to none
        fill(lanes.end[row], 0.0)
    for server in range(len(lanes.free)):
        lanes.free[server] = lanes.deep * width + 2 + server
        lanes.known[server] = 0
        fill(lanes.last[server], -np.inf)
        fill(lanes.done[server], 0.0)
        fill(lanes.left[server], -1.0)
        for lane in range(lanes.wide):
            lanes.who[server, lane], lanes.at[server, lane] = NOBODY, 0
    for n in range(len(lanes.ended)):
        fill(lanes.ended[n], 0.0)
    for which in range(len(lanes.gaps)):
        fill(lanes.gaps[which], np.inf)


@shared
def _durations(accounts: Accounts, taken: Taken, machines: Ints, lanes: Lanes) -> None:
    """A task lasts as long as its slowest demand, the SAME in all lanes or not; keep the least that any lasts."""
    for k in range(len(lanes.same)):
        lanes.same[k] = True
    for d in range(len(accounts.task)):
        for lane in range(lanes.wide):
            lanes.rows[d, lane] = taken.column[SECONDS, d, machines[min(lane, len(machines) - 1)]]
            lanes.same[accounts.task[d]] &= lanes.rows[d, lane] == lanes.rows[d, 0]
    for d in range(len(accounts.task)):
        k, more = accounts.task[d], d > 0 and accounts.task[d - 1] == accounts.task[d]
        _take(lanes.rows[d], taken.costs, lanes.lasts[k], lanes.same[k], lanes.once[k], more)
    fill(lanes.least[0], np.inf)
    least = np.inf
    for k in range(len(lanes.same)):
        for r in range(lanes.once.shape[1]):
            if lanes.same[k]:
                least = min(least, lanes.once[k, r])
            else:
                _sooner_of(lanes.least[0], lanes.lasts[k, r])
    for lane in range(lanes.wide):
        lanes.least[0, lane] = min(lanes.least[0, lane], least)


@inner
def _take(columns: Ints, costs: Floats, lasts: Floats, same: bool, once: Floats, more: bool) -> None:
    """Let a task last as long as a demand in these columns or, if there are `more`, as the slower one."""
    first, apart = columns[0], 0
    for lane in range(len(columns)):
        apart += columns[lane] != first + lane
    for r in range(len(costs)):
        if same:
            once[r] = max(once[r], costs[r, first]) if more else costs[r, first]
        elif apart == 0 and not more:
            copy(costs[r, first : first + len(columns)], lasts[r])
        else:
            for lane in range(len(columns)):
                took = costs[r, columns[lane]]
                lasts[r, lane] = max(lasts[r, lane], took) if more else took


@inner
def _sooner_of(to: Floats, other: Floats) -> None:
    for lane in range(len(to)):
        to[lane] = to[lane] if to[lane] < other[lane] else other[lane]
