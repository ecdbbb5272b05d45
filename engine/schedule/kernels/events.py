"""The event-driven schedule of a repeated task graph, with one pending completion per server.

Foreground tasks are served by (ready time, batch, position) and never interrupted. Background tasks use
what is left and yield at once. A rolling log comes last, and only while its gate task runs or somebody waits.
At any instant everything that ends does so first, then every server chooses what it serves next.
"""

from typing import Any

import numpy as np

from .leap import leap
from .periodic import LEAPT, nothing_kept
from .template import ACTIVE, GATE_ON, NEWEST, OVERFLOW, QUEUE, READY, WAITING, ScheduleState, Template, begin, kernel


@kernel
def _push(s: Any, line: int, flat: int) -> None:
    size = s.queued[line]
    if size == s.queue.shape[1]:
        s.roll[OVERFLOW] = 1
        return
    s.queue[line, size] = flat
    s.queued[line] = size + 1


@kernel
def _pop(s: Any, line: int) -> Any:
    """Take the queue's task that was ready first; ties go to the earlier batch, then position."""
    width = s.ready.shape[1]
    best = 0
    for i in range(1, s.queued[line]):
        a, b = s.queue[line, i], s.queue[line, best]
        ready_a, ready_b = s.ready[a // width, a % width], s.ready[b // width, b % width]
        if ready_a < ready_b or (ready_a == ready_b and a < b):
            best = i
    flat = s.queue[line, best]
    s.queued[line] -= 1
    s.queue[line, best] = s.queue[line, s.queued[line]]
    return flat


@kernel
def _release(g: Any, s: Any, batch: int, task: int, flat: int, now: float) -> None:
    """Let the successors of a finished task go on; `flat` is what they will name as their cause."""
    for i in range(g.same_pointers[task], g.same_pointers[task + 1]):
        _one_less(g, s, batch, g.same[i], flat, now)
    if batch + 1 < s.start.shape[0]:
        for i in range(g.next_pointers[task], g.next_pointers[task + 1]):
            _one_less(g, s, batch + 1, g.next[i], flat, now)


@kernel
def _one_less(g: Any, s: Any, batch: int, task: int, flat: int, now: float) -> None:
    s.waits[batch, task] -= 1
    if s.waits[batch, task] == 0:
        _make_ready(g, s, batch, task, flat, now)


@kernel
def _make_ready(g: Any, s: Any, batch: int, task: int, flat: int, now: float) -> None:
    s.ready[batch, task] = now
    s.cause[batch, task] = flat
    if task == g.roll:
        s.roll[READY] = batch
        if s.roll[ACTIVE] < 0:
            s.roll[ACTIVE] = batch
        s.roll[WAITING] = batch
    else:
        line = g.server[task] * 2 + (1 if g.background[task] else 0)
        _push(s, line, batch * s.start.shape[1] + task)


@kernel
def _let_waiting_go(g: Any, s: Any, now: float) -> bool:
    """Release the batch that waits for the rolling log, once the newest complete log is young enough."""
    batch = s.roll[WAITING]
    if batch < 0 or s.roll[NEWEST] < batch - g.bound:
        return False
    s.roll[WAITING] = -1
    s.stale[batch] = batch - s.roll[NEWEST]
    held = s.ready[batch, g.roll] < now
    flat = s.roll[NEWEST] * s.start.shape[1] + g.roll if held else s.cause[batch, g.roll]
    _release(g, s, batch, g.roll, flat, now)
    return True


@kernel
def _complete_log(g: Any, s: Any, now: float) -> None:
    batch = s.roll[ACTIVE]
    s.end[batch, g.roll] = now
    s.roll[NEWEST] = batch
    s.roll[ACTIVE] = -1
    newest = s.roll[READY]
    if newest > batch and (s.roll[WAITING] >= 0 or np.isnan(s.end[newest, g.gate])):
        s.roll[ACTIVE] = newest


@kernel
def _suspend(g: Any, s: Any, server: int, now: float) -> None:
    width = s.start.shape[1]
    flat = s.running[server]
    s.left[flat // width, flat % width] -= now - s.since[server]
    s.running[server] = -1
    if flat % width != g.roll:
        _push(s, server * 2 + 1, flat)


@kernel
def _begin(g: Any, s: Any, server: int, flat: int, now: float) -> None:
    width = s.start.shape[1]
    batch, task = flat // width, flat % width
    if np.isnan(s.start[batch, task]):
        s.start[batch, task] = now
        if s.ready[batch, task] < now and s.last[server] >= 0 and task != g.roll:
            s.cause[batch, task] = s.last[server]
    if task == g.gate:
        s.roll[GATE_ON] = 1
    s.running[server], s.since[server] = flat, now
    s.finish[server] = now + s.left[batch, task]


@kernel
def _dispatch(g: Any, s: Any, server: int, now: float) -> bool:
    """Choose what the server does next; returns whether that changed anything."""
    width = s.start.shape[1]
    flat = s.running[server]
    others = s.queued[server * 2] + (s.queued[server * 2 + 1] if flat < 0 else 0)
    if others == 0 and (g.roll < 0 or g.server[g.roll] != server):
        return False  # nobody asks for the server who could have it
    rolling = flat >= 0 and flat % width == g.roll
    if flat >= 0 and not rolling and not g.background[flat % width]:
        return False
    for line in (server * 2, server * 2 + 1):
        if s.queued[line] > 0 and (flat < 0 or rolling or line == server * 2):
            if flat >= 0:
                _suspend(g, s, server, now)
            _begin(g, s, server, _pop(s, line), now)
            return True
    if g.roll < 0 or g.server[g.roll] != server:
        return False
    open_gate = s.roll[ACTIVE] >= 0 and (s.roll[GATE_ON] == 1 or s.roll[WAITING] >= 0)
    if rolling and not open_gate:
        _suspend(g, s, server, now)
        return True
    if flat < 0 and open_gate:
        _begin(g, s, server, s.roll[ACTIVE] * width + g.roll, now)
        return True
    return False


@kernel
def _settle(g: Any, s: Any, now: float) -> None:
    changed = True
    while changed:  # without a rolling log no server's choice opens another's
        changed = g.roll >= 0 and _let_waiting_go(g, s, now)
        for server in range(g.servers):
            changed = (_dispatch(g, s, server, now) and g.roll >= 0) or changed


@kernel
def _finish(g: Any, s: Any, server: int, now: float) -> int:
    """Complete what runs on the server; returns how many of the counted tasks that was."""
    width = s.start.shape[1]
    flat = s.running[server]
    batch, task = flat // width, flat % width
    s.running[server], s.last[server] = -1, flat
    if task == g.roll:
        _complete_log(g, s, now)
        return 0
    s.end[batch, task] = now
    if task == g.gate:
        s.roll[GATE_ON] = 0
    _release(g, s, batch, task, flat, now)
    return 1


@kernel
def _next_completion(s: Any) -> float:
    soonest = np.inf
    for server in range(s.running.shape[0]):
        if s.running[server] >= 0 and s.finish[server] < soonest:
            soonest = s.finish[server]
    return soonest


@kernel
def _open(g: Any, s: Any) -> None:
    for task in range(s.start.shape[1]):
        if g.first_needs[task] == 0:
            _make_ready(g, s, 0, task, -1, 0.0)


@kernel
def _advance(g: Any, s: Any, past: Any) -> int:
    """Run the schedule to its end; returns 0, 1 for a deadlock or 2 for too many ready tasks."""
    batches, width = s.start.shape
    counted = width - (1 if g.roll >= 0 else 0)
    todo, low = batches * counted, 0
    _open(g, s)
    now, searching = 0.0, g.alike[batches - 1] < batches - 1  # some batch is like the one before
    while True:
        _settle(g, s, now)
        if s.roll[OVERFLOW]:
            return 2
        if todo == 0:
            return 0
        soonest = _next_completion(s)
        if soonest == np.inf:
            return 1
        if searching and soonest > now and past.counts[LEAPT] == 0 and _complete(g, s, low):
            while _complete(g, s, low):
                low += 1
            todo -= leap(g, s, past, low, now) * counted
            soonest = _next_completion(s)
        now = soonest
        for server in range(g.servers):
            if s.running[server] >= 0 and s.finish[server] == now:
                todo -= _finish(g, s, server, now)


@kernel
def _complete(g: Any, s: Any, batch: int) -> bool:
    """Return whether every task of a batch but its rolling log has ended."""
    k = 0
    while k < s.start.shape[1] and (k == g.roll or not np.isnan(s.end[batch, k])):
        k += 1
    return bool(k == s.start.shape[1])


def advance(template: Template) -> ScheduleState:
    """Schedule every batch; returns start, end, cause (flat index, -1 for none) and staleness arrays.

    Shapes are (batches, tasks); times in seconds; NaN marks a rolling log that was skipped or cut off.
    """
    state = begin(template)
    failed = _advance(template, state, nothing_kept(state.start.shape[1], template.servers))
    if failed:
        raise ValueError(refusal(failed))
    return state


def refusal(failed: int) -> str:
    """Return why a schedule could not be made, by what `_advance` returned."""
    return f"more than {QUEUE} tasks wait for one device." if failed == 2 else "tasks wait for each other in a circle."
