"""Leaps over the turns of a schedule that repeat: what happened in one is filled in for the others, as if simulated."""

from ...core.jit import inner
from .periodic import ADVANCED, ALIKE, CHECKS, DIFFERS, LEAPT, LOW, NEXT, NONE, forget, keep, left_of_log, same_batches, same_log
from .template import ACTIVE, DEPTH, NEWEST, READY, WAITING, Past, ScheduleState, Template


@inner
def leap(graph: Template, state: ScheduleState, past: Past, low: int, now: float) -> int:
    """Return how many batches could be passed over, filled in, now that all before `low` are complete; 0 as a rule."""
    if low + 1 >= state.start.shape[0] or graph.alike[low] != graph.alike[low + 1]:
        return 0
    past.counts[CHECKS] += 1
    due = past.counts[CHECKS] == past.counts[NEXT]
    how = same_log(graph, state, past, low, now) if past.counts[CHECKS] > 1 else DIFFERS
    if how == DIFFERS and not due:
        return 0
    high, skipped = _high(graph, state, low), 0
    if high - low > DEPTH or high == state.start.shape[0]:
        return 0
    if how != DIFFERS and same_batches(graph, state, past, low, high - low, now):
        skipped = _leap(graph, state, past, low, high, how, now)
    if skipped == 0 and due:
        past.counts[NEXT] *= 2
        keep(graph, state, past, low, high - low, now)
    return skipped


@inner
def _leap(graph: Template, state: ScheduleState, past: Past, low: int, high: int, how: int, now: float) -> int:
    left, turn = past.at[1] - left_of_log(graph, state, now), low - past.counts[LOW]
    turns = _turns(graph, state, past, high, turn, how, left, now)
    if turns > 0:
        _fill(graph, state, past, high, turn, turns, how, now)
        _shift(graph, state, low, high, turns * turn, turns * (now - past.at[0]), how, turns * left, now)
    if how == ALIKE:
        past.counts[LEAPT] = 1
    elif turns > 0:
        forget(past)
    return int(turns * turn)


@inner
def _turns(graph: Template, state: ScheduleState, past: Past, high: int, turn: int, how: int, left: float, now: float) -> int:
    """Return how many turns can be passed over: as far as batches are alike, and a log that only advanced goes on."""
    last, turns = high - 1, 0
    while last + turn < state.start.shape[0] and graph.alike[last + turn] == graph.alike[past.counts[LOW]]:
        last += turn
        turns += 1
    if how == ADVANCED:
        turns = min(turns, (state.roll[NEWEST] + graph.bound - state.roll[READY]) // turn)
        turns = min(turns, int(left_of_log(graph, state, now) / left) - 1) if left > 0 else turns
    return max(turns, 0)


@inner
def _high(graph: Template, state: ScheduleState, low: int) -> int:
    """Return the first batch that nothing has touched yet."""
    high = low
    while high < state.start.shape[0]:
        k = 0
        while k < state.start.shape[1] and state.waits[high, k] == graph.needs[k]:
            k += 1
        if k == state.start.shape[1]:
            break
        high += 1
    return high


@inner
def _fill(graph: Template, state: ScheduleState, past: Past, high: int, turn: int, turns: int, how: int, now: float) -> None:
    """Repeat what happened since the kept state, once for each turn that is passed over."""
    then, width, log = past.at[0], state.start.shape[1], past.roll[ACTIVE]
    first = past.counts[LOW] + (log if how == ALIKE and NONE < log < 0 else 0)
    for beginning in (False, True):  # first when tasks became ready, then when they began: the later cause stays
        for r in range(first, high):
            for k in range(width):
                _repeat(state, r, k, turn, turns, then, now, beginning)
    if graph.roll >= 0:
        let_go = state.roll[READY] - (state.roll[WAITING] >= 0)
        for r in range(let_go + 1, let_go + 1 + turns * turn):
            state.stale[r] = state.stale[r - turn] + (turn if how == ADVANCED else 0)


@inner
def _repeat(state: ScheduleState, r: int, k: int, turn: int, turns: int, then: float, now: float, beginning: bool) -> None:
    """Repeat what happened to a task since `then`: either that it became ready, or that it began or ended."""
    width = state.start.shape[1]
    at = state.start[r, k] if beginning else state.ready[r, k]
    happened = then < at <= now and (beginning or state.waits[r, k] == 0)
    ended = beginning and then < state.end[r, k] <= now
    for j in range(1, turns + 1):
        later, to = j * (now - then), r + j * turn
        if happened:
            state.cause[to, k] = state.cause[r, k] + j * turn * width
            if beginning:
                state.start[to, k] = at + later
            else:
                state.ready[to, k] = at + later
        if ended:
            state.end[to, k] = state.end[r, k] + later


@inner
def _shift(
    graph: Template, state: ScheduleState, low: int, high: int, skipped: int, later: float, how: int, less: float, now: float
) -> None:
    """Let the batches under way be those `skipped` on, and the time `later`; a log that advanced has `less` to do."""
    width, left = state.start.shape[1], left_of_log(graph, state, now)
    for r in range(high - 1, low - 1, -1):
        for k in range(width):
            state.left[r + skipped, k], state.waits[r + skipped, k] = state.left[r, k], state.waits[r, k]
    _shift_servers(graph, state, skipped, later, how)
    if graph.roll >= 0:
        _shift_log(graph, state, skipped, later, how, left - less, now)


@inner
def _moved(graph: Template, flat: int, width: int, skipped: int, how: int) -> int:
    """Return by how much a flat index moves; a log that only advanced stays the same log."""
    return 0 if flat < 0 or (how == ADVANCED and flat % width == graph.roll) else skipped * width


@inner
def _shift_servers(graph: Template, state: ScheduleState, skipped: int, later: float, how: int) -> None:
    width = state.start.shape[1]
    for server in range(graph.servers):
        state.finish[server] += later
        state.since[server] += later
        state.running[server] += _moved(graph, state.running[server], width, skipped, how)
        state.last[server] += _moved(graph, state.last[server], width, skipped, how)
    for line in range(2 * graph.servers):
        for i in range(state.queued[line]):
            state.queue[line, i] += skipped * width


@inner
def _shift_log(graph: Template, state: ScheduleState, skipped: int, later: float, how: int, left: float, now: float) -> None:
    """Let the log be as far behind as it was; one that only advanced stays, and has `left` seconds to go."""
    width, log = state.start.shape[1], state.roll[ACTIVE]
    for slot in (READY, WAITING):
        state.roll[slot] += skipped if state.roll[slot] >= 0 else 0
    if how == ADVANCED:
        server, state.left[log, graph.roll] = graph.server[graph.roll], left
        if state.running[server] == log * width + graph.roll:
            state.since[server], state.finish[server] = now + later, now + later + left
        return
    if log >= 0:
        state.left[log + skipped, graph.roll] = state.left[log, graph.roll]
    for slot in (ACTIVE, NEWEST):
        state.roll[slot] += skipped if state.roll[slot] >= 0 else 0
