"""All in HBM: tables split over the memories of the GPUs, MLPs replicated; what every cache is measured against."""

from ...core.graph import Task
from ..steps import gpu
from ..system import Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Indices, vectors and gradients cross between GPUs, but those of replicated rows; nothing else leaves them."""
    return gpu.step_over_all(settled, t, ("Embedding update",), gpu.mlp_done(settled.scenario))


SYSTEM = System(
    title="All in HBM",
    summary="Tables model-parallel in GPU memory, MLPs data-parallel, no cache and no checkpoint.",
    devices=("host", "gpu", "pcie", "network"),
    memory="hbm",
    plan=plan,
    family="Caches in HBM",
    baseline="all-hbm",
    shards="gpus",
    kernel="hbm",
    replicates=True,
    cites=("facebookresearch/dlrm; pytorch/torchrec",),
)
