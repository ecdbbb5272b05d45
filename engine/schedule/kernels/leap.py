"""Leaps over the turns of a schedule that repeat: what happened in one is filled in for the others, as if simulated."""

from typing import Any

from .periodic import (
    ADVANCED,
    ALIKE,
    CHECKS,
    DEPTH,
    DIFFERS,
    LEAPT,
    LOW,
    NEXT,
    NONE,
    forget,
    keep,
    left_of_log,
    same_batches,
    same_log,
)
from .template import ACTIVE, NEWEST, READY, WAITING, kernel


@kernel
def leap(g: Any, s: Any, past: Any, low: int, now: float) -> int:
    """Return how many batches could be passed over, filled in, now that all before `low` are complete; 0 as a rule."""
    if low + 1 >= s.start.shape[0] or g.alike[low] != g.alike[low + 1]:
        return 0
    past.counts[CHECKS] += 1
    due = past.counts[CHECKS] == past.counts[NEXT]
    how = same_log(g, s, past, low, now) if past.counts[CHECKS] > 1 else DIFFERS
    if how == DIFFERS and not due:
        return 0
    high, skipped = _high(g, s, low), 0
    if high - low > DEPTH or high == s.start.shape[0]:
        return 0
    if how != DIFFERS and same_batches(g, s, past, low, high - low, now):
        skipped = _leap(g, s, past, low, high, how, now)
    if skipped == 0 and due:
        past.counts[NEXT] *= 2
        keep(g, s, past, low, high - low, now)
    return skipped


@kernel
def _leap(g: Any, s: Any, past: Any, low: int, high: int, how: int, now: float) -> int:
    left, turn = past.at[1] - left_of_log(g, s, now), low - past.counts[LOW]
    turns = _turns(g, s, past, high, turn, how, left, now)
    if turns > 0:
        _fill(g, s, past, high, turn, turns, how, now)
        _shift(g, s, low, high, turns * turn, turns * (now - past.at[0]), how, turns * left, now)
    if how == ALIKE:
        past.counts[LEAPT] = 1
    elif turns > 0:
        forget(past)
    return int(turns * turn)


@kernel
def _turns(g: Any, s: Any, past: Any, high: int, turn: int, how: int, left: float, now: float) -> int:
    """Return how many turns can be passed over: as far as batches are alike, and a log that only advanced goes on."""
    last, turns = high - 1, 0
    while last + turn < s.start.shape[0] and g.alike[last + turn] == g.alike[past.counts[LOW]]:
        last += turn
        turns += 1
    if how == ADVANCED:
        turns = min(turns, (s.roll[NEWEST] + g.bound - s.roll[READY]) // turn)
        turns = min(turns, int(left_of_log(g, s, now) / left) - 1) if left > 0 else turns
    return max(turns, 0)


@kernel
def _high(g: Any, s: Any, low: int) -> int:
    """Return the first batch that nothing has touched yet."""
    high = low
    while high < s.start.shape[0]:
        k = 0
        while k < s.start.shape[1] and s.waits[high, k] == g.needs[k]:
            k += 1
        if k == s.start.shape[1]:
            break
        high += 1
    return high


@kernel
def _fill(g: Any, s: Any, past: Any, high: int, turn: int, turns: int, how: int, now: float) -> None:
    """Repeat what happened since the kept state, once for each turn that is passed over."""
    then, width, log = past.at[0], s.start.shape[1], past.roll[ACTIVE]
    first = past.counts[LOW] + (log if how == ALIKE and NONE < log < 0 else 0)
    for beginning in (False, True):  # first when tasks became ready, then when they began: the later cause stays
        for r in range(first, high):
            for k in range(width):
                _repeat(s, r, k, turn, turns, then, now, beginning)
    if g.roll >= 0:
        let_go = s.roll[READY] - (s.roll[WAITING] >= 0)
        for r in range(let_go + 1, let_go + 1 + turns * turn):
            s.stale[r] = s.stale[r - turn] + (turn if how == ADVANCED else 0)


@kernel
def _repeat(s: Any, r: int, k: int, turn: int, turns: int, then: float, now: float, beginning: bool) -> None:
    """Repeat what happened to a task since `then`: either that it became ready, or that it began or ended."""
    width = s.start.shape[1]
    at = s.start[r, k] if beginning else s.ready[r, k]
    happened = then < at <= now and (beginning or s.waits[r, k] == 0)
    ended = beginning and then < s.end[r, k] <= now
    for j in range(1, turns + 1):
        later, to = j * (now - then), r + j * turn
        if happened:
            s.cause[to, k] = s.cause[r, k] + j * turn * width
            if beginning:
                s.start[to, k] = at + later
            else:
                s.ready[to, k] = at + later
        if ended:
            s.end[to, k] = s.end[r, k] + later


@kernel
def _shift(g: Any, s: Any, low: int, high: int, skipped: int, later: float, how: int, less: float, now: float) -> None:
    """Let the batches under way be those `skipped` on, and the time `later`; a log that advanced has `less` to do."""
    width, left = s.start.shape[1], left_of_log(g, s, now)
    for r in range(high - 1, low - 1, -1):
        for k in range(width):
            s.left[r + skipped, k], s.waits[r + skipped, k] = s.left[r, k], s.waits[r, k]
    _shift_servers(g, s, skipped, later, how)
    if g.roll >= 0:
        _shift_log(g, s, skipped, later, how, left - less, now)


@kernel
def _moved(g: Any, flat: int, width: int, skipped: int, how: int) -> int:
    """Return by how much a flat index moves; a log that only advanced stays the same log."""
    return 0 if flat < 0 or (how == ADVANCED and flat % width == g.roll) else skipped * width


@kernel
def _shift_servers(g: Any, s: Any, skipped: int, later: float, how: int) -> None:
    width = s.start.shape[1]
    for server in range(g.servers):
        s.finish[server] += later
        s.since[server] += later
        s.running[server] += _moved(g, s.running[server], width, skipped, how)
        s.last[server] += _moved(g, s.last[server], width, skipped, how)
    for line in range(2 * g.servers):
        for i in range(s.queued[line]):
            s.queue[line, i] += skipped * width


@kernel
def _shift_log(g: Any, s: Any, skipped: int, later: float, how: int, left: float, now: float) -> None:
    """Let the log be as far behind as it was; one that only advanced stays, and has `left` seconds to go."""
    width, log = s.start.shape[1], s.roll[ACTIVE]
    for slot in (READY, WAITING):
        s.roll[slot] += skipped if s.roll[slot] >= 0 else 0
    if how == ADVANCED:
        server, s.left[log, g.roll] = g.server[g.roll], left
        if s.running[server] == log * width + g.roll:
            s.since[server], s.finish[server] = now + later, now + later + left
        return
    if log >= 0:
        s.left[log + skipped, g.roll] = s.left[log, g.roll]
    for slot in (ACTIVE, NEWEST):
        s.roll[slot] += skipped if s.roll[slot] >= 0 else 0
