"""Long waits of GPUs for each other before collectives, by the framework's constant."""

from dataclasses import replace

import numpy as np

from ...core.graph import Demand, Stage, Task
from ...core.work import Agreement, AllGather, AllReduce, AllToAll, Pool
from ...hardware.framework import wait_seconds
from ...scenario.scenario import Scenario

COLLECTIVE_WAIT: Stage = "Collective wait"


def with_waits(s: Scenario, plan: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the plan with a wait before each collective, where waits are long.

    The framework says how long the GPUs wait for each other. Kernels that are queued already run during a wait. Collectives are
    called in the order of the plan, so that a wait begins once the collective before it has ended. Before a collective in the
    background, whose wait other batches would hide, the GPUs do nothing else while they wait.
    """
    if not wait_seconds(s.machine)[1]:
        return plan
    tasks, previous = list[Task](), tuple[str, ...]()
    for task in plan:
        work = task.demands[0].work
        if isinstance(work, AllToAll | AllReduce | AllGather):
            wait = Demand("network", Agreement(np.sign(work.nbytes)), excluded_from_busy=True)
            demands = (Demand("gpu", Pool(0.0), excluded_from_busy=True), wait) if task.background else (wait,)
            name = f"Wait for {task.name[0].lower()}{task.name[1:]}"
            after = tuple(dict.fromkeys((*task.predecessors, *previous)))
            tasks.append(Task(name, COLLECTIVE_WAIT, demands, after, task.previous_batch_predecessors))
            tasks.append(replace(task, predecessors=(name,), previous_batch_predecessors=()))
            previous = (task.name,)
        else:
            tasks.append(task)
    return tuple(tasks)
