"""Leaps over the turns of a schedule that repeat: what happened in one is filled in for the others, as if simulated."""

from typing import Any

from ...core.jit import inner
from .periodic import ADVANCED, ALIKE, CHECKS, DIFFERS, LEAPT, LOW, NEXT, forget, keep, left_of_log, same_batches, same_log
from .template import ACTIVE, DEPTH, NEWEST, READY, WAITING, Past, ScheduleState, Template


@inner
def leap(graph: Template, state: ScheduleState, past: Past, low: int, now: float) -> int:
    """Return how many batches could be passed over, filled in, now that all before `low` are complete; 0 as a rule."""
    if low + 1 >= len(state.stale) or graph.alike[low] != graph.alike[low + 1]:
        return 0
    past.counts[CHECKS] += 1
    due = past.counts[CHECKS] == past.counts[NEXT]
    how = same_log(graph, state, past, low, now) if past.counts[CHECKS] > 1 else DIFFERS
    if how == DIFFERS and not due:
        return 0
    high, skipped = _high(graph, state, low), 0
    if high - low > DEPTH or high == len(state.stale):
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
    last, turns, most = high - 1, 0, len(state.stale)
    if how == ADVANCED:
        most = min(most, (state.roll[NEWEST] + graph.bound - state.roll[READY]) // turn)
        most = min(most, int(left_of_log(graph, state, now) / left) - 1) if left > 0 else most
    while turns < most and last + turn < len(state.stale) and graph.alike[last + turn] == graph.alike[past.counts[LOW]]:
        last += turn
        turns += 1
    return turns


@inner
def _high(graph: Template, state: ScheduleState, low: int) -> int:
    """Return the first batch that nothing has touched yet, as far as it is near."""
    high, width = low, len(graph.tasks)
    while high < len(state.stale) and high - low <= DEPTH:
        k = 0
        while k < width and (graph.tasks[k].apart or state.tasks[high * width + k].waits == graph.tasks[k].needs):
            k += 1
        if k == width:
            break
        high += 1
    return high


@inner
def _fill(graph: Template, state: ScheduleState, past: Past, high: int, turn: int, turns: int, how: int, now: float) -> None:
    """Repeat what happened since the kept state, once for each turn that is passed over."""
    first, log, width = past.counts[LOW], past.roll[ACTIVE], len(graph.tasks)
    if how == ALIKE and 0 <= log < first:
        first = log
    for flat in range(first * width, high * width):  # when tasks became ready
        run = state.tasks[flat]
        happened = past.at[0] < run.ready <= now and run.waits == 0 and not graph.tasks[flat % width].apart
        for j in range(1, turns + 1 if happened else 1):
            to = state.tasks[flat + j * turn * width]
            to.ready, to.cause = run.ready + j * (now - past.at[0]), run.cause + j * turn * width
    for flat in range(first * width, high * width):  # then when they began and ended: the later cause stays
        if not graph.tasks[flat % width].apart:
            _repeat(state, flat, turn * width, turns, past.at[0], now)
    if graph.roll >= 0:
        let_go = state.roll[READY] - (state.roll[WAITING] >= 0)
        for r in range(let_go + 1, let_go + 1 + turns * turn):
            state.stale[r] = state.stale[r - turn] + (turn if how == ADVANCED else 0)


@inner
def _repeat(state: ScheduleState, flat: int, tasks: int, turns: int, then: float, now: float) -> None:
    """Repeat a task's beginning and its end, if they were after `then`; a turn has so many tasks."""
    run = state.tasks[flat]
    for j in range(1, turns + 1):
        to = state.tasks[flat + j * tasks]
        if then < run.start <= now:
            to.start, to.cause = run.start + j * (now - then), run.cause + j * tasks
        if then < run.end <= now:
            to.end = run.end + j * (now - then)


@inner
def _shift(
    graph: Template, state: ScheduleState, low: int, high: int, skipped: int, later: float, how: int, less: float, now: float
) -> None:
    """Let the batches under way be those `skipped` on, and the time `later`; a log that advanced has `less` to do."""
    left, width = left_of_log(graph, state, now), len(graph.tasks)
    for flat in range(high * width - 1, low * width - 1, -1):
        run, to = state.tasks[flat], state.tasks[flat + skipped * width]
        to.left, to.waits = run.left, run.waits
    _shift_servers(graph, state, skipped, later, how)
    if graph.roll >= 0:
        _shift_log(graph, state, skipped, later, how, left - less, now)


@inner
def _moved(graph: Template, flat: int, skipped: int, how: int) -> int:
    """Return where a flat index moves; a log that only advanced stays the same log."""
    width = len(graph.tasks)
    return flat if flat < 0 or (how == ADVANCED and flat % width == graph.roll) else flat + skipped * width


@inner
def _shift_servers(graph: Template, state: ScheduleState, skipped: int, later: float, how: int) -> None:
    for server in range(graph.servers):
        lane = state.servers[server]
        lane.finish += later
        lane.since += later
        lane.running, lane.last = _moved(graph, lane.running, skipped, how), _moved(graph, lane.last, skipped, how)
    for line in range(2 * graph.servers):
        for i in range(state.queued[line]):
            state.queue[line, i] += skipped * len(graph.tasks)


@inner
def _on(batch: Any, skipped: int) -> Any:
    return batch + skipped if batch >= 0 else batch


@inner
def _shift_log(graph: Template, state: ScheduleState, skipped: int, later: float, how: int, left: float, now: float) -> None:
    """Let the log be as far behind as it was; one that only advanced stays, and has `left` seconds to go."""
    log, flat = state.roll, state.roll[ACTIVE] * len(graph.tasks) + graph.roll
    log[READY], log[WAITING] = _on(log[READY], skipped), _on(log[WAITING], skipped)
    if how == ADVANCED:
        state.tasks[flat].left, lane = left, state.servers[graph.tasks[graph.roll].server]
        if lane.running == flat:
            lane.since, lane.finish = now + later, now + later + left
        return
    if log[ACTIVE] >= 0:
        state.tasks[flat + skipped * len(graph.tasks)].left = state.tasks[flat].left
    log[ACTIVE], log[NEWEST] = _on(log[ACTIVE], skipped), _on(log[NEWEST], skipped)
