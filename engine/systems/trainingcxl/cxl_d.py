"""CXL-D: tables in CXL-MEM, hardware moves the data, redo log at batch end by the checkpointing logic.

With an undo log instead it is CXL-B: the log is all that the two differ in.
"""

from ...core.graph import TaskGraph
from ...scenario.scenario import Scenario
from ..steps import shared
from ..steps.shared import undo_plan
from ..system import LogPolicy, System
from ..traffic import Traffic


def plan(s: Scenario, w: LogPolicy, t: Traffic) -> TaskGraph:
    """As PCIe without hand-offs: each side starts when its inputs are there."""
    if w.log == "undo":
        return undo_plan(s, w, t)
    gpu = shared.gpu_side(s, t, ("Embedding lookup",))
    return TaskGraph(
        (
            shared.sparse_features(t, "cxl"),
            shared.bottom_forward(s, ("Commit",)),
            shared.near_lookup(s, t, "pmem", "cxl", "Embedding lookup", ("Sparse features",), ("Commit",)),
            *gpu.pooling,
            shared.top(s, ("Bottom MLP forward", gpu.pooled)),
            *gpu.spreading,
            shared.bottom_backward(s, gpu.trained),
            shared.near_update(s, t, "pmem", "cxl", gpu.trained),
            *shared.redo_checkpoint(t, "pmem", "cxl", ("Bottom MLP backward", "Embedding update")),
        )
    )


SYSTEM = System(
    title="CXL-D",
    summary="Tables in CXL-MEM with near-data logic; hardware moves data; redo log after every batch.",
    devices=("host", "gpu", "cxl", "near-data", "pmem"),
    memory="pmem",
    plan=plan,
    log_policy=LogPolicy("redo"),
    near_data=True,
    logs=("undo",),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
