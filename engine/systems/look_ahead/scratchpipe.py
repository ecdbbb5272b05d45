"""ScratchPipe: a pipeline fills a scratchpad in HBM, so that every lookup hits.

All rows lie in host memory. A pipeline of five stages fetches the rows of the next batches, and keeps the rows that a batch in
the pipeline uses. It is for tables in host memory, at nearly the speed of HBM. Only headline results are known: Kwon and Rhu,
arXiv 2205.04702.
"""

from ...core.graph import Demand, Task
from ...core.work import Copy, HostRows, Pool, Stream
from ..exchange import collectives
from ..loop import training_loop
from ..row_kinds import row_bytes
from ..steps import gpu
from ..system import Cache, Settled, System
from ..traffic import Traffic, cached_rows, table_bytes

STAGES_AHEAD = 4  # stages before training, each with a batch of its own
WINDOW = 6  # batches whose rows stay: three to be written, the present one, two to come


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch in five stages: Plan, Collect, Exchange, Insert, Train.

    At any time each stage works on another batch, so the slowest stage decides the step time. Several GPUs each have a scratchpad
    for their part of the tables; they share the host's threads and DRAM.
    """
    come, go, skew = t.misses * t.moved_nbytes, t.evicted * t.moved_nbytes, t.row_skew
    collect = (Demand("host", HostRows(t.misses, t.moved_bytes), "rows"), Demand("gpu", Stream(go, skew=skew)))
    exchange = (Demand("pcie", Copy(come, skew=skew), "exchange"), Demand("pcie", Copy(go, skew=skew)))
    insert = (Demand("host", HostRows(t.evicted, t.moved_bytes, scatter=True), "rows"), Demand("gpu", Stream(come, skew=skew)))
    indices, arrived = collectives.index_exchange(settled)
    return (
        training_loop(),
        *gpu.wait_tasks("Embedding update", STAGES_AHEAD),
        gpu.features(t, f"{STAGES_AHEAD} behind"),
        *indices,
        Task("Plan", "Embedding", (Demand("gpu", Pool(t.sort_bytes, skew=t.lookup_skew), "plan"),), arrived),
        Task("Collect", "Embedding", collect, ("Plan",)),
        Task("Exchange", "Transfer", exchange, ("Collect",)),
        Task("Insert", "Embedding", insert, ("Exchange",)),
        *gpu.train_step(settled, t, t.rows, ("Insert",), ("Embedding update",), sharded=True),
    )


SYSTEM = System(
    title="ScratchPipe",
    summary="Tables in host memory; a pipeline of five stages fills a scratchpad in HBM, so that every lookup hits.",
    devices=("host", "gpu", "pcie", "network", "dram"),
    memory="dram",
    plan=plan,
    family="Caches in HBM",
    baseline="all-hbm",
    parts_kind="copied",
    one_node=True,
    cache=Cache("lru", cached_rows, window=lambda s: WINDOW),
    places=lambda s: {"dram": table_bytes(s), "hbm": cached_rows(s) * row_bytes(s)},
    cites=("Kwon and Rhu, arXiv 2205.04702",),
    confidence="headline only",
)
