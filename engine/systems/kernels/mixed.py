"""Mixed kernels: some tables are looked up in HBM, others in host memory.

The GPU looks up rows in HBM. It reads other rows across the link itself, directly or through a cache that is filled while the
previous batch trains. At the same time the host looks up its own tables, sends their pooled vectors, and receives the gradients.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...core.graph import Demand, Names, Task
from ...core.memo import memoised
from ...core.row_sizes import mean_bytes
from ...core.work import Copy, Pool, RowReads, RowUpdates
from ...registry import load_variant
from ...scenario.scenario import Scenario, per_table
from ...workload.accesses import expected_accesses
from ...workload.caching.expected_cache import missed_rows
from ..exchange import collectives
from ..loop import training_loop
from ..placement import Tiers
from ..row_kinds import kind_bytes
from ..steps import gpu, shared, uvm_cache
from ..system import Cache, Settled, System, cache_policy
from ..traffic import Traffic, table_nbytes

HBM, UVM, UVM_CACHE, HOST = "hbm", "uvm", "uvm-cache", "host"
ON_GPU = "gpu"  # the group of all tables that the GPU looks up itself
TITLES = {HBM: "HBM", UVM_CACHE: "Cached", UVM: "UVM"}


def chosen_kernels(s: Scenario) -> tuple[str, ...]:
    """Return the kernel of each table, (T,)."""
    system_kernel: str = load_variant("systems", s.system).kernel
    kernels = s.policy.kernel if isinstance(s.policy.kernel, tuple) else (s.policy.kernel,) * s.model.num_tables
    return tuple(system_kernel if kernel == "auto" else kernel for kernel in kernels)


def tables_with(s: Scenario, *kernels: str) -> tuple[int, ...]:
    """Return the numbers of the tables that have one of the given kernels."""
    return tuple(table for table, kernel in enumerate(chosen_kernels(s)) if kernel in kernels)


def groups(s: Scenario) -> Mapping[str, tuple[int, ...]]:
    """Return the tables of each kernel, and of all GPU kernels together, without empty groups."""
    kernel_tables = {kernel: tables_with(s, kernel) for kernel in (HBM, UVM_CACHE, UVM, HOST)} | {ON_GPU: tables_with(s, *TITLES)}
    return {name: tables for name, tables in kernel_tables.items() if tables}


class Steps(NamedTuple):
    """The tasks of a batch for the tables of some kernels.

    forward, backward: tasks before and after the top MLP.
    looked_up: names of the tasks after which the pooled vectors are on the GPU.
    """

    forward: tuple[Task, ...] = ()
    backward: tuple[Task, ...] = ()
    looked_up: Names = ()


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of one batch; a kernel without tables adds no task."""
    s, group_traffic = settled.scenario, dict(t.groups)
    share = group_traffic[ON_GPU].lookups / t.lookups if ON_GPU in group_traffic else 0.0
    indices, arrived = collectives.index_exchange(settled, share=share)
    gradients, backward = collectives.vector_exchange(settled, "Gradient all-to-all", ("Top MLP",))
    on_gpu = _on_gpu(t, group_traffic, arrived, backward) if ON_GPU in group_traffic else Steps()
    host = _host(group_traffic[HOST], backward) if HOST in group_traffic else Steps()
    pooled, forward = collectives.vector_exchange(settled, "Pooled all-to-all", (*on_gpu.looked_up, *host.looked_up))
    features = (gpu.features(t, on_gpu.forward[0].name, share), *indices) if on_gpu.forward else ()
    return (
        training_loop(),
        *features,
        *on_gpu.forward,
        *host.forward,
        *pooled,
        shared.bottom_forward(s, collectives.mlp_done(s)),
        shared.top(s, ("Bottom MLP forward", *forward)),
        *gradients,
        shared.bottom_backward(s, ("Top MLP",)),
        *collectives.all_reduce(s, t),
        *on_gpu.backward,
        *host.backward,
    )


def _on_gpu(t: Traffic, group_traffic: Mapping[str, Traffic], arrived: Names, backward: Names) -> Steps:
    """Return the tasks of the GPU's own lookups, a kernel for the tables of each kind.

    Then the gradients of all are spread, and each kind is updated.
    """
    kinds = [name for name in (HBM, UVM_CACHE, UVM) if name in group_traffic]
    spread, _ = gpu.update(group_traffic[ON_GPU], t.rows, backward, skew=group_traffic[ON_GPU].lookup_skew)
    lookups, updates = zip(*(_kernel(t, name, group_traffic[name], arrived, spread.name) for name in kinds), strict=True)
    names = tuple(lookup.name for lookup in lookups)
    fill = (
        uvm_cache.fill(t, group_traffic[UVM_CACHE].sort_bytes, arrived, names, group_traffic[UVM_CACHE].row_skew)
        if UVM_CACHE in group_traffic
        else ()
    )
    return Steps((*fill, *lookups), (spread, *updates), names)


def _kernel(t: Traffic, kind: str, part: Traffic, arrived: Names, spread: str) -> tuple[Task, Task]:
    """Return lookup and update of the tables of one of the GPU's kernels."""
    title, nbytes = TITLES[kind], part.rows * mean_bytes(part.row_bytes)
    pool = Demand("gpu", Pool(part.gpu_lookup_bytes, skew=part.lookup_skew))
    ready = uvm_cache.FILL_TASKS if kind == UVM_CACHE else arrived
    lookup = Task(f"{title} lookup", "Embedding", (pool,), ready, (f"{title} update",))
    in_hbm = RowUpdates(part.rows, part.row_bytes, skew=part.row_skew)
    work = Demand("gpu", Pool(nbytes, skew=part.row_skew) if kind == UVM else in_hbm)
    update = Task(f"{title} update", "Embedding", (work,), (spread,))
    if kind == UVM:
        host_lookup = uvm_cache.with_host_reads(lookup, part.lookups, part.sizes.by_lookup.vector, part.lookup_skew)
        return host_lookup, uvm_cache.with_host_writes(update, part.rows, part.row_bytes, part.row_skew)
    return uvm_cache.with_refused(lookup, update, t, part.row_skew) if kind == UVM_CACHE else (lookup, update)


def _host(part: Traffic, backward: Names) -> Steps:
    """Return the host's tasks: lookups and pooling beside the GPU, vectors out, gradients in, update."""
    reads = Demand("dram", RowReads(part.rows, part.vector_bytes, skew=part.row_skew))
    writes = Demand("dram", RowUpdates(part.rows, part.row_bytes, skew=part.row_skew))

    def cross(name: str, lane: str, predecessors: Names) -> Task:
        return Task(name, "Transfer", (Demand("pcie", Copy(part.pooled_bytes, handoffs=1), lane),), predecessors)

    lookup = shared.host_embedding(part, "Host lookup", (reads,), ("Training loop",), ("Host update",), skew=part.lookup_skew)
    update = shared.host_embedding(part, "Host update", (writes,), ("Host gradients",), skew=part.lookup_skew, updates=True)
    return Steps(
        (lookup, cross("Host vectors", gpu.TO_GPU, ("Host lookup",))),
        (cross("Host gradients", gpu.FROM_GPU, backward), update),
        ("Host vectors",),
    )


def capacity_rows(s: Scenario) -> float:
    """Return the capacity of the cache in HBM, in rows."""
    rows = np.array(per_table(s.model, "num_embeddings"))
    return s.policy.cache_load_factor * float(rows[list(tables_with(s, UVM_CACHE))].sum())


@memoised(most=64)
def tiers(s: Scenario) -> Tiers:
    """Return each table's bytes by memory, and its unique rows outside HBM.

    For cached tables, these rows are the rows that the cache misses.
    """
    nbytes, unique_rows, kernels = table_nbytes(s), expected_accesses(s).unique_rows, np.array(chosen_kernels(s))
    is_cached, in_hbm = kernels == UVM_CACHE, kernels == HBM
    missed = missed_rows(s, cache_policy(s, CACHE), capacity_rows(s), tables=np.flatnonzero(is_cached).tolist())
    rows = is_cached * np.array(per_table(s.model, "num_embeddings"), dtype=np.float64)
    cached_rows = s.policy.cache_load_factor * rows
    hbm_bytes = in_hbm * nbytes + uvm_cache.kept_bytes(s, cached_rows, cached_rows * kind_bytes(s, "row"), rows)
    far_rows = np.where(in_hbm, 0.0, np.where(is_cached, missed, unique_rows))
    return Tiers({"hbm": hbm_bytes, "dram": np.where(in_hbm, 0.0, nbytes)}, np.array([far_rows, np.zeros_like(far_rows)]))


def places(s: Scenario) -> dict[str, float]:
    """Return the bytes of tables and cache in HBM and in host memory."""
    return {place: float(nbytes.sum()) for place, nbytes in tiers(s).nbytes_by_memory.items()}


CACHE = Cache("lru", capacity_rows, ("lfu",), in_sets=True, tables=lambda s: tables_with(s, UVM_CACHE))

MIXED = System(
    title="Mixed kernels",
    summary="Each table is looked up in the way that policy.kernel chooses for it.",
    devices=("host", "gpu", "pcie", "network", "dram"),
    memory="dram",
    plan=plan,
    parts_kind="kernels",
    cache=CACHE,
    tiers=tiers,
    places=places,
    groups=groups,
)
