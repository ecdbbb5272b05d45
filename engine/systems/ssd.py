"""SSD: tables on NVMe drives with host DRAM as a row cache, embedding work on the host, redo log at batch end."""

from .. import blocks
from ..core.graph import Demand, TaskGraph
from ..core.work import RowReads, RowUpdates
from ..scenario.scenario import Scenario
from ..system import Cache, System, Ways
from ..traffic import Traffic, cached_rows


def plan(s: Scenario, w: Ways, t: Traffic) -> TaskGraph:
    """Rows missing in the DRAM cache are read as blocks; each pushes out a row that must be written back."""
    fetch = (Demand("ssd", RowReads(t.misses, t.vector_bytes)), Demand("dram", RowReads(t.rows, t.vector_bytes)))
    evict = (Demand("ssd", RowUpdates(t.misses, t.row_bytes)), Demand("dram", RowUpdates(t.rows, t.row_bytes)))
    return TaskGraph(
        (
            blocks.bottom_forward(s, ("Commit",)),
            blocks.host_embedding(t, "Embedding lookup", fetch, after_previous=("Commit",)),
            blocks.handoff("Forward hand-off", t.lookup_bytes, ("Bottom MLP forward", "Embedding lookup")),
            blocks.top(s, ("Forward hand-off",)),
            blocks.handoff("Backward hand-off", t.lookup_bytes, ("Top MLP",)),
            blocks.bottom_backward(s, ("Backward hand-off",)),
            blocks.host_embedding(t, "Embedding update", evict, ("Backward hand-off",)),
            blocks.handoff("Checkpoint hand-off", 0.0, ("Bottom MLP backward", "Embedding update")),
            *blocks.redo_checkpoint(t, "ssd", "pcie", ("Checkpoint hand-off",)),
        )
    )


SYSTEM = System(
    title="SSD",
    summary="Tables on NVMe SSD behind a DRAM cache, embedding work on the host CPU, redo log after every batch.",
    devices=("host", "gpu", "pcie", "ssd", "dram"),
    memory="ssd",
    plan=plan,
    ways=Ways("redo", 0, False),
    cache=Cache("lru", cached_rows),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
