"""The event-driven schedule of a repeated task graph, with one pending completion per server.

Foreground tasks are served by (ready time, batch, position) and never interrupted. Background tasks use
what is left and yield at once. A rolling log comes last, and only while its gate task runs or somebody waits.
At any instant everything that ends does so first, then every server chooses what it serves next.
"""

from typing import Any

import numpy as np

from ...core.jit import inner, shared
from .template import ACTIVE, ASKED, FIRST, GATE_ON, NEWEST, NOBODY, OVERFLOW, READY, WAITING, ScheduleState, Template

BITS = 62  # servers that ASKED tells apart; of more, one may be asked in vain


@inner
def _push(state: ScheduleState, line: int, flat: int) -> None:
    size = state.queued[line]
    state.roll[ASKED] |= 1 << line // 2 % BITS
    if size == state.queue.shape[1]:
        state.roll[OVERFLOW] = 1
        return
    state.queue[line, size] = flat
    state.queued[line] = size + 1


@inner
def _pop(state: ScheduleState, line: int) -> Any:
    """Take the queue's task that was ready first; ties go to the earlier batch, then position."""
    best = 0
    for i in range(1, state.queued[line]):
        a, b = state.queue[line, i], state.queue[line, best]
        ready_a, ready_b = state.tasks[a].ready, state.tasks[b].ready
        if ready_a < ready_b or (ready_a == ready_b and a < b):
            best = i
    flat = state.queue[line, best]
    state.queued[line] -= 1
    state.queue[line, best] = state.queue[line, state.queued[line]]
    return flat


@inner
def _release(graph: Template, state: ScheduleState, batch: int, k: int, cause: int, now: float) -> None:
    """Let the tasks go on that wait for task k of a batch; `cause` is what they will name as theirs."""
    task = graph.tasks[k]
    for i in range(task.same, task.stop if batch + 1 < len(state.stale) else task.next):
        after, follower = batch + (i >= task.next), graph.followers[i]
        run = state.tasks[after * len(graph.tasks) + follower]
        run.waits -= 1
        if run.waits == 0:
            _make_ready(graph, state, after, follower, cause, now)


@inner
def _make_ready(graph: Template, state: ScheduleState, batch: int, k: int, cause: int, now: float) -> None:
    flat, task = batch * len(graph.tasks) + k, graph.tasks[k]
    state.tasks[flat].ready, state.tasks[flat].cause = now, cause
    if k == graph.roll:
        state.roll[READY], state.roll[WAITING] = batch, batch
        if state.roll[ACTIVE] < 0:
            state.roll[ACTIVE] = batch
    else:
        _push(state, task.server * 2 + task.background, flat)


@shared
def _let_waiting_go(graph: Template, state: ScheduleState, now: float) -> bool:
    """Release the batch that waits for the rolling log, once the newest complete log is young enough."""
    batch, newest, width = state.roll[WAITING], state.roll[NEWEST], len(graph.tasks)
    if batch < 0 or newest < batch - graph.bound:
        return False
    state.roll[WAITING] = -1
    state.stale[batch] = batch - newest
    run = state.tasks[batch * width + graph.roll]
    _release(graph, state, batch, graph.roll, newest * width + graph.roll if run.ready < now else run.cause, now)
    return True


@inner
def _complete_log(graph: Template, state: ScheduleState, now: float) -> None:
    batch, newest, width = state.roll[ACTIVE], state.roll[READY], len(graph.tasks)
    state.tasks[batch * width + graph.roll].end = now
    state.roll[NEWEST], state.roll[ACTIVE] = batch, -1
    if newest > batch and (state.roll[WAITING] >= 0 or np.isnan(state.tasks[newest * width + graph.gate].end)):
        state.roll[ACTIVE] = newest


@inner
def _suspend(graph: Template, state: ScheduleState, server: int, now: float) -> None:
    lane = state.servers[server]
    flat, lane.running = lane.running, -1
    state.tasks[flat].left -= now - lane.since
    if flat % len(graph.tasks) != graph.roll:
        _push(state, server * 2 + 1, flat)


@inner
def _begin(graph: Template, state: ScheduleState, server: int, flat: int, now: float) -> None:
    k, run, lane = flat % len(graph.tasks), state.tasks[flat], state.servers[server]
    if np.isnan(run.start):
        run.start = now
        if run.ready < now and lane.last >= 0 and k != graph.roll:
            run.cause = lane.last
    if k == graph.gate:
        state.roll[GATE_ON] = 1
    lane.running, lane.since, lane.finish = flat, now, now + run.left


@inner
def _dispatch(graph: Template, state: ScheduleState, server: int, now: float) -> None:
    """Choose what the server does next."""
    width, flat = len(graph.tasks), state.servers[server].running
    others = state.queued[server * 2] + (state.queued[server * 2 + 1] if flat < 0 else 0)
    if others == 0 and (graph.roll < 0 or graph.tasks[graph.roll].server != server):
        return  # nobody asks for the server who could have it
    rolling = flat >= 0 and flat % width == graph.roll
    if flat >= 0 and not rolling and not graph.tasks[flat % width].background:
        return
    line: Any = NOBODY
    for queue in (server * 2 + 1, server * 2):
        if state.queued[queue] > 0 and (flat < 0 or rolling or queue == server * 2):
            line = queue
    goes_on = graph.roll >= 0 and graph.tasks[graph.roll].server == server and state.roll[ACTIVE] >= 0
    goes_on = goes_on and (state.roll[GATE_ON] == 1 or state.roll[WAITING] >= 0)
    if flat >= 0 and (line >= 0 or (rolling and not goes_on)):
        _suspend(graph, state, server, now)
    if line >= 0 or (flat < 0 and goes_on):
        chosen = _pop(state, line) if line >= 0 else state.roll[ACTIVE] * width + graph.roll
        _begin(graph, state, server, chosen, now)


@inner
def _settle(graph: Template, state: ScheduleState, now: float) -> None:
    while graph.roll >= 0 and _let_waiting_go(graph, state, now):
        pass
    servers_to_choose, state.roll[ASKED] = state.roll[ASKED], 0
    for server in range(graph.servers):
        if servers_to_choose >> server % BITS & 1:
            _dispatch(graph, state, server, now)
    if graph.roll >= 0:  # of all choices of a server only whether the gate task runs opens another's, the log's
        _dispatch(graph, state, graph.tasks[graph.roll].server, now)


@inner
def _finish(graph: Template, state: ScheduleState, server: int, now: float) -> int:
    """Complete what runs on the server; returns how many of the counted tasks that was."""
    lane, width = state.servers[server], len(graph.tasks)
    flat, lane.running = lane.running, -1
    lane.last = flat
    state.roll[ASKED] |= 1 << server % BITS
    if flat % width == graph.roll:
        _complete_log(graph, state, now)
        return 0
    state.tasks[flat].end = now
    if flat % width == graph.gate:
        state.roll[GATE_ON] = 0
    _release(graph, state, flat // width, flat % width, flat, now)
    return 1


@inner
def _next_completion(state: ScheduleState) -> float:
    soonest = np.inf
    for server in range(len(state.servers)):
        lane = state.servers[server]
        if lane.running >= 0 and lane.finish < soonest:
            soonest = lane.finish
    return soonest


@shared
def _open(graph: Template, state: ScheduleState) -> None:
    for k in range(len(graph.tasks)):
        if graph.tasks[k].apart:
            _run_apart(graph, state, k)
        elif graph.tasks[k].first_needs == 0:
            _make_ready(graph, state, FIRST, k, NOBODY, 0.0)


@inner
def _run_apart(graph: Template, state: ScheduleState, k: int) -> None:
    """Run a task of all batches one after the other: it may be any number of batches ahead of the others."""
    before: Any = NOBODY
    now = 0.0
    for flat in range(k, len(state.tasks), len(graph.tasks)):
        run = state.tasks[flat]
        run.start, run.ready, run.end, run.cause, run.waits = now, now, now + run.left, before, 0
        before, now = flat, run.end


@inner
def advance(graph: Template, state: ScheduleState) -> int:
    """Run the schedule to its end; returns 0, 1 for a deadlock or 2 for too many ready tasks."""
    batches, counted = len(state.stale), len(graph.tasks) - (graph.roll >= 0)
    for k in range(len(graph.tasks)):
        counted -= graph.tasks[k].apart
    unfinished, now = batches * counted, 0.0
    _open(graph, state)
    while True:
        _settle(graph, state, now)
        if state.roll[OVERFLOW]:
            return 2
        if unfinished == 0:
            return 0
        now = _next_completion(state)
        if now == np.inf:
            return 1
        for server in range(graph.servers):
            lane = state.servers[server]
            if lane.running >= 0 and lane.finish == now:
                unfinished -= _finish(graph, state, server, now)
