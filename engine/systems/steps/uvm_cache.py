"""Tasks of GPUs whose threads access rows in host memory themselves (UVM).

Some systems have a cache in HBM that holds some of these rows.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ...core.graph import Demand, Names, Task
from ...core.row_sizes import RowBytes
from ...core.work import Amount, Direct, Pool
from ...scenario.scenario import Scenario
from ..traffic import Traffic
from . import gpu

TAG = STAMP = COUNT = 8  # bytes: number of a cached row; time of its last use, or, by LFU, each row's count
TABLE = 4  # bytes of each row's table number
FILL_TASKS = ("Evicted rows to host", "Missing rows to GPU")


def fill(t: Traffic, sort_bytes: Amount, predecessors: Names, lookups: Names, skew: Amount) -> tuple[Task, ...]:
    """Return the tasks that bring the rows that a batch's cache misses into the cache.

    They run after the tasks `lookups` of the previous batch: some GPU threads evict and load row by row. Rows whose set is full
    of locked rows stay in host memory. The search for missing rows sorts `sort_bytes`.
    """
    find = Demand("gpu", Pool(sort_bytes), "prefetch")
    return (Task("Find misses", "Embedding", (find,), predecessors, lookups), *cache_moves(t, ("Find misses",), skew))


def cache_moves(t: Traffic, predecessors: Names, skew: Amount) -> tuple[Task, ...]:
    """Return the tasks that move evicted rows to the host, missing rows to the GPU.

    GPU threads do both at the same time. Refused rows do not move.
    """
    ways = (("Evicted rows to host", t.evicted, gpu.FROM_GPU), ("Missing rows to GPU", t.misses, gpu.TO_GPU))
    return tuple(
        Task(name, "Transfer", (Demand("pcie", Direct(rows - t.refused, t.moved_bytes, skew=skew), lane),), predecessors)
        for name, rows, lane in ways
    )


def with_host_reads(task: Task, rows: Amount, row_bytes: RowBytes, skew: Amount) -> Task:
    """Return a lookup that also reads `rows` rows from host memory, across the link."""
    return replace(task, demands=(*task.demands, Demand("pcie", Direct(rows, row_bytes, skew=skew), gpu.TO_GPU)))


def with_host_writes(task: Task, rows: Amount, row_bytes: RowBytes, skew: Amount) -> Task:
    """Return an update that also reads and writes `rows` rows of host memory.

    The rows cross the link in both directions.
    """
    ways = (Demand("pcie", Direct(rows, row_bytes, skew=skew), lane) for lane in (gpu.TO_GPU, gpu.FROM_GPU))
    return replace(task, demands=(*task.demands, *ways))


def with_refused(lookup: Task, update: Task, t: Traffic, skew: Amount) -> tuple[Task, Task]:
    """Return a lookup and an update that include the rows that a cache refused.

    A refused row stays in host memory: it is read for each lookup, and read and written once for its update.
    """
    is_missed = t.misses > 0
    lookups_per_row = np.where(is_missed, t.missed_lookups / np.where(is_missed, t.misses, 1.0), 1.0)  # of a row that it misses
    reads = with_host_reads(lookup, t.refused * lookups_per_row, t.sizes.moved_row.vector, skew)
    return reads, with_host_writes(update, t.refused, t.moved_bytes, skew)


def kept_bytes(s: Scenario, rows: Any, cached_bytes: Any, all_rows: Any) -> Any:
    """Return the bytes of a cache in HBM.

    They are `cached_bytes` of rows, a tag for each of the cached `rows`, and some data for each of `all_rows`.
    """
    has_counts = s.policy.cache_policy == "lfu"
    return cached_bytes + rows * (TAG + (0 if has_counts else STAMP)) + all_rows * (TABLE + (COUNT if has_counts else 0))
