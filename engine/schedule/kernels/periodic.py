"""Cycle detection in a schedule of equal batches: once its state comes back, the turns in between are filled in, not simulated.

Whenever a batch has been completed, the state is compared with one kept from before (Brent's search for a cycle: the kept
one is replaced after 1, 2, 4, 8, ... batches). What will happen depends on nothing but the state: which tasks of the batches
under way wait for how much, run, or have ended, how long ago those that queue became ready, and where the rolling log
is. If that is the same, up to rounding, but for the number of the batch and the time, the future is the past over again.
If only the rolling log has advanced, it is so until that log is complete, or too old.
"""

import numpy as np

from ...core.jit import inner
from .template import ACTIVE, GATE_ON, NEWEST, READY, WAITING, Past, ScheduleState, Template

READY_AGO, LEFT = range(2)
WAITS, BEGUN, ENDED = range(3)
RUNNING, LAST = range(2)
LOW, ROWS, CHECKS, NEXT, LEAPT = range(5)
CLOSE, ROUNDING = 1e-12, 1e-15  # of a turn, and of all the time so far
DIFFERS, ALIKE, ADVANCED = range(3)
NONE, THE_LOG = -(2**40), -(2**40) - 1


@inner
def forget(past: Past) -> None:
    """Begin the search anew."""
    for i in range(len(past.counts)):
        past.counts[i] = i == NEXT


@inner
def left_of_log(graph: Template, state: ScheduleState, now: float) -> float:
    """Return the seconds that the rolling log under way still takes."""
    if graph.roll < 0 or state.roll[ACTIVE] < 0:
        return 0.0
    server = graph.server[graph.roll]
    if state.running[server] == state.roll[ACTIVE] * state.start.shape[1] + graph.roll:
        return float(state.finish[server] - now)
    return float(state.left[state.roll[ACTIVE], graph.roll])


@inner
def _relative(batch: int, low: int) -> int:
    """Return a batch as counted from the first under way; none stays none."""
    return batch - low if batch >= 0 else NONE


@inner
def _place(graph: Template, flat: int, low: int, width: int) -> int:
    """Return a flat index as counted from the first batch under way; which log it is is known otherwise."""
    if flat < 0:
        return NONE
    return THE_LOG if flat % width == graph.roll else flat - low * width


@inner
def keep(graph: Template, state: ScheduleState, past: Past, low: int, rows: int, now: float) -> None:
    """Keep the present state, with so many batches from `low` on under way."""
    width = state.start.shape[1]
    for r in range(rows):
        for k in range(width):
            past.times[READY_AGO, r, k], past.times[LEFT, r, k] = now - state.ready[low + r, k], state.left[low + r, k]
            past.marks[WAITS, r, k] = state.waits[low + r, k]
            past.marks[BEGUN, r, k] = not np.isnan(state.start[low + r, k])
            past.marks[ENDED, r, k] = not np.isnan(state.end[low + r, k])
    for server in range(graph.servers):
        past.finish[server] = state.finish[server] - now
        past.servers[RUNNING, server] = _place(graph, state.running[server], low, width)
        past.servers[LAST, server] = _place(graph, state.last[server], low, width)
    for slot in (ACTIVE, NEWEST, READY, WAITING):
        past.roll[slot] = _relative(state.roll[slot], low)
    past.roll[GATE_ON] = state.roll[GATE_ON]
    past.at[0] = now
    past.at[1] = left_of_log(graph, state, now)
    past.counts[LOW], past.counts[ROWS] = low, rows


@inner
def _close(past: Past, now: float) -> float:
    return float(CLOSE * (now - past.at[0]) + ROUNDING * now)


@inner
def same_log(graph: Template, state: ScheduleState, past: Past, low: int, now: float) -> int:
    """Return whether the rolling log is as it was kept: DIFFERS, ALIKE, or ADVANCED if it is the same log, but further."""
    if graph.roll < 0:
        return ALIKE
    if state.roll[GATE_ON] != past.roll[GATE_ON] or _relative(state.roll[WAITING], low) != past.roll[WAITING]:
        return DIFFERS
    if _relative(state.roll[READY], low) != past.roll[READY]:
        return DIFFERS
    for offset, how in ((low, ALIKE), (past.counts[LOW], ADVANCED)):
        if (
            _relative(state.roll[ACTIVE], offset) == past.roll[ACTIVE]
            and _relative(state.roll[NEWEST], offset) == past.roll[NEWEST]
        ):
            if how == ADVANCED and state.roll[WAITING] < 0 and state.roll[ACTIVE] >= 0:
                return how
            if how == ALIKE and abs(left_of_log(graph, state, now) - past.at[1]) <= _close(past, now):
                return how
    return DIFFERS


@inner
def same_batches(graph: Template, state: ScheduleState, past: Past, low: int, rows: int, now: float) -> bool:
    """Return whether the batches under way, `rows` of them, are as they were kept, but for the rolling log."""
    before, width = past.counts[LOW], state.start.shape[1]
    close = _close(past, now)
    if rows != past.counts[ROWS] or low == before or graph.alike[before] != graph.alike[low + rows - 1 if rows else low]:
        return False
    for server in range(graph.servers):
        running = _place(graph, state.running[server], low, width)
        if (
            running != past.servers[RUNNING, server]
            or _place(graph, state.last[server], low, width) != past.servers[LAST, server]
        ):
            return False
        if running >= 0 and abs(state.finish[server] - now - past.finish[server]) > close:
            return False
    return bool(_same_tasks(state, past, low, rows, now, close))


@inner
def _same_tasks(state: ScheduleState, past: Past, low: int, rows: int, now: float, close: float) -> bool:
    for r in range(rows):
        for k in range(state.start.shape[1]):
            waits, begun, ended = (
                state.waits[low + r, k],
                not np.isnan(state.start[low + r, k]),
                not np.isnan(state.end[low + r, k]),
            )
            if waits != past.marks[WAITS, r, k] or begun != past.marks[BEGUN, r, k] or ended != past.marks[ENDED, r, k]:
                return False
            if ended or waits > 0:
                continue
            if abs(now - state.ready[low + r, k] - past.times[READY_AGO, r, k]) > close:
                return False
            if abs(state.left[low + r, k] - past.times[LEFT, r, k]) > close:
                return False
    return True
