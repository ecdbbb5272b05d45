"""All in HBM: tables split over the memories of the GPUs, MLPs replicated; what every cache is measured against."""

from .. import blocks, blocks_gpu
from ..core.graph import TaskGraph
from ..scenario.scenario import Scenario
from ..system import System, Ways
from ..traffic import Traffic, table_bytes


def plan(s: Scenario, w: Ways, t: Traffic) -> TaskGraph:
    """Indices, pooled vectors and their gradients cross between GPUs; nothing else leaves them."""
    indices, arrived = blocks_gpu.exchange(s, "Index all-to-all", t.feature_bytes, ("Sparse features",))
    pooled, forward = blocks_gpu.exchange(s, "Pooled all-to-all", t.pooled_bytes, ("Embedding lookup",))
    gradients, backward = blocks_gpu.exchange(s, "Gradient all-to-all", t.pooled_bytes, ("Top MLP",))
    return TaskGraph(
        (
            blocks_gpu.training_loop(),
            blocks_gpu.features(t, "Embedding lookup"),
            *indices,
            blocks_gpu.lookup(t, arrived, ("Embedding update",)),
            *pooled,
            blocks.bottom_forward(s, ("Bottom MLP backward", *(("All-reduce",) if pooled else ()))),
            blocks.top(s, ("Bottom MLP forward", *forward)),
            *gradients,
            blocks.bottom_backward(s, ("Top MLP",)),
            *blocks_gpu.all_reduce(s, t, ("Bottom MLP backward",)),
            *blocks_gpu.update(t, t.rows, backward),
        )
    )


SYSTEM = System(
    title="All in HBM",
    summary="Tables model-parallel in GPU memory, MLPs data-parallel, no cache and no checkpoint.",
    devices=("host", "gpu", "pcie", "network"),
    memory="hbm",
    plan=plan,
    ways=Ways("", 0, False),
    family="Caches in HBM",
    baseline="all-hbm",
    scales=True,
    places=lambda s: {"hbm": table_bytes(s)},
    cites=("facebookresearch/dlrm; pytorch/torchrec",),
)
