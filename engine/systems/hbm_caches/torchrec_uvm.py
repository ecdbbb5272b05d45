"""TorchRec with UVM caching: a 32-way set-associative cache in HBM over tables in host memory, filled while GPUs train."""

from ...core.graph import Demand, Names, Task
from ...core.work import Amount, Direct, Pool
from ...scenario.scenario import Scenario
from ..loop import training_loop
from ..row_kinds import row_bytes
from ..steps import gpu, shared
from ..system import Cache, Settled, System
from ..traffic import Traffic, cached_rows, num_rows, table_bytes

TAG = STAMP = COUNT = 8  # bytes: the number of a cached row; when it was last used, or, by LFU, how often each row was
TABLE = 4  # bytes for each row: the table that it belongs to


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Four stages in flight: input copy, input all-to-all, cache prefetch, and forward with backward of the batch before.

    GPU threads move rows across the link themselves; a row that its set refuses, being full of its own batch or of rows used
    more often, stays in host memory, where it is read once and, by its update, read and written again.
    """
    s = settled.scenario
    indices, arrived = gpu.index_exchange(settled)
    pooled, forward = gpu.vector_exchange(settled, "Pooled all-to-all", ("Embedding lookup",))
    gradients, backward = gpu.vector_exchange(settled, "Gradient all-to-all", ("Top MLP",))
    homeless = t.refused * t.moved_nbytes
    return (
        training_loop(),
        gpu.features(t, "Find misses"),
        *indices,
        Task(
            "Find misses",
            "Embedding",
            (Demand("gpu", Pool(t.sort_bytes), "prefetch"),),
            arrived,
            ("Embedding lookup",),
        ),
        _direct("Evicted rows to host", t.evicted * t.moved_nbytes - homeless, t.row_skew, gpu.DOWN, ("Find misses",)),
        _direct(
            "Missing rows to GPU",
            t.misses * t.moved_nbytes - homeless,
            t.row_skew,
            gpu.UP,
            ("Evicted rows to host",),
        ),
        gpu.lookup(t, ("Missing rows to GPU",), ("Embedding update",), t.lookup_skew),
        _direct("Refused lookups", homeless, t.row_skew, "uvm", ("Embedding lookup",)),
        *pooled,
        shared.bottom_forward(s, gpu.mlp_done(s)),
        shared.top(s, ("Bottom MLP forward", "Refused lookups", *forward)),
        *gradients,
        shared.bottom_backward(s, ("Top MLP",)),
        *gpu.all_reduce(s, t),
        _direct("Refused updates", 2 * homeless, t.row_skew, "uvm", backward),
        *gpu.update(t, t.rows, ("Refused updates",), skew=t.lookup_skew, row_skew=t.row_skew),
    )


def _direct(name: str, nbytes: Amount, skew: Amount, lane: str, after: Names) -> Task:
    return Task(name, "Transfer", (Demand("pcie", Direct(nbytes, skew=skew), lane),), after)


def places(s: Scenario) -> dict[str, float]:
    """All rows in host memory; on the GPU the cached ones with their tags, and what is kept of every row."""
    counted = s.policy.cache_policy == "lfu"
    cached = cached_rows(s) * (row_bytes(s) + TAG + (0 if counted else STAMP))
    return {"dram": table_bytes(s), "hbm": cached + num_rows(s) * (TABLE + (COUNT if counted else 0))}


SYSTEM = System(
    title="TorchRec, UVM caching",
    summary="Rows in host memory behind a 32-way set-associative cache in HBM, prefetched while the batch before trains.",
    devices=("host", "gpu", "pcie", "network", "dram"),
    memory="dram",
    plan=plan,
    family="Caches in HBM",
    baseline="all-hbm",
    shards="gpus",
    cache=Cache("lru", cached_rows, ("lfu",), in_sets=True),
    places=places,
    cites=("pytorch/torchrec; pytorch/FBGEMM",),
)
