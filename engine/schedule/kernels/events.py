"""The event-driven schedule of a repeated task graph, with one pending completion per server.

Foreground tasks are served by (ready time, batch, position) and never interrupted. Background tasks use
what is left and yield at once. A rolling log comes last, and only while its gate task runs or somebody waits.
At any instant everything that ends does so first, then every server chooses what it serves next.
"""

import numpy as np

from ...core.jit import inner
from .leap import leap
from .periodic import LEAPT
from .template import ACTIVE, GATE_ON, NEWEST, OVERFLOW, QUEUE, READY, WAITING, Past, ScheduleState, Template


@inner
def _push(state: ScheduleState, line: int, flat: int) -> None:
    size = state.queued[line]
    if size == state.queue.shape[1]:
        state.roll[OVERFLOW] = 1
        return
    state.queue[line, size] = flat
    state.queued[line] = size + 1


@inner
def _pop(state: ScheduleState, line: int) -> int:
    """Take the queue's task that was ready first; ties go to the earlier batch, then position."""
    width = state.ready.shape[1]
    best = 0
    for i in range(1, state.queued[line]):
        a, b = state.queue[line, i], state.queue[line, best]
        ready_a, ready_b = state.ready[a // width, a % width], state.ready[b // width, b % width]
        if ready_a < ready_b or (ready_a == ready_b and a < b):
            best = i
    flat = state.queue[line, best]
    state.queued[line] -= 1
    state.queue[line, best] = state.queue[line, state.queued[line]]
    return int(flat)


@inner
def _release(graph: Template, state: ScheduleState, batch: int, task: int, flat: int, now: float) -> None:
    """Let the successors of a finished task go on; `flat` is what they will name as their cause."""
    for i in range(graph.same_pointers[task], graph.same_pointers[task + 1]):
        _one_less(graph, state, batch, graph.same[i], flat, now)
    if batch + 1 < state.start.shape[0]:
        for i in range(graph.next_pointers[task], graph.next_pointers[task + 1]):
            _one_less(graph, state, batch + 1, graph.next[i], flat, now)


@inner
def _one_less(graph: Template, state: ScheduleState, batch: int, task: int, flat: int, now: float) -> None:
    state.waits[batch, task] -= 1
    if state.waits[batch, task] == 0:
        _make_ready(graph, state, batch, task, flat, now)


@inner
def _make_ready(graph: Template, state: ScheduleState, batch: int, task: int, flat: int, now: float) -> None:
    state.ready[batch, task] = now
    state.cause[batch, task] = flat
    if task == graph.roll:
        state.roll[READY] = batch
        if state.roll[ACTIVE] < 0:
            state.roll[ACTIVE] = batch
        state.roll[WAITING] = batch
    else:
        line = graph.server[task] * 2 + (1 if graph.background[task] else 0)
        _push(state, line, batch * state.start.shape[1] + task)


@inner
def _let_waiting_go(graph: Template, state: ScheduleState, now: float) -> bool:
    """Release the batch that waits for the rolling log, once the newest complete log is young enough."""
    batch = state.roll[WAITING]
    if batch < 0 or state.roll[NEWEST] < batch - graph.bound:
        return False
    state.roll[WAITING] = -1
    state.stale[batch] = batch - state.roll[NEWEST]
    held = state.ready[batch, graph.roll] < now
    flat = state.roll[NEWEST] * state.start.shape[1] + graph.roll if held else state.cause[batch, graph.roll]
    _release(graph, state, batch, graph.roll, flat, now)
    return True


@inner
def _complete_log(graph: Template, state: ScheduleState, now: float) -> None:
    batch = state.roll[ACTIVE]
    state.end[batch, graph.roll] = now
    state.roll[NEWEST] = batch
    state.roll[ACTIVE] = -1
    newest = state.roll[READY]
    if newest > batch and (state.roll[WAITING] >= 0 or np.isnan(state.end[newest, graph.gate])):
        state.roll[ACTIVE] = newest


@inner
def _suspend(graph: Template, state: ScheduleState, server: int, now: float) -> None:
    width = state.start.shape[1]
    flat = state.running[server]
    state.left[flat // width, flat % width] -= now - state.since[server]
    state.running[server] = -1
    if flat % width != graph.roll:
        _push(state, server * 2 + 1, flat)


@inner
def _begin(graph: Template, state: ScheduleState, server: int, flat: int, now: float) -> None:
    width = state.start.shape[1]
    batch, task = flat // width, flat % width
    if np.isnan(state.start[batch, task]):
        state.start[batch, task] = now
        if state.ready[batch, task] < now and state.last[server] >= 0 and task != graph.roll:
            state.cause[batch, task] = state.last[server]
    if task == graph.gate:
        state.roll[GATE_ON] = 1
    state.running[server], state.since[server] = flat, now
    state.finish[server] = now + state.left[batch, task]


@inner
def _dispatch(graph: Template, state: ScheduleState, server: int, now: float) -> bool:
    """Choose what the server does next; returns whether that changed anything."""
    width = state.start.shape[1]
    flat = state.running[server]
    others = state.queued[server * 2] + (state.queued[server * 2 + 1] if flat < 0 else 0)
    if others == 0 and (graph.roll < 0 or graph.server[graph.roll] != server):
        return False  # nobody asks for the server who could have it
    rolling = flat >= 0 and flat % width == graph.roll
    if flat >= 0 and not rolling and not graph.background[flat % width]:
        return False
    for line in (server * 2, server * 2 + 1):
        if state.queued[line] > 0 and (flat < 0 or rolling or line == server * 2):
            if flat >= 0:
                _suspend(graph, state, server, now)
            _begin(graph, state, server, _pop(state, line), now)
            return True
    if graph.roll < 0 or graph.server[graph.roll] != server:
        return False
    open_gate = state.roll[ACTIVE] >= 0 and (state.roll[GATE_ON] == 1 or state.roll[WAITING] >= 0)
    if rolling and not open_gate:
        _suspend(graph, state, server, now)
        return True
    if flat < 0 and open_gate:
        _begin(graph, state, server, state.roll[ACTIVE] * width + graph.roll, now)
        return True
    return False


@inner
def _settle(graph: Template, state: ScheduleState, now: float) -> None:
    changed = True
    while changed:  # without a rolling log no server's choice opens another's
        changed = graph.roll >= 0 and _let_waiting_go(graph, state, now)
        for server in range(graph.servers):
            changed = (_dispatch(graph, state, server, now) and graph.roll >= 0) or changed


@inner
def _finish(graph: Template, state: ScheduleState, server: int, now: float) -> int:
    """Complete what runs on the server; returns how many of the counted tasks that was."""
    width = state.start.shape[1]
    flat = state.running[server]
    batch, task = flat // width, flat % width
    state.running[server], state.last[server] = -1, flat
    if task == graph.roll:
        _complete_log(graph, state, now)
        return 0
    state.end[batch, task] = now
    if task == graph.gate:
        state.roll[GATE_ON] = 0
    _release(graph, state, batch, task, flat, now)
    return 1


@inner
def _next_completion(state: ScheduleState) -> float:
    soonest = np.inf
    for server in range(state.running.shape[0]):
        if state.running[server] >= 0 and state.finish[server] < soonest:
            soonest = state.finish[server]
    return soonest


@inner
def _open(graph: Template, state: ScheduleState) -> None:
    for task in range(state.start.shape[1]):
        if graph.first_needs[task] == 0:
            _make_ready(graph, state, 0, task, -1, 0.0)


@inner
def advance(graph: Template, state: ScheduleState, past: Past) -> int:
    """Run the schedule to its end; returns 0, 1 for a deadlock or 2 for too many ready tasks."""
    batches, width = state.start.shape
    counted = width - (1 if graph.roll >= 0 else 0)
    todo, low = batches * counted, 0
    _open(graph, state)
    now, searching = 0.0, graph.alike[batches - 1] < batches - 1  # some batch is like the one before
    while True:
        _settle(graph, state, now)
        if state.roll[OVERFLOW]:
            return 2
        if todo == 0:
            return 0
        soonest = _next_completion(state)
        if soonest == np.inf:
            return 1
        if searching and soonest > now and past.counts[LEAPT] == 0 and _complete(graph, state, low):
            while _complete(graph, state, low):
                low += 1
            todo -= leap(graph, state, past, low, now) * counted
            soonest = _next_completion(state)
        now = soonest
        for server in range(graph.servers):
            if state.running[server] >= 0 and state.finish[server] == now:
                todo -= _finish(graph, state, server, now)


@inner
def _complete(graph: Template, state: ScheduleState, batch: int) -> bool:
    """Return whether every task of a batch but its rolling log has ended."""
    k = 0
    while k < state.start.shape[1] and (k == graph.roll or not np.isnan(state.end[batch, k])):
        k += 1
    return bool(k == state.start.shape[1])


def refusal(failed: int) -> str:
    """Return why a schedule could not be made, by what `advance` returned."""
    return f"more than {QUEUE} tasks wait for one device." if failed == 2 else "tasks wait for each other in a circle."
