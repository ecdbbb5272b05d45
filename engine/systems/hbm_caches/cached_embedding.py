"""CachedEmbedding: a software cache in HBM holds the most frequent rows of the tables.

All rows lie in host memory. Before each batch, software finds the rows that the cache misses, sends evicted rows to host memory,
and fetches the missing rows. This does not overlap with training. It is for tables that fit into host memory. Source: Fang et
al., arXiv 2208.05321, and hpcaitech/CachedEmbedding.
"""

from ...core.graph import Demand, Names, Stage, Task
from ...core.work import CacheSoftware, Copy, HostRows, Pool, Stream
from ...scenario.scenario import Scenario
from ..exchange import collectives
from ..loop import training_loop
from ..row_kinds import row_bytes
from ..steps import gpu
from ..system import Cache, Settled, System
from ..traffic import Traffic, cached_rows, num_rows, pooled_bytes, table_bytes

MAPS, INDEX_BYTES = 2, 8  # int64 maps as long as all tables


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch: first the cache's software, then training, without overlap.

    Rows of several batches can be fetched together; this divides only the fixed part of the software's time. Several GPUs each
    cache their part of the tables.
    """
    indices, arrived = collectives.index_exchange(settled)
    return (
        training_loop(("Missing rows to GPU",)),
        gpu.features(t, "Find misses"),
        *indices,
        *_tend(settled.scenario, t, arrived),
        *gpu.train_step(settled, t, t.rows, ("Scatter missing rows",), sharded=True),
    )


def _tend(s: Scenario, t: Traffic, arrived: Names) -> tuple[Task, ...]:
    """Return the tasks of the cache: find misses, send evicted rows home, bring missing rows.

    Evicted rows are always written back. Each GPU moves its rows over its own link, but all share the host's software and DRAM.
    `arrived`: tasks that bring the indices.
    """
    come, go, skew, times = t.misses * t.moved_nbytes, t.evicted * t.moved_nbytes, t.row_skew, 1 / s.policy.prefetch_batches
    find, loop = Pool(t.sort_bytes, skew=t.lookup_skew), ("Embedding update", *collectives.mlp_done(s), "Training loop")
    steps: tuple[tuple[str, Stage, Demand], ...] = (
        ("Cache software", "Embedding", Demand("host", CacheSoftware(times))),
        ("Gather evicted rows", "Embedding", Demand("gpu", Stream(go, skew=skew))),
        ("Evicted rows to host", "Transfer", Demand("pcie", Copy(go, pinned=False, skew=skew), gpu.FROM_GPU)),
        ("Scatter evicted rows", "Embedding", Demand("host", HostRows(t.evicted, t.moved_bytes, scatter=True))),
        ("Gather missing rows", "Embedding", Demand("host", HostRows(t.misses, t.moved_bytes))),
        ("Missing rows to GPU", "Transfer", Demand("pcie", Copy(come, skew=skew), gpu.TO_GPU)),
        ("Scatter missing rows", "Embedding", Demand("gpu", Stream(come, skew=skew))),
    )
    predecessors = ("Find misses", *(name for name, _, _ in steps))
    return (
        Task("Find misses", "Embedding", (Demand("gpu", find),), arrived, loop),
        *(
            Task(name, stage, (demand,), (predecessor,))
            for predecessor, (name, stage, demand) in zip(predecessors, steps, strict=False)
        ),
    )


def places(s: Scenario) -> dict[str, float]:
    """Return the bytes by memory: all rows in host memory, cached rows on the GPU.

    Each GPU also has two maps of the rows of its tables, and its vectors of a batch. With Criteo's 26 features, logs of published
    runs show 0.2 GiB in addition to rows and maps, about a batch's vectors. With Avazu's 13 features, whose vectors are half as
    many, the sum is within a few percent of the published 0.31 GiB.
    """
    maps = MAPS * INDEX_BYTES * num_rows(s)
    return {"dram": table_bytes(s), "hbm": cached_rows(s) * row_bytes(s) + maps + pooled_bytes(s)}


SYSTEM = System(
    title="CachedEmbedding",
    summary="Tables in host memory; a software cache in HBM holds the most frequent rows and is filled before each batch.",
    devices=("host", "gpu", "pcie", "network", "dram"),
    memory="dram",
    plan=plan,
    family="Caches in HBM",
    baseline="all-hbm",
    parts_kind="copied",
    one_node=True,
    cache=Cache(
        "frequency",
        cached_rows,
        ("lru", "lfu"),
        lambda s: s.policy.prefetch_batches,
        lambda s: s.policy.prefetch_batches,
    ),
    places=places,
    cites=("Fang et al., arXiv 2208.05321; hpcaitech/CachedEmbedding",),
)
