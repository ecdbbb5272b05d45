"""TorchRec, UVM caching: a 32-way set-associative cache in HBM over host memory.

All rows lie in host memory, which GPU threads read and write directly (unified virtual memory). The rows of the next batch are
fetched into the cache while this batch trains. It is TorchRec's own way for tables larger than HBM. Source: pytorch/torchrec,
pytorch/FBGEMM.
"""

from ...core.graph import Task
from ...scenario.scenario import Scenario
from ..exchange import collectives
from ..loop import training_loop
from ..row_kinds import row_bytes
from ..steps import gpu, shared, uvm_cache
from ..system import Cache, Settled, System
from ..traffic import Traffic, cached_rows, num_rows, table_bytes


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch in a pipeline of four stages.

    The stages are input copy, input all-to-all, cache prefetch, and training (forward and backward). GPU threads move rows
    across the link themselves. A row is refused if its set is full of rows of this batch and the previous batch, or of rows used
    more often. A refused row stays in host memory, where each of its lookups reads it and its update reads and writes it.
    """
    s = settled.scenario
    indices, arrived = collectives.index_exchange(settled)
    pooled, forward = collectives.vector_exchange(settled, "Pooled all-to-all", ("Embedding lookup",))
    gradients, backward = collectives.vector_exchange(settled, "Gradient all-to-all", ("Top MLP",))
    in_hbm = gpu.lookup(t, uvm_cache.FILL_TASKS, ("Embedding update",), t.lookup_skew)
    spread, rewrite = gpu.update(t, t.rows, backward, skew=t.lookup_skew, row_skew=t.row_skew)
    lookup, update = uvm_cache.with_refused(in_hbm, rewrite, t, t.row_skew)
    return (
        training_loop(),
        gpu.features(t, "Find misses"),
        *indices,
        *uvm_cache.fill(t, t.sort_bytes, arrived, (lookup.name,), t.row_skew),
        lookup,
        *pooled,
        shared.bottom_forward(s, collectives.mlp_done(s)),
        shared.top(s, ("Bottom MLP forward", *forward)),
        *gradients,
        shared.bottom_backward(s, ("Top MLP",)),
        *collectives.all_reduce(s, t),
        spread,
        update,
    )


def places(s: Scenario) -> dict[str, float]:
    """Return the bytes by memory: all rows in host memory, cached rows on the GPU.

    The GPU also has a tag for each cached row, and some bytes of data for every row.
    """
    rows = cached_rows(s)
    return {"dram": table_bytes(s), "hbm": uvm_cache.kept_bytes(s, rows, rows * row_bytes(s), num_rows(s))}


SYSTEM = System(
    title="TorchRec, UVM caching",
    summary="Tables in host memory behind a 32-way set-associative cache in HBM, prefetched while the previous batch trains.",
    devices=("host", "gpu", "pcie", "network", "dram"),
    memory="dram",
    plan=plan,
    family="Caches in HBM",
    baseline="all-hbm",
    parts_kind="gpus",
    kernel="uvm-cache",
    cache=Cache("lru", cached_rows, ("lfu",), in_sets=True),
    places=places,
    cites=("pytorch/torchrec; pytorch/FBGEMM",),
)
