"""P4: the event schedule of 50 tasks a batch on 8 devices, compared with SimPy.

Finish times must be equal to the bit.
"""

from typing import Any

import numpy as np

from benchmarks.benchmark import Benchmark, interleaved
from engine.core.graph import Demand, Task, TaskGraph
from engine.core.jit import entry_kernel
from engine.core.work import Move
from engine.hardware.device import Device
from engine.schedule.kernels.events import advance
from engine.schedule.kernels.held import reset_state
from engine.schedule.kernels.template import ScheduleState, Template, initial_state
from engine.schedule.timeline import Timeline, timeline

TASKS, DEVICES, BATCHES = 50, 8, 1000


def graph(rng: np.random.Generator) -> TaskGraph:
    """Return a random task graph whose first task waits for the previous batch's last task."""
    tasks = []
    for k in range(TASKS):
        after = tuple(f"t{j}" for j in sorted({int(j) for j in rng.integers(max(0, k - 6), k, 2)})) if k else ()
        demand = Demand(f"d{rng.integers(DEVICES)}", Move(rng.uniform(1.0, 2.0, BATCHES)))
        tasks.append(Task(f"t{k}", "Other", (demand,), after, () if k else (f"t{TASKS - 1}",)))
    return TaskGraph(tuple(tasks))


def by_simpy(tasks: TaskGraph) -> np.ndarray:
    """Return the finish times of a graph's tasks by SimPy, (batches, tasks)."""
    import simpy

    world = simpy.Environment()
    servers = {f"d{i}": simpy.Resource(world) for i in range(DEVICES)}
    done = [[world.event() for _ in tasks.tasks] for _ in range(BATCHES)]
    ends = np.zeros((BATCHES, TASKS))

    def work(n: int, k: int, task: Task) -> Any:
        before = [done[n][tasks.index(name)] for name in task.predecessors]
        before += [done[n - 1][tasks.index(name)] for name in task.previous_batch_predecessors] if n else []
        if before:
            yield world.all_of(before)
        with servers[task.server[0]].request() as turn:
            yield turn
            yield world.timeout(float(task.demands[0].work.nbytes[n]))
        ends[n, k] = world.now
        done[n][k].succeed()

    for n in range(BATCHES):
        for k, task in enumerate(tasks.tasks):
            world.process(work(n, k, task))
    world.run()
    return ends


def schedule(line: Timeline) -> ScheduleState:
    """Schedule a timeline's machine once more, as the peer does: without averages."""
    graph, state = line.template, initial_state(line.template)
    _schedule(graph, state, line.kind, line.layout.accounts, line.demand_costs)
    return state


@entry_kernel
def _schedule(graph: Template, state: ScheduleState, kind: Any, accounts: Any, taken: Any) -> None:
    reset_state(graph, state, kind, accounts, taken, 0)
    advance(graph, state, graph.batches)


def run() -> tuple[float, float, bool]:
    """Schedule one random graph by both; return both times, and whether finish times are equal."""
    tasks = graph(np.random.default_rng(4))
    devices = {f"d{i}": Device(f"d{i}", "", {Move: lambda rates, work: work.nbytes}) for i in range(DEVICES)}
    line = timeline(tasks, devices, BATCHES)
    ends = schedule(line).tasks["end"].reshape(line.end.shape)
    equal = bool(np.array_equal(ends, by_simpy(tasks)))
    ours, peer = interleaved(lambda: schedule(line), lambda: by_simpy(tasks))
    return ours, peer, equal


BENCHMARK = Benchmark("P4", "event schedule, 50 tasks x 8 devices", "SimPy", "simpy", 300, 600, run)
