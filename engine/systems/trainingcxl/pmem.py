"""PMEM: tables in the host's persistent memory, embedding work on the host CPU, redo log at batch end."""

from ...core.graph import Demand, TaskGraph
from ...core.work import RowReads, RowUpdates
from ...scenario.scenario import Scenario
from ..steps import shared
from ..system import LogPolicy, System
from ..traffic import Traffic


def plan(s: Scenario, w: LogPolicy, t: Traffic) -> TaskGraph:
    """The host looks rows up and hands them over unpooled; three hand-offs a batch cost software time."""
    reads = (Demand("pmem", RowReads(t.rows, t.vector_bytes, t.raw_share)),)
    updates = (Demand("pmem", RowUpdates(t.rows, t.row_bytes)),)
    return TaskGraph(
        (
            shared.bottom_forward(s, ("Commit",)),
            shared.host_embedding(t, "Embedding lookup", reads, after_previous=("Commit",)),
            shared.handoff("Forward hand-off", t.lookup_bytes, ("Bottom MLP forward", "Embedding lookup")),
            shared.top(s, ("Forward hand-off",)),
            shared.handoff("Backward hand-off", t.lookup_bytes, ("Top MLP",)),
            shared.bottom_backward(s, ("Backward hand-off",)),
            shared.host_embedding(t, "Embedding update", updates, ("Backward hand-off",)),
            shared.handoff("Checkpoint hand-off", 0.0, ("Bottom MLP backward", "Embedding update")),
            *shared.redo_checkpoint(t, "pmem", "pcie", ("Checkpoint hand-off",)),
        )
    )


SYSTEM = System(
    title="PMEM",
    summary="Tables in host persistent memory, embedding work on the host CPU, redo log after every batch.",
    devices=("host", "gpu", "pcie", "pmem"),
    memory="pmem",
    plan=plan,
    log_policy=LogPolicy("redo", 0, False),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
