"""All in HBM: tables are divided over the memory of all GPUs, MLPs replicated.

It is the baseline for all caches in HBM, and the fastest system if the tables fit into GPU memory. A batch exchanges indices and
pooled vectors by all-to-all, and sums the MLPs' gradients by all-reduce. There is no checkpoint. Source: facebookresearch/dlrm,
pytorch/torchrec.
"""

from dataclasses import replace

from ...core.graph import Demand, Task
from ...core.work import Copy
from ..exchange import collectives
from ..steps import gpu
from ..steps.stashing import stashed_bytes
from ..system import Settled, System
from ..table_placement import skew
from ..traffic import Traffic

STASH_OUT, STASH_BACK = "Stash to host", "Stash to GPU"


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch: indices, vectors and gradients cross between GPUs.

    Lookups and pooled vectors that use replicated rows only do not cross. Only stashed bytes leave the GPUs for another memory.
    """
    batch = gpu.step_over_all(settled, t, ("Embedding update",), collectives.mlp_done(settled.scenario))
    return _with_stash(settled, batch) if stashed_bytes(settled.scenario) else batch


def _with_stash(settled: Settled, batch: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the tasks with the copies of a stash, parallel to all others.

    The stash goes out after the lookup and returns before the update.
    """
    nbytes, balance = stashed_bytes(settled.scenario), settled.placement.balance
    uneven = skew(balance.table_bytes) if balance else 1.0

    def copy(name: str, lane: str, predecessor: str) -> Task:
        return Task(name, "Transfer", (Demand("pcie", Copy(nbytes, handoffs=1, skew=uneven), lane),), (predecessor,))

    waiting = (
        replace(task, predecessors=(*task.predecessors, STASH_BACK)) if task.name == "Embedding update" else task
        for task in batch
    )
    return (*waiting, copy(STASH_OUT, gpu.FROM_GPU, "Embedding lookup"), copy(STASH_BACK, gpu.TO_GPU, STASH_OUT))


SYSTEM = System(
    title="All in HBM",
    summary="Tables divided over the memory of all GPUs, MLPs data-parallel; no cache and no checkpoint.",
    devices=("host", "gpu", "pcie", "network"),
    memory="hbm",
    plan=plan,
    family="Caches in HBM",
    baseline="all-hbm",
    parts_kind="gpus",
    kernel="hbm",
    can_replicate=True,
    can_stash=True,
    cites=("facebookresearch/dlrm; pytorch/torchrec",),
)
