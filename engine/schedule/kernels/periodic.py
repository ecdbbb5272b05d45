"""Cycle detection in a schedule of equal batches: once its state comes back, the turns in between are filled in, not simulated.

Whenever a batch has been completed, the state is compared with one kept from before (Brent's search for a cycle: the kept
one is replaced after 1, 2, 4, 8, ... batches). What will happen depends on nothing but the state: which tasks of the batches
under way wait for how much, run, or have ended, how long ago those that queue became ready, and where the rolling log
is. If that is the same, up to rounding, but for the number of the batch and the time, the future is the past over again.
If only the rolling log has advanced, it is so until that log is complete, or too old.
"""

from typing import Any

import numpy as np

from ...core.jit import inner
from .template import ACTIVE, GATE_ON, NEWEST, READY, WAITING, Past, ScheduleState, Template

LOW, ROWS, CHECKS, NEXT, LEAPT = range(5)
CLOSE, ROUNDING = 1e-12, 1e-15  # of a turn, and of all the time so far
DIFFERS, ALIKE, ADVANCED = range(3)


@inner
def forget(past: Past) -> None:
    """Begin the search anew."""
    for i in range(len(past.counts)):
        past.counts[i] = i == NEXT


@inner
def left_of_log(graph: Template, state: ScheduleState, now: float) -> Any:
    """Return the seconds that the rolling log under way still takes."""
    if graph.roll < 0 or state.roll[ACTIVE] < 0:
        return 0.0
    flat, lane = state.roll[ACTIVE] * len(graph.tasks) + graph.roll, state.servers[graph.tasks[graph.roll].server]
    return lane.finish - now if lane.running == flat else state.tasks[flat].left


@inner
def keep(graph: Template, state: ScheduleState, past: Past, low: int, rows: int, now: float) -> None:
    """Keep the present state, with so many batches from `low` on under way."""
    first = low * len(graph.tasks)
    for i in range(rows * len(graph.tasks)):
        run, kept = state.tasks[first + i], past.tasks[i]
        kept.start, kept.end, kept.ready = run.start, run.end, run.ready
        kept.left, kept.waits = run.left, run.waits
    for server in range(graph.servers):
        lane, before = state.servers[server], past.servers[server]
        before.running, before.last, before.finish = lane.running, lane.last, lane.finish
    for slot in range(len(past.roll)):
        past.roll[slot] = state.roll[slot]
    past.at[0], past.at[1] = now, left_of_log(graph, state, now)
    past.counts[LOW], past.counts[ROWS] = low, rows


@inner
def _close(past: Past, now: float) -> Any:
    return CLOSE * (now - past.at[0]) + ROUNDING * now


@inner
def _as_far(batch: Any, before: Any, moved: int) -> Any:
    """Return whether a batch that the log names is as far from the first under way as it was, or still none."""
    return batch - before == moved if batch >= 0 and before >= 0 else batch == before


@inner
def same_log(graph: Template, state: ScheduleState, past: Past, low: int, now: float) -> int:
    """Return whether the rolling log is as it was kept: DIFFERS, ALIKE, or ADVANCED if it is the same log, but further."""
    if graph.roll < 0:
        return ALIKE
    log, kept, moved = state.roll, past.roll, low - past.counts[LOW]
    if log[GATE_ON] != kept[GATE_ON] or not (
        _as_far(log[WAITING], kept[WAITING], moved) and _as_far(log[READY], kept[READY], moved)
    ):
        return DIFFERS
    alike = _as_far(log[ACTIVE], kept[ACTIVE], moved) and _as_far(log[NEWEST], kept[NEWEST], moved)
    if alike and abs(left_of_log(graph, state, now) - past.at[1]) <= _close(past, now):
        return ALIKE
    same = log[ACTIVE] == kept[ACTIVE] and log[NEWEST] == kept[NEWEST]
    return ADVANCED if same and log[WAITING] < 0 and log[ACTIVE] >= 0 else DIFFERS


@inner
def _same_place(graph: Template, flat: int, before: int, moved: int) -> Any:
    """Return whether a task has `moved` batches from what it was; none stays none, and which log it is is known otherwise."""
    width = len(graph.tasks)
    if flat < 0 or before < 0:
        return flat < 0 and before < 0
    if flat % width == graph.roll:
        return before % width == graph.roll
    return before % width != graph.roll and flat - before == moved * width


@inner
def same_batches(graph: Template, state: ScheduleState, past: Past, low: int, rows: int, now: float) -> bool:
    """Return whether the batches under way, `rows` of them, are as they were kept, but for the rolling log."""
    before, close = past.counts[LOW], _close(past, now)
    if rows != past.counts[ROWS] or low == before or graph.alike[before] != graph.alike[low + rows - 1 if rows else low]:
        return False
    for server in range(graph.servers):
        lane, kept = state.servers[server], past.servers[server]
        running = _same_place(graph, lane.running, kept.running, low - before)
        if not running or not _same_place(graph, lane.last, kept.last, low - before):
            return False
        if lane.running >= 0 and abs(lane.finish - now - (kept.finish - past.at[0])) > close:
            return False
    alike: bool = _same_tasks(graph, state, past, low, rows, now, close)
    return alike


@inner
def _same_tasks(graph: Template, state: ScheduleState, past: Past, low: int, rows: int, now: float, close: float) -> bool:
    first = low * len(graph.tasks)
    for i in range(rows * len(graph.tasks)):
        run, kept = state.tasks[first + i], past.tasks[i]
        if run.waits != kept.waits or np.isnan(run.start) != np.isnan(kept.start) or np.isnan(run.end) != np.isnan(kept.end):
            return False
        if run.waits > 0 or not np.isnan(run.end):
            continue
        if abs(now - run.ready - (past.at[0] - kept.ready)) > close or abs(run.left - kept.left) > close:
            return False
    return True
