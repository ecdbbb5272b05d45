"""The event-driven schedule of a repeated task graph.

A server runs one task at a time, so it has at most one pending completion. Each server chooses the foreground task that was
ready first; ties go to the earlier batch, then to the earlier task in the graph. Foreground tasks are never interrupted.
Background tasks run while their server has no foreground task, and stop as soon as it has one. A rolling log (an MLP log that
spans batches) runs last, and only while its gate task runs or while another task waits for the log. At each instant all
completions are handled first; then every server selects its next task.
"""

from typing import Any

import numpy as np

from ...core.jit import inner_kernel, shared_kernel
from .template import (
    ACTIVE,
    FIRST,
    GATE_ON,
    HELD,
    NEWEST,
    NO_CAUSE,
    OVERFLOW,
    READY,
    TO_DISPATCH,
    WAITING,
    ScheduleState,
    Template,
)

BITS = 62  # servers with a bit of their own in ASKED; with more servers some are dispatched in vain


@inner_kernel
def _push(state: ScheduleState, line: int, flat: int) -> None:
    size = state.queue_lengths[line]
    state.roll[TO_DISPATCH] |= 1 << line // 2 % BITS
    if size == state.queue.shape[1]:
        state.roll[OVERFLOW] = 1
        return
    state.queue[line, size] = flat
    state.queue_lengths[line] = size + 1


@inner_kernel
def _pop(state: ScheduleState, line: int) -> Any:
    """Take the task of the queue that was ready first.

    Ties go to the earlier batch, then to the earlier position.
    """
    earliest = 0
    for i in range(1, state.queue_lengths[line]):
        a, b = state.queue[line, i], state.queue[line, earliest]
        ready_a, ready_b = state.tasks[a].ready, state.tasks[b].ready
        if ready_a < ready_b or (ready_a == ready_b and a < b):
            earliest = i
    flat = state.queue[line, earliest]
    state.queue_lengths[line] -= 1
    state.queue[line, earliest] = state.queue[line, state.queue_lengths[line]]
    return flat


@inner_kernel
def _release(graph: Template, state: ScheduleState, first_task: int, k: int, cause: int, clock: float) -> None:
    """Release the followers of task k of the batch whose task 0 has the flat index `first_task`.

    `cause` is the flat index of the task after which they start.
    """
    task, width = graph.tasks[k], len(graph.tasks)
    is_last = first_task + width == state.roll[HELD] * width
    if is_last and state.roll[FIRST] + state.roll[HELD] < graph.batches and task.stop > task.next:
        state.roll[OVERFLOW] = 2
    for i in range(task.same, task.next if is_last else task.stop):
        flat = first_task + graph.followers[i] + (width if i >= task.next else 0)
        run = state.tasks[flat]
        run.waits -= 1
        if run.waits == 0:
            _make_ready(graph, state, flat, cause, clock)


@inner_kernel
def _make_ready(graph: Template, state: ScheduleState, flat: int, cause: int, clock: float) -> None:
    run = state.tasks[flat]
    run.ready, run.cause = clock, cause
    if run.task == graph.roll:
        batch = flat // len(graph.tasks)
        state.roll[READY], state.roll[WAITING] = batch, batch
        if state.roll[ACTIVE] < 0:
            state.roll[ACTIVE] = batch
    else:
        task = graph.tasks[run.task]
        _push(state, task.server * 2 + task.background, flat)


@shared_kernel
def _let_waiting_go(graph: Template, state: ScheduleState, clock: float) -> bool:
    """Release the batch that waits for the rolling log if the newest complete log is recent enough; return if it did."""
    batch, newest, width = state.roll[WAITING], state.roll[NEWEST], len(graph.tasks)
    if batch < 0 or newest < batch - graph.staleness_bound:
        return False
    state.roll[WAITING] = -1
    state.staleness[batch] = batch - newest
    run = state.tasks[batch * width + graph.roll]
    _release(graph, state, batch * width, graph.roll, newest * width + graph.roll if run.ready < clock else run.cause, clock)
    return True


@inner_kernel
def _complete_log(graph: Template, state: ScheduleState, clock: float) -> None:
    batch, newest, width = state.roll[ACTIVE], state.roll[READY], len(graph.tasks)
    state.tasks[batch * width + graph.roll].end = clock
    state.roll[NEWEST], state.roll[ACTIVE] = batch, -1
    if newest > batch and (state.roll[WAITING] >= 0 or np.isnan(state.tasks[newest * width + graph.gate].end)):
        state.roll[ACTIVE] = newest


@inner_kernel
def _suspend(graph: Template, state: ScheduleState, server: int, clock: float) -> None:
    lane = state.servers[server]
    flat, lane.running = lane.running, -1
    state.tasks[flat].left -= clock - lane.since
    if state.tasks[flat].task != graph.roll:
        _push(state, server * 2 + 1, flat)


@inner_kernel
def _start_task(graph: Template, state: ScheduleState, server: int, flat: int, clock: float) -> None:
    run, lane = state.tasks[flat], state.servers[server]
    k = run.task
    if np.isnan(run.start):
        run.start = clock
        if run.ready < clock and lane.last > NO_CAUSE and k != graph.roll:
            run.cause = lane.last
    if k == graph.gate:
        state.roll[GATE_ON] = 1
    lane.running, lane.since, lane.finish = flat, clock, clock + run.left


@inner_kernel
def _dispatch(graph: Template, state: ScheduleState, server: int, clock: float) -> None:
    """Select the server's next task, and suspend a background task that must yield."""
    width, flat = len(graph.tasks), state.servers[server].running
    num_waiting = state.queue_lengths[server * 2] + (state.queue_lengths[server * 2 + 1] if flat < 0 else 0)
    if num_waiting == 0 and (graph.roll < 0 or graph.tasks[graph.roll].server != server):
        return  # no task that may run waits for the server
    rolling = flat >= 0 and state.tasks[flat].task == graph.roll
    if flat >= 0 and not rolling and not graph.tasks[state.tasks[flat].task].background:
        return
    line: Any = NO_CAUSE
    for queue in (server * 2 + 1, server * 2):
        if state.queue_lengths[queue] > 0 and (flat < 0 or rolling or queue == server * 2):
            line = queue
    goes_on = graph.roll >= 0 and graph.tasks[graph.roll].server == server and state.roll[ACTIVE] >= 0
    goes_on = goes_on and (state.roll[GATE_ON] == 1 or state.roll[WAITING] >= 0)
    if flat >= 0 and (line >= 0 or (rolling and not goes_on)):
        _suspend(graph, state, server, clock)
    if line >= 0 or (flat < 0 and goes_on):
        next_task = _pop(state, line) if line >= 0 else state.roll[ACTIVE] * width + graph.roll
        _start_task(graph, state, server, next_task, clock)


@inner_kernel
def _settle(graph: Template, state: ScheduleState, clock: float) -> None:
    while graph.roll >= 0 and _let_waiting_go(graph, state, clock):
        pass
    servers_to_choose, state.roll[TO_DISPATCH] = state.roll[TO_DISPATCH], 0
    for server in range(graph.servers):
        if servers_to_choose >> server % BITS & 1:
            _dispatch(graph, state, server, clock)
    if graph.roll >= 0:  # a started or ended gate task changes what the log's server may run
        _dispatch(graph, state, graph.tasks[graph.roll].server, clock)


@inner_kernel
def _finish(graph: Template, state: ScheduleState, server: int, stop: int, clock: float) -> int:
    """Complete the server's task.

    Return 1, or 0 for a rolling log and for a task from the flat index `stop` on, which are not counted.
    """
    lane = state.servers[server]
    flat, lane.running = lane.running, -1
    k = state.tasks[flat].task
    lane.last = flat
    state.roll[TO_DISPATCH] |= 1 << server % BITS
    if k == graph.roll:
        _complete_log(graph, state, clock)
        return 0
    state.tasks[flat].end = clock
    if k == graph.gate:
        state.roll[GATE_ON] = 0
    _release(graph, state, flat - k, k, flat, clock)
    return 1 if flat < stop else 0


@inner_kernel
def _next_completion(state: ScheduleState) -> float:
    soonest = np.inf
    for server in range(len(state.servers)):
        lane = state.servers[server]
        if lane.running >= 0 and lane.finish < soonest:
            soonest = lane.finish
    return soonest


@shared_kernel
def _open(graph: Template, state: ScheduleState) -> None:
    for k in range(len(graph.tasks)):
        if graph.tasks[k].first_needs == 0 and not graph.tasks[k].runs_ahead:
            _make_ready(graph, state, k, NO_CAUSE, 0.0)
    _settle(graph, state, 0.0)


@shared_kernel
def run_ahead(graph: Template, state: ScheduleState, first: int) -> None:
    """Run the tasks that wait for nothing but themselves, from held batch `first` on.

    They may be any number of batches ahead of other tasks.
    """
    width = len(graph.tasks)
    for k in range(width):
        flat = first * width + k
        predecessor: Any = NO_CAUSE
        clock = 0.0
        if graph.tasks[k].runs_ahead and first > 0:
            predecessor, clock = flat - width, state.tasks[flat - width].end
        for later in range(flat if graph.tasks[k].runs_ahead else state.roll[HELD] * width, state.roll[HELD] * width, width):
            run = state.tasks[later]
            run.start, run.ready, run.end, run.cause, run.waits = clock, clock, clock + run.left, predecessor, 0
            predecessor, clock = later, run.end


@inner_kernel
def _unfinished(graph: Template, state: ScheduleState, batches: int) -> int:
    """Return the number of tasks of the first `batches` held batches that have not ended; rolling logs do not count."""
    count, width = 0, len(graph.tasks)
    for n in range(batches):
        for k in range(width):
            count += k != graph.roll and np.isnan(state.tasks[n * width + k].end)
    return count


@shared_kernel
def advance(graph: Template, state: ScheduleState, batches: int) -> int:
    """Run the schedule until the first `batches` held batches have ended, in place in `state`.

    Return 0 for success, 1 for a deadlock, 2 if too many ready tasks wait for one server, or 3 if a task needs a batch after
    those that the state holds.
    """
    unfinished, stop = _unfinished(graph, state, batches), batches * len(graph.tasks)
    if state.roll[FIRST] == 0:
        _open(graph, state)
    while unfinished > 0 and state.roll[OVERFLOW] == 0:
        clock = _next_completion(state)
        if clock == np.inf:
            return 1
        for server in range(graph.servers):
            lane = state.servers[server]
            if lane.running >= 0 and lane.finish == clock:
                unfinished -= _finish(graph, state, server, stop, clock)
        _settle(graph, state, clock)
    return 1 + state.roll[OVERFLOW] if state.roll[OVERFLOW] else 0
