"""All in HBM: tables split over the memories of the GPUs, MLPs replicated; what every cache is measured against."""

from ...core.graph import TaskGraph
from ...scenario.scenario import Scenario
from ..steps import gpu, shared
from ..system import LogPolicy, System
from ..traffic import Traffic, table_bytes


def plan(s: Scenario, w: LogPolicy, t: Traffic) -> TaskGraph:
    """Indices, pooled vectors and their gradients cross between GPUs; nothing else leaves them."""
    indices, arrived = gpu.exchange(s, "Index all-to-all", t.feature_bytes, ("Sparse features",))
    pooled, forward = gpu.exchange(s, "Pooled all-to-all", t.pooled_bytes, ("Embedding lookup",))
    gradients, backward = gpu.exchange(s, "Gradient all-to-all", t.pooled_bytes, ("Top MLP",))
    return TaskGraph(
        (
            gpu.training_loop(),
            gpu.features(t, "Embedding lookup"),
            *indices,
            gpu.lookup(t, arrived, ("Embedding update",)),
            *pooled,
            shared.bottom_forward(s, ("Bottom MLP backward", *(("All-reduce",) if pooled else ()))),
            shared.top(s, ("Bottom MLP forward", *forward)),
            *gradients,
            shared.bottom_backward(s, ("Top MLP",)),
            *gpu.all_reduce(s, t, ("Bottom MLP backward",)),
            *gpu.update(t, t.rows, backward),
        )
    )


SYSTEM = System(
    title="All in HBM",
    summary="Tables model-parallel in GPU memory, MLPs data-parallel, no cache and no checkpoint.",
    devices=("host", "gpu", "pcie", "network"),
    memory="hbm",
    plan=plan,
    log_policy=LogPolicy("", 0, False),
    family="Caches in HBM",
    baseline="all-hbm",
    scales=True,
    places=lambda s: {"hbm": table_bytes(s)},
    cites=("facebookresearch/dlrm; pytorch/torchrec",),
)
