"""The training loop: the host software that drives each batch, at the framework's cost.

Each GPU has a process of its own. Where one thread of the host also looks rows up, all GPUs of a node share one process instead.
The loop launches every kernel and collective of the plan, handles in Python the tables whose rows are pooled on GPUs, and reads
the samples' values. Because of queues, the loop can be ahead of the GPUs, so a batch takes as long as the slower of the two.
"""

from dataclasses import replace
from math import ceil

import numpy as np

from ..core.arithmetic import total
from ..core.graph import Demand, Names, Task
from ..core.points.numbers import as_float
from ..core.work import AllReduce, AllToAll, Amount, BottomMLP, DriveBatch, LayerWork, Pool, Work, amounts
from ..hardware.device import assumed_value, gpus_in_node, nodes
from ..hardware.framework import FRAMEWORKS
from ..hardware.layers import count_kernels
from ..scenario.scenario import Scenario, per_table
from ..workload.bags import uneven_bags

NAME, LANE, INPUT = "Training loop", "training loop", "Sparse features"


def training_loop(predecessors: Names = (), previous_batch_predecessors: Names = (NAME,), lane: str = LANE) -> Task:
    """Return the task of the training loop for a batch, with no work yet.

    `with_training_loop` counts its work. The loop may be ahead of the GPUs, but runs for one batch after the other.
    """
    return Task(NAME, "Other", (Demand("host", DriveBatch(), lane),), predecessors, previous_batch_predecessors)


def with_training_loop(s: Scenario, plan: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the plan with the work of its training loop counted.

    A plan without a loop gets a loop that may be ahead of the GPUs; under the framework "none" it gets no loop.
    """
    loop_task = next((task for task in plan if task.name == NAME), training_loop())
    if loop_task not in plan and s.machine.framework == "none":
        return plan
    demand = replace(loop_task.demands[0], work=_loop_work(s, plan, loop_task.server[1] != LANE))
    tasks = _with_input_in_turn(s, plan if loop_task in plan else (*plan, loop_task))
    tasks = tasks if loop_task.server[1] != LANE else tuple(map(_launched, tasks))
    return tuple(replace(task, demands=(demand,)) if task is loop_task else task for task in tasks)


def _launched(task: Task) -> Task:
    """Return a batch's first layers so that they wait until the loop has launched the previous batch; other tasks unchanged."""
    if not any(isinstance(demand.work, BottomMLP) and demand.work.direction == "forward" for demand in task.demands):
        return task
    return replace(task, previous_batch_predecessors=(*task.previous_batch_predecessors, NAME))


def _with_input_in_turn(s: Scenario, plan: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the plan whose input waits for the end of the previous batch, if the framework brings none ahead."""
    if assumed_value(s.machine, "host", FRAMEWORKS[s.machine.framework].input_ahead) >= 1:
        return plan
    training = [task for task in plan if task.name != NAME and not task.background]
    awaited = {name for task in training for name in task.predecessors}
    last = {task.name: None for task in training if task.name not in awaited}
    return tuple(
        replace(task, previous_batch_predecessors=tuple({**dict.fromkeys(task.previous_batch_predecessors), **last}))
        if task.name == INPUT
        else task
        for task in plan
    )


def _loop_work(s: Scenario, plan: tuple[Task, ...], for_all: bool) -> DriveBatch:
    """Return a batch's kernels and collectives, and the tables and values that Python handles.

    A task without work counts none.
    """
    demands = [demand for task in plan for demand in task.demands]
    on_gpu = [demand.work for demand in demands if demand.device == "gpu"]
    layers = [demand.work for demand in demands if isinstance(demand.work, LayerWork) and demand.device != "gpu"]
    called = [demand.work for demand in demands if isinstance(demand.work, AllToAll | AllReduce)]
    pooled = np.sign(total((_is_done(work) for work in on_gpu if isinstance(work, Pool)), 0.0))
    node_gpus = gpus_in_node(s.machine) if on_gpu else 1
    gpus = node_gpus if for_all else 1
    lookups, features = total(per_table(s.model, "pooling")), total(per_table(s.model, "features"))
    samples = gpus * ceil(s.data.batch_size / (s.machine.num_gpus if on_gpu else nodes(s.machine)))
    return DriveBatch(
        kernels=gpus * total((count_kernels(work) * _is_done(work) for work in (*on_gpu, *layers)), 0.0),
        collectives=total((_is_done(work) for work in called), 0.0),
        tables=s.model.num_tables * pooled,
        values=as_float(samples * (lookups + uneven_bags(s) + s.model.bottom_mlp[0] + 1)),
        further_ids=as_float(samples * max(0, lookups - features)),
        processes=float(node_gpus // gpus),
    )


def _is_done(work: Work) -> Amount:
    """Return 1 for work and 0 for none, by the first of its amounts."""
    sign: Amount = np.sign(next(amount for name, amount in amounts(work).items() if name != "skew"))
    return sign
