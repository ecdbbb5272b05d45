"""SSD: tables on NVMe drives with host DRAM as a row cache, embedding work on the host, redo log at batch end."""

from ...core.graph import Demand, TaskGraph
from ...core.work import RowReads, RowUpdates
from ...scenario.scenario import Scenario
from ..steps import shared
from ..system import Cache, LogPolicy, System
from ..traffic import Traffic, cached_rows


def plan(s: Scenario, w: LogPolicy, t: Traffic) -> TaskGraph:
    """Rows missing in the DRAM cache are read as blocks; each pushes out a row that must be written back."""
    fetch = (Demand("ssd", RowReads(t.misses, t.vector_bytes)), Demand("dram", RowReads(t.rows, t.vector_bytes)))
    evict = (Demand("ssd", RowUpdates(t.misses, t.row_bytes)), Demand("dram", RowUpdates(t.rows, t.row_bytes)))
    return TaskGraph(
        (
            shared.bottom_forward(s, ("Commit",)),
            shared.host_embedding(t, "Embedding lookup", fetch, after_previous=("Commit",)),
            shared.handoff("Forward hand-off", t.lookup_bytes, ("Bottom MLP forward", "Embedding lookup")),
            shared.top(s, ("Forward hand-off",)),
            shared.handoff("Backward hand-off", t.lookup_bytes, ("Top MLP",)),
            shared.bottom_backward(s, ("Backward hand-off",)),
            shared.host_embedding(t, "Embedding update", evict, ("Backward hand-off",)),
            shared.handoff("Checkpoint hand-off", 0.0, ("Bottom MLP backward", "Embedding update")),
            *shared.redo_checkpoint(t, "ssd", "pcie", ("Checkpoint hand-off",)),
        )
    )


SYSTEM = System(
    title="SSD",
    summary="Tables on NVMe SSD behind a DRAM cache, embedding work on the host CPU, redo log after every batch.",
    devices=("host", "gpu", "pcie", "ssd", "dram"),
    memory="ssd",
    plan=plan,
    log_policy=LogPolicy("redo", 0, False),
    cache=Cache("lru", cached_rows),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
