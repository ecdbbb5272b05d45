"""CXL-D: tables in CXL-MEM, hardware moves the data, redo log at batch end by the checkpointing logic.

With an undo log instead it is CXL-B: the log is all that the two differ in.
"""

from .. import blocks
from ..blocks_undo import undo_plan
from ..core.graph import TaskGraph
from ..scenario.scenario import Scenario
from ..system import System, Ways
from ..traffic import Traffic


def plan(s: Scenario, w: Ways, t: Traffic) -> TaskGraph:
    """As PCIe without hand-offs: each side starts when its inputs are there."""
    if w.log == "undo":
        return undo_plan(s, w, t)
    gpu = blocks.gpu_side(s, t, ("Embedding lookup",))
    return TaskGraph(
        (
            blocks.sparse_features(t, "cxl"),
            blocks.bottom_forward(s, ("Commit",)),
            blocks.near_lookup(s, t, "pmem", "cxl", "Embedding lookup", ("Sparse features",), ("Commit",)),
            *gpu.pooling,
            blocks.top(s, ("Bottom MLP forward", gpu.pooled)),
            *gpu.spreading,
            blocks.bottom_backward(s, gpu.trained),
            blocks.near_update(s, t, "pmem", "cxl", gpu.trained),
            *blocks.redo_checkpoint(t, "pmem", "cxl", ("Bottom MLP backward", "Embedding update")),
        )
    )


SYSTEM = System(
    title="CXL-D",
    summary="Tables in CXL-MEM with near-data logic; hardware moves data; redo log after every batch.",
    devices=("host", "gpu", "cxl", "near-data", "pmem"),
    memory="pmem",
    plan=plan,
    ways=Ways("redo", 0, False),
    near_data=True,
    logs=("undo",),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
