"""The training loop that drives a batch: what a system's plan launches is counted; what that costs is the framework's.

A GPU has a process of its own, or, where the host's one thread looks rows up too, all GPUs of a node share that. It calls
every kernel and collective, handles in Python the tables whose rows are pooled on GPUs, and brings in the samples' values. Queues
let it run ahead of the GPUs, so that a batch takes as long as the slower of both.
"""

from collections.abc import Iterable
from dataclasses import replace
from math import ceil

import numpy as np

from ..core.graph import Demand, Names, Task
from ..core.work import AllReduce, AllToAll, Amount, BottomMLP, DriveBatch, Pool, TopPart, Work, amounts
from ..hardware.device import gpus_in_node, nodes
from ..hardware.layers import kernels
from ..scenario.scenario import Scenario, per_table
from ..workload.bags import uneven_bags

NAME, LANE = "Training loop", "training loop"


def training_loop(after: Names = (), after_previous: Names = (NAME,), lane: str = LANE) -> Task:
    """The host's own software for a batch; it may run ahead of the GPUs, but not of itself. `driven` counts its work."""
    return Task(NAME, "Other", (Demand("host", DriveBatch(), lane),), after, after_previous)


def driven(s: Scenario, plan: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the plan with its training loop's work counted; where it has no loop, one is added that runs ahead."""
    mine = next((task for task in plan if task.name == NAME), training_loop())
    if mine not in plan and s.machine.framework == "none":
        return plan
    demand = replace(mine.demands[0], work=_counted(s, plan, mine.server[1] != LANE))
    tasks = plan if mine in plan else (*plan, mine)
    return tuple(replace(task, demands=(demand,)) if task is mine else task for task in tasks)


def _counted(s: Scenario, plan: tuple[Task, ...], for_all: bool) -> DriveBatch:
    """Count a batch's kernels and collectives, none where there is nothing to do, and what Python handles one by one."""
    demands = [demand for task in plan for demand in task.demands]
    on_gpu = [demand.work for demand in demands if demand.device == "gpu"]
    layers = [demand.work for demand in demands if isinstance(demand.work, BottomMLP | TopPart) and demand.device != "gpu"]
    called = [demand.work for demand in demands if isinstance(demand.work, AllToAll | AllReduce)]
    pooled = np.sign(_total(_done(work) for work in on_gpu if isinstance(work, Pool)))
    here = gpus_in_node(s.machine) if on_gpu else 1
    gpus = here if for_all else 1
    samples = gpus * ceil(s.data.batch_size / (s.machine.num_gpus if on_gpu else nodes(s.machine)))
    return DriveBatch(
        kernels=gpus * _total(kernels(work) * _done(work) for work in (*on_gpu, *layers)),
        collectives=_total(_done(work) for work in called),
        tables=s.model.num_tables * pooled,
        values=float(samples * (sum(per_table(s.model, "pooling")) + uneven_bags(s) + s.model.bottom_mlp[0] + 1)),
        processes=float(here // gpus),
    )


def _done(work: Work) -> Amount:
    """Return 1 where a piece of work is done, by the first of its amounts."""
    done: Amount = np.sign(next(amount for name, amount in amounts(work).items() if name != "skew"))
    return done


def _total(counts: Iterable[Amount]) -> Amount:
    return sum(counts, 0.0)
