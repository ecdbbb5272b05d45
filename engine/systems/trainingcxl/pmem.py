"""PMEM: tables in the host's persistent memory, with lookups on the host CPU.

A redo log is written after each batch. It is the baseline of the TrainingCXL paper. Source: Kwon et al., IEEE Micro 43(2), 2023.
"""

from ...core.graph import Task
from ...core.work import RowReads, RowUpdates
from ..steps.shared import host_plan
from ..system import LogPolicy, Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, which reads and updates rows in persistent memory."""
    lines = t.missed_lines, t.written_back_lines
    reads = RowReads(t.rows, t.vector_bytes, t.raw_share, "host", *lines, skew=t.row_skew)
    updates = RowUpdates(t.rows, t.row_bytes, missed_lines=t.refetched_lines, clean_lines=t.clean_lines, skew=t.row_skew)
    return host_plan(settled.scenario, t, "pmem", reads, updates)


SYSTEM = System(
    title="PMEM",
    summary="Tables in the host's persistent memory, lookups and updates on the host CPU, redo log after every batch.",
    devices=("host", "gpu", "pcie", "network", "pmem"),
    one_node=True,
    memory="pmem",
    plan=plan,
    parts_kind="modules",
    log_policy=LogPolicy("redo"),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
