"""A schedule of equal batches repeats itself: once its state comes back, the turns in between are filled in, not simulated.

Whenever a batch has been completed, the state is compared with one kept from before (Brent's search for a cycle: the kept
one is replaced after 1, 2, 4, 8, ... batches). What will happen depends on nothing but the state: which tasks of the batches
under way wait for how much, run, or have ended, how long ago those that queue became ready, and where the rolling log
is. If that is the same, up to rounding, but for the number of the batch and the time, the future is the past over again.
"""

from typing import Any, NamedTuple

import numpy as np

from engine.template import ACTIVE, GATE_ON, NEWEST, READY, WAITING, Floats, Ints, kernel

DEPTH = 16  # batches under way at once that are looked at; of more, nothing is looked for
READY_AGO, LEFT = range(2)
WAITS, BEGUN, ENDED = range(3)
RUNNING, LAST = range(2)
LOW, ROWS, CHECKS, NEXT, LEAPT = range(5)
CLOSE, ROUNDING = 1e-12, 1e-15  # of a turn, and of all the time so far


class Past(NamedTuple):
    """A state as it was kept: rows are batches from the first under way; `at` is its time, `counts` are named above."""

    times: Floats
    marks: Ints
    finish: Floats
    servers: Ints
    roll: Ints
    at: Floats
    counts: Ints


def nothing_kept(tasks: int, servers: int) -> Past:
    """Return room for a state."""
    return Past(
        times=np.zeros((2, DEPTH, tasks)),
        marks=np.zeros((3, DEPTH, tasks), dtype=np.int64),
        finish=np.zeros(servers),
        servers=np.zeros((2, servers), dtype=np.int64),
        roll=np.zeros(5, dtype=np.int64),
        at=np.zeros(2),
        counts=np.array([0, 0, 0, 1, 0], dtype=np.int64),
    )


@kernel
def forget(past: Any) -> None:
    """Begin the search anew."""
    for i in range(len(past.counts)):
        past.counts[i] = i == NEXT


@kernel
def leap(g: Any, s: Any, past: Any, low: int, now: float) -> int:
    """Return how many batches could be passed over, filled in, now that all before `low` are complete; 0 as a rule."""
    high, batches = low, s.start.shape[0]
    if low + 1 >= batches or g.alike[low] != g.alike[low + 1]:
        return 0
    while high < batches and _touched(g, s, high):
        high += 1
    rows = high - low
    if rows > DEPTH or high == batches:
        return 0
    past.counts[CHECKS] += 1
    turn, skipped = low - past.counts[LOW], 0
    if past.counts[CHECKS] > 1 and _same(g, s, past, low, rows, now):
        last = high - 1
        while last + turn < batches and g.alike[last + turn] == g.alike[past.counts[LOW]]:
            last += turn
        skipped = last - high + 1
        past.counts[LEAPT] = 1
        if skipped:
            _fill(g, s, past, high, turn, skipped, now)
            _shift(g, s, low, high, skipped, skipped // turn * (now - past.at[0]))
    elif past.counts[CHECKS] == past.counts[NEXT]:
        past.counts[NEXT] *= 2
        _keep(g, s, past, low, rows, now)
    return skipped


@kernel
def _touched(g: Any, s: Any, batch: int) -> bool:
    for k in range(s.start.shape[1]):
        if s.waits[batch, k] != g.needs[k]:
            return True
    return False


@kernel
def _relative(flat: int, offset: int) -> int:
    """Return a flat index, or a batch, as counted from the first under way; none stays none."""
    return flat - offset if flat >= 0 else -(2**40)


@kernel
def _keep(g: Any, s: Any, past: Any, low: int, rows: int, now: float) -> None:
    width = s.start.shape[1]
    for r in range(rows):
        for k in range(width):
            past.times[READY_AGO, r, k], past.times[LEFT, r, k] = now - s.ready[low + r, k], s.left[low + r, k]
            past.marks[WAITS, r, k] = s.waits[low + r, k]
            past.marks[BEGUN, r, k] = not np.isnan(s.start[low + r, k])
            past.marks[ENDED, r, k] = not np.isnan(s.end[low + r, k])
    for server in range(g.servers):
        past.finish[server] = s.finish[server] - now
        past.servers[RUNNING, server] = _relative(s.running[server], low * width)
        past.servers[LAST, server] = _relative(s.last[server], low * width)
    for slot in (ACTIVE, NEWEST, READY, WAITING):
        past.roll[slot] = _relative(s.roll[slot], low)
    past.roll[GATE_ON] = s.roll[GATE_ON]
    past.at[0] = now
    past.at[1] = s.left[s.roll[ACTIVE], g.roll] if s.roll[ACTIVE] >= 0 else 0.0
    past.counts[LOW], past.counts[ROWS] = low, rows


@kernel
def _same(g: Any, s: Any, past: Any, low: int, rows: int, now: float) -> bool:
    before, width = past.counts[LOW], s.start.shape[1]
    close = CLOSE * (now - past.at[0]) + ROUNDING * now
    if rows != past.counts[ROWS] or low == before or g.alike[before] != g.alike[low + rows - 1 if rows else low]:
        return False
    if g.roll >= 0 and not _same_log(g, s, past, low, close):
        return False
    for server in range(g.servers):
        if _relative(s.running[server], low * width) != past.servers[RUNNING, server]:
            return False
        if _relative(s.last[server], low * width) != past.servers[LAST, server]:
            return False
        if s.running[server] >= 0 and abs(s.finish[server] - now - past.finish[server]) > close:
            return False
    return _same_tasks(s, past, low, rows, now, close)


@kernel
def _same_log(g: Any, s: Any, past: Any, low: int, close: float) -> bool:
    for slot in (ACTIVE, NEWEST, READY, WAITING):
        if _relative(s.roll[slot], low) != past.roll[slot]:
            return False
    left = s.left[s.roll[ACTIVE], g.roll] if s.roll[ACTIVE] >= 0 else 0.0
    return s.roll[GATE_ON] == past.roll[GATE_ON] and abs(left - past.at[1]) <= close


@kernel
def _same_tasks(s: Any, past: Any, low: int, rows: int, now: float, close: float) -> bool:
    for r in range(rows):
        for k in range(s.start.shape[1]):
            waits, begun, ended = s.waits[low + r, k], not np.isnan(s.start[low + r, k]), not np.isnan(s.end[low + r, k])
            if waits != past.marks[WAITS, r, k] or begun != past.marks[BEGUN, r, k] or ended != past.marks[ENDED, r, k]:
                return False
            if ended or waits > 0:
                continue
            if abs(now - s.ready[low + r, k] - past.times[READY_AGO, r, k]) > close:
                return False
            if abs(s.left[low + r, k] - past.times[LEFT, r, k]) > close:
                return False
    return True


@kernel
def _fill(g: Any, s: Any, past: Any, high: int, turn: int, skipped: int, now: float) -> None:
    """Repeat what happened since the kept state, once for each turn that is passed over."""
    then, width = past.at[0], s.start.shape[1]
    first = past.counts[LOW] + min(past.roll[ACTIVE], 0) if past.roll[ACTIVE] > -(2**40) else past.counts[LOW]
    for times in (READY, WAITING):  # first when tasks became ready, then when they began: the later cause stays
        for r in range(first, high):
            for k in range(width):
                for j in range(turn, skipped + 1, turn):
                    later, cause = j // turn * (now - then), s.cause[r, k] + j * width
                    if times == READY and then < s.ready[r, k] <= now:
                        s.ready[r + j, k], s.cause[r + j, k] = s.ready[r, k] + later, cause
                    elif times == WAITING and then < s.start[r, k] <= now:
                        s.start[r + j, k], s.cause[r + j, k] = s.start[r, k] + later, cause
                    if times == WAITING and then < s.end[r, k] <= now:
                        s.end[r + j, k] = s.end[r, k] + later
    if g.roll >= 0:
        let_go = s.roll[READY] - (s.roll[WAITING] >= 0)
        for r in range(let_go + 1, let_go + 1 + skipped):
            s.stale[r] = s.stale[r - turn]


@kernel
def _shift(g: Any, s: Any, low: int, high: int, skipped: int, later: float) -> None:
    """Let the batches under way be those `skipped` on, and the time `later`."""
    width = s.start.shape[1]
    for r in range(high - 1, low - 1, -1):
        for k in range(width):
            s.left[r + skipped, k], s.waits[r + skipped, k] = s.left[r, k], s.waits[r, k]
    if s.roll[ACTIVE] >= 0:
        s.left[s.roll[ACTIVE] + skipped, g.roll] = s.left[s.roll[ACTIVE], g.roll]
    for server in range(g.servers):
        s.finish[server] += later
        s.since[server] += later
        s.running[server] += skipped * width if s.running[server] >= 0 else 0
        s.last[server] += skipped * width if s.last[server] >= 0 else 0
    for line in range(2 * g.servers):
        for i in range(s.queued[line]):
            s.queue[line, i] += skipped * width
    if g.roll >= 0:
        for slot in (ACTIVE, NEWEST, READY, WAITING):
            s.roll[slot] += skipped if s.roll[slot] >= 0 else 0
