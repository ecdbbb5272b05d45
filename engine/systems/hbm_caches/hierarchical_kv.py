"""HierarchicalKV: embedding tables are GPU hash tables over HBM and host memory.

HBM is a cache of the host's rows. With policy.cache_policy=hash, HBM and host memory are instead one table, in which the hash of
a row decides where the row lies. It is for tables whose ids are not numbered, or that grow. Source:
NVIDIA-Merlin/HierarchicalKV, NVIDIA/recsys-examples.
"""

import numpy as np

from ...core.graph import Demand, Names, Task
from ...core.points.numbers import as_array, as_float
from ...core.row_sizes import mean_bytes
from ...core.work import Pool
from ...scenario.scenario import Scenario, per_table
from ..exchange import collectives
from ..loop import training_loop
from ..row_kinds import kind_bytes
from ..steps import gpu, shared, uvm_cache
from ..system import Cache, Settled, System
from ..traffic import Traffic, cached_rows, num_rows

BUCKET = 128  # slots that a key can have
INDEX_BYTES = 8 + 8 + 1 + 4 / BUCKET  # bytes of a slot: key, score, digest, and its share of the bucket's count
ALIGNED = 16  # bytes: rows begin at multiples of it
PROBED = BUCKET + 32  # bytes read to find a key: the digests of its bucket, and the sector of the one key that matches
HASH = "hash"


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch: make ids unique, find rows, buffer and pool them.

    Kernels run one after the other; nothing is fetched ahead. If HBM is a cache, the rows that it lacks are fetched first, and
    evicted rows go to host memory. If HBM and host memory are one table (`policy.cache_policy=hash`), each row stays where its
    hash puts it: a row on the host is read once a batch across the link, and updated there.
    """
    s = settled.scenario
    indices, arrived = collectives.index_exchange(settled)
    pooled, forward = collectives.vector_exchange(settled, "Pooled all-to-all", ("Embedding lookup",))
    gradients, backward = collectives.vector_exchange(settled, "Gradient all-to-all", ("Top MLP",))
    find, rows_ready = _find(s, t, arrived)
    in_hbm = t.rows - t.refused if _hashed(s) else t.rows
    spread, rewrite = gpu.update(t, in_hbm, backward, skew=t.lookup_skew, row_skew=t.row_skew)
    return (
        training_loop(),
        gpu.features(t, "Unique ids"),
        *indices,
        *find,
        gpu.lookup(t, rows_ready, skew=t.lookup_skew),
        *pooled,
        shared.bottom_forward(s, collectives.mlp_done(s)),
        shared.top(s, ("Bottom MLP forward", *forward)),
        *gradients,
        shared.bottom_backward(s, ("Top MLP",)),
        *collectives.all_reduce(s, t),
        spread,
        uvm_cache.with_host_writes(rewrite, t.refused, t.moved_bytes, t.row_skew) if _hashed(s) else rewrite,
    )


def _find(s: Scenario, t: Traffic, arrived: Names) -> tuple[tuple[Task, ...], Names]:
    """Return the tasks that bring a batch's unique rows into HBM, and the last ones."""
    row = mean_bytes(t.vector_bytes)
    host_row = t.sizes.moved_row.vector
    host_bytes = t.refused * mean_bytes(host_row) if _hashed(s) else np.zeros_like(t.rows)
    unique = Task(
        "Unique ids", "Embedding", (Demand("gpu", Pool(t.sort_bytes, skew=t.lookup_skew)),), arrived, ("Embedding update",)
    )
    probe = Pool(t.rows * (PROBED + 2 * row) - host_bytes, skew=t.row_skew)
    if _hashed(s):
        find = Task("Find rows", "Embedding", (Demand("gpu", probe),), ("Unique ids",))
        return (unique, uvm_cache.with_host_reads(find, t.refused, host_row, t.row_skew)), ("Find rows",)
    cache_traffic = uvm_cache.cache_moves(t, ("Unique ids",), t.row_skew)
    find = Task("Find rows", "Embedding", (Demand("gpu", probe),), tuple(task.name for task in cache_traffic))
    return (unique, *cache_traffic, find), ("Find rows",)


def _hashed(s: Scenario) -> bool:
    """Return whether the tables are one hash table over HBM and host memory."""
    return s.policy.cache_policy == HASH


def places(s: Scenario) -> dict[str, float]:
    """Return the bytes by memory: index and some rows in HBM, rows on the host.

    If HBM is a cache, the host has all rows; if it is part of one table, the host has the other rows. One hash table has the
    rows of all tables, so that tables with the most popular rows take most of the cache.
    """
    rows = as_array(per_table(s.model, "num_embeddings"), np.float64)
    nbytes = as_float((rows * np.ceil(kind_bytes(s, "row") / ALIGNED) * ALIGNED).sum())
    share, slots = s.policy.cache_load_factor, _slots(num_rows(s))
    if _hashed(s):
        return {"dram": (1 - share) * nbytes, "hbm": share * nbytes + slots * INDEX_BYTES}
    return {"dram": nbytes, "hbm": share * nbytes + (slots + _slots(cached_rows(s))) * INDEX_BYTES}


def _slots(rows: float) -> float:
    """Return the slots of a hash table of so many rows: whole buckets."""
    return as_float(np.ceil(rows / BUCKET) * BUCKET)


SYSTEM = System(
    title="HierarchicalKV",
    summary="Tables as hash tables over HBM and host memory: HBM is a cache, or the hash of a row decides where it lies.",
    devices=("host", "gpu", "pcie", "network", "dram"),
    memory="dram",
    plan=plan,
    family="Caches in HBM",
    baseline="all-hbm",
    parts_kind="gpus",
    cache=Cache("lru", cached_rows, ("lfu", HASH), window=lambda s: 0 if _hashed(s) else 1),
    places=places,
    cites=("NVIDIA-Merlin/HierarchicalKV; NVIDIA/recsys-examples",),
)
