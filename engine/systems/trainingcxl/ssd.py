"""SSD: tables on NVMe drives, with host DRAM as a row cache.

The host CPU looks rows up, and a redo log is written after each batch. It is for tables larger than DRAM if there is no
persistent memory. Source: Kwon et al., IEEE Micro 43(2), 2023.
"""

from ...core.graph import Demand, Task
from ...core.work import RowReads, RowUpdates
from ..steps.shared import host_plan
from ..system import Cache, LogPolicy, Settled, System
from ..traffic import Traffic, cached_rows


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, which reads the rows that DRAM lacks as blocks.

    Each row read evicts a row, which must be written back.
    """
    fetch, evict = RowReads(t.misses, t.sizes.moved_row.vector), RowUpdates(t.misses, t.moved_bytes)
    cache = (Demand("dram", RowReads(t.rows, t.vector_bytes)),), (Demand("dram", RowUpdates(t.rows, t.row_bytes)),)
    return host_plan(settled.scenario, t, "ssd", fetch, evict, cache)


SYSTEM = System(
    title="SSD",
    summary="Tables on NVMe drives behind a cache in host DRAM, lookups on the host CPU, redo log after every batch.",
    devices=("host", "gpu", "pcie", "network", "ssd", "dram"),
    one_node=True,
    memory="ssd",
    plan=plan,
    log_policy=LogPolicy("redo"),
    cache=Cache("lru", cached_rows),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
