"""Input dedup: a GPU asks for each row of its batch once.

Before the exchange of indices the GPU sorts its ids. After the exchange of vectors it writes each vector to the lookups of its
row. Before the exchange of gradients it sums the gradients of each row. Source: pytorch/torchrec, KeyedJaggedTensor.
"""

from dataclasses import replace

from ...core.graph import Demand, Names, Task
from ...core.work import Amount, Pool
from ..traffic import Traffic

INDICES, VECTORS, GRADIENTS = "Index all-to-all", "Pooled all-to-all", "Gradient all-to-all"
SORT, SCATTER, SUM = "Input dedup", "Vector scatter", "Gradient sum"


def with_input_dedup(t: Traffic, plan: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the plan with the sort, the copies and the sums of input dedup.

    A plan without dedup, or whose GPUs do not exchange vectors, is returned as it is.
    """
    if t.sent_share == 1 or not any(task.name == VECTORS for task in plan):
        return plan
    copied = (1 + t.sent_share) * t.pooled_bytes
    tasks: list[Task] = []
    for task in plan:
        awaited = replace(task, predecessors=tuple(SCATTER if name == VECTORS else name for name in task.predecessors))
        if task.name == INDICES:
            tasks += [_gpu_task(SORT, t.sort_bytes, task.predecessors), replace(task, predecessors=(SORT,))]
        elif task.name == VECTORS:
            tasks += [task, _gpu_task(SCATTER, copied, (VECTORS,))]
        elif task.name == GRADIENTS:
            tasks += [_gpu_task(SUM, copied, awaited.predecessors), replace(task, predecessors=(SUM,))]
        else:
            tasks.append(awaited)
    return tuple(tasks)


def _gpu_task(name: str, nbytes: Amount, predecessors: Names) -> Task:
    """Return a task of the embedding stage that moves bytes in GPU memory."""
    return Task(name, "Embedding", (Demand("gpu", Pool(nbytes)),), predecessors)
