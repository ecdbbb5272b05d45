"""SimPy, the peer of P4 and P7: tasks are processes, and lanes are resources.

A resource serves the first process that requests it.
"""

from typing import Any

import numpy as np

from engine.core.graph import TaskGraph


def ends(graph: TaskGraph, seconds: np.ndarray) -> np.ndarray:
    """Return the end of each task in each batch, (batches, tasks), for given durations.

    seconds: the duration of each task in each batch. The graph has foreground tasks only.
    """
    import simpy

    world, tasks = simpy.Environment(), graph.tasks
    servers = {task.server: simpy.Resource(world) for task in tasks}
    after = [[graph.index(name) for name in task.predecessors] for task in tasks]
    previous = [[graph.index(name) for name in task.previous_batch_predecessors] for task in tasks]
    done = [[world.event() for _ in tasks] for _ in seconds]
    found = np.zeros(seconds.shape)

    def work(n: int, k: int) -> Any:
        before = [done[n][j] for j in after[k]] + ([done[n - 1][j] for j in previous[k]] if n else [])
        if before:
            yield world.all_of(before)
        with servers[tasks[k].server].request() as turn:
            yield turn
            yield world.timeout(float(seconds[n, k]))
        found[n, k] = world.now
        done[n][k].succeed()

    for n in range(len(seconds)):
        for k in range(len(tasks)):
            world.process(work(n, k))
    world.run()
    return found
