"""MTrainS: tables on drives behind caches in DRAM and PMEM; hottest rows in HBM.

It is for tables larger than HBM and DRAM, and needs fewer nodes than system dram-hbm-nodes. Rows of the next batch are fetched
from the drives while this batch trains. Only headline results are known, as we have read only the abstract: arXiv 2305.01515.
"""

import numpy as np

from ...core.arithmetic import total
from ...core.constants import Constant
from ...core.graph import Demand, Names, Task
from ...core.points.numbers import as_float
from ...core.row_sizes import joined_row_mix, mean_bytes
from ...core.work import Copy, RowReads, RowUpdates, Stream
from ...hardware.device import nodes
from ...scenario.scenario import Scenario
from ...units import GB
from ..exchange import collectives
from ..placement import USABLE, Levels, nbytes_by_tier, placement, table_tiers
from ..row_kinds import row_bytes
from ..steps import far_memory, gpu
from ..system import Settled, System
from ..table_placement import FarSkews
from ..traffic import Traffic, cached_rows

COMPACTION = Constant("compaction amplification", 2.5, "x", 1.5, 4, "unsourced", "RocksDB-like store; bytes written per byte")


def scm_rows(s: Scenario) -> float:
    """Return the number of rows that the PMEM of all nodes caches."""
    return (s.machine.pmem_capacity_GB or 0.0) * GB * nodes(s.machine) / row_bytes(s)


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch: rows outside HBM are fetched one batch ahead.

    They are not fetched during the update, as the cache must not change during the update.
    """
    s, evict = settled.scenario, _evict(settled.placement.far_skews, t)
    if s.policy.prefetch:
        fetch = _fetch(settled.placement.far_skews, t, ("Embedding lookup",), (), prefetch=True)
        return (fetch, evict, *far_memory.step(settled, t, t.far_rows, updated_after=(fetch.name,)))
    fetch = _fetch(
        settled.placement.far_skews, t, collectives.index_exchange(settled)[1], far_memory.end_of_batch(s), prefetch=False
    )
    return (fetch, evict, *far_memory.step(settled, t, t.far_rows, (fetch.name,)))


def _fetch(uneven: FarSkews, t: Traffic, predecessors: Names, previous_batch_predecessors: Names, prefetch: bool) -> Task:
    """Return the task that reads rows from all memories outside HBM.

    A missing row's whole block is read, and the row enters both caches.
    """
    level = Levels(*(far_memory.next_batch(rows) if prefetch else rows for rows in t.levels.T))
    (_, _, in_scm, on_drives), row = t.sizes.levels, t.sizes.far_row
    demands = (
        Demand("ssd", RowReads(level.drives, on_drives.row, skew=uneven.below_dram)),
        Demand("pmem", RowReads(level.scm, in_scm.row, skew=uneven.below_dram)),
        Demand("dram", RowReads(total(level) + level.scm + level.drives, row, skew=uneven.node)),
        Demand("pcie", Copy(total(level) * mean_bytes(row), skew=uneven.gpu), gpu.TO_GPU),
    )
    return Task("Prefetch" if prefetch else "Fetch rows", "Embedding", demands, predecessors, previous_batch_predecessors)


def _evict(uneven: FarSkews, t: Traffic) -> Task:
    """Return the task that moves evicted rows a level down.

    Each row that came in evicts a trained one. The drives' store rewrites the bytes that it compacts.
    """
    level, (_, _, in_scm, on_drives) = Levels(*t.levels.T), t.sizes.levels
    written_bytes = level.drives * mean_bytes(on_drives.row) * COMPACTION.value
    lower_row = joined_row_mix((in_scm.row, on_drives.row), (as_float(np.sum(level.scm)), as_float(np.sum(level.drives))))
    lower = RowUpdates(level.scm + level.drives, lower_row, skew=uneven.below_dram)
    return Task(
        "Evict rows",
        "Embedding",
        (Demand("ssd", Stream(written_bytes, skew=uneven.below_dram)), Demand("pmem", lower)),
        ("Embedding update",),
    )


def places(s: Scenario) -> dict[str, float]:
    """Return the bytes by memory: densest tables in HBM, then in DRAM, then on drives.

    DRAM also has its cache. PMEM holds only copies of rows, so it is not counted.
    """
    cache = cached_rows(s) * row_bytes(s)
    hbm, dram, ssd = nbytes_by_tier(s, placement(s, cache))
    return {"hbm": hbm, "dram": (dram + cache) / USABLE.value, "ssd": ssd}


SYSTEM = System(
    title="MTrainS",
    summary="Tables over HBM, DRAM, PMEM and drives of few nodes; rows are fetched one batch ahead.",
    devices=("host", "gpu", "pcie", "network", "dram", "pmem", "ssd"),
    memory="ssd",
    plan=plan,
    family="Scale-out",
    baseline="dram-hbm-nodes",
    parts_kind="tiers",
    places=places,
    tiers=lambda s: table_tiers(s, cached_rows(s) * row_bytes(s)),
    caches=lambda s: (cached_rows(s), scm_rows(s)),
    constants=(USABLE, COMPACTION),
    cites=("MTrainS, arXiv 2305.01515 (abstract)", "pytorch/FBGEMM, SSD table-batched embeddings"),
    confidence="headline only",
)
