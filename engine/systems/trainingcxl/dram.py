"""DRAM: CXL with DRAM instead of PMEM and no checkpoint; fast, and everything is lost with the power."""

from ...core.graph import TaskGraph
from ...scenario.scenario import Scenario
from ..steps import shared
from ..system import LogPolicy, System
from ..traffic import Traffic


def plan(s: Scenario, w: LogPolicy, t: Traffic) -> TaskGraph:
    """Lookup beside the bottom MLP, update beside its backward, nothing logged."""
    gpu = shared.gpu_side(s, t, ("Embedding lookup",))
    barrier = ("Embedding update", "Bottom MLP backward")
    return TaskGraph(
        (
            shared.sparse_features(t, "cxl"),
            shared.bottom_forward(s, barrier),
            shared.near_lookup(s, t, "dram", "cxl", "Embedding lookup", ("Sparse features",), barrier),
            *gpu.pooling,
            shared.top(s, ("Bottom MLP forward", gpu.pooled)),
            *gpu.spreading,
            shared.bottom_backward(s, gpu.trained),
            shared.near_update(s, t, "dram", "cxl", gpu.trained),
        )
    )


SYSTEM = System(
    title="DRAM",
    summary="The ideal: all tables in DRAM behind CXL, no checkpoint; a power loss starts training again.",
    devices=("host", "gpu", "cxl", "near-data", "dram"),
    memory="dram",
    plan=plan,
    near_data=True,
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
