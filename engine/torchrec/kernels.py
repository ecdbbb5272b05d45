"""TorchRec's compute kernel for each table, by the memory that holds its rows."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..errors import BadKnob
from ..systems.kernels.mixed import HBM, HOST, chosen_kernels
from ..systems.kernels.mixed import UVM as DIRECT
from ..systems.kernels.mixed import UVM_CACHE as CACHED_ROWS
from ..systems.system import Settled, cache_policy, cached_tables
from ..workload.accesses import expected_accesses
from ..workload.caching.expected_cache import expected_moves

FUSED, DENSE, FUSED_UVM, FUSED_UVM_CACHING, KEY_VALUE = "fused", "dense", "fused_uvm", "fused_uvm_caching", "key_value"
KERNELS = (FUSED, DENSE, FUSED_UVM, FUSED_UVM_CACHING, KEY_VALUE)
TORCHREC_KERNELS: Mapping[str, str] = {
    HBM: FUSED,
    DIRECT: FUSED_UVM,
    CACHED_ROWS: FUSED_UVM_CACHING,
}  # of kernels that tables have by policy.kernel
# The kernel of tables in each memory of the systems whose plans TorchRec can run, from the fastest memory down.
KERNELS_BY_SYSTEM: Mapping[str, Mapping[str, str]] = {
    "all-hbm": {"hbm": FUSED},
    "torchrec-uvm": {"dram": FUSED_UVM_CACHING},
    "dram-hbm-nodes": {"hbm": FUSED, "dram": FUSED_UVM},
    "mtrains": {"hbm": FUSED, "dram": FUSED_UVM, "ssd": KEY_VALUE},
}
MEMORY_TITLES = {
    FUSED: "HBM",
    DENSE: "HBM of each GPU",
    FUSED_UVM: "host DRAM",
    FUSED_UVM_CACHING: "host DRAM, cache in HBM",
    KEY_VALUE: "drives, cache in HBM",
}


class CacheSettings(NamedTuple):
    """The cache of a table in HBM.

    algorithm: "LRU" or "LFU".
    load_factor: share of the table's rows that the cache holds.
    prefetch: whether rows are fetched while the previous batch trains.
    lookups: expected unique rows of a batch over all ranks, None where unknown.
    miss_rate: expected share of these rows that are not in the cache.
    """

    algorithm: str
    load_factor: float
    prefetch: bool = False
    lookups: float | None = None
    miss_rate: float = 0.0


class TableKernel(NamedTuple):
    """The compute kernel of a table, and its cache where the kernel has one."""

    kernel: str
    cache: CacheSettings | None = None


def system_names() -> str:
    """Return the names of the systems whose plans TorchRec can run, for sentences."""
    *names, last_name = KERNELS_BY_SYSTEM
    return f"{', '.join(names)} or {last_name}"


def table_kernels(settled: Settled) -> tuple[TableKernel, ...]:
    """Return the kernel of each table, (T,), under a settled system.

    Raises BadKnob for a system that TorchRec cannot run.
    """
    s, system = settled.scenario, settled.system
    if system.groups:
        return _mixed_kernels(settled)
    memories = KERNELS_BY_SYSTEM.get(s.system)
    if memories is None:
        raise BadKnob(f"system={s.system} has no plan that TorchRec can run; choose {system_names()}.")
    if system.tiers:
        bytes_by_memory = system.tiers(s).nbytes_by_memory
        lowest = [*memories.values()][-1]
        place = [np.asarray(bytes_by_memory[memory]) > 0 for memory in memories if memory in bytes_by_memory]
        names = [kernel for memory, kernel in memories.items() if memory in bytes_by_memory]
        return tuple(
            TableKernel(next((name for name, lies in zip(names, place, strict=True) if lies[table]), lowest))
            for table in range(s.model.num_tables)
        )
    (kernel,) = memories.values()
    caches = _caches(settled) if system.cache else (None,) * s.model.num_tables
    return tuple(TableKernel(kernel, cache) for cache in caches)


def _mixed_kernels(settled: Settled) -> tuple[TableKernel, ...]:
    """Return the kernel that policy.kernel gives each table; raises BadKnob for host, which TorchRec lacks."""
    kernels = chosen_kernels(settled.scenario)
    if HOST in kernels:
        raise BadKnob(
            f"policy.kernel=host of table {kernels.index(HOST)} is not a kernel of TorchRec; choose hbm, uvm or uvm-cache."
        )
    caches = _caches(settled) if settled.system.cache else (None,) * len(kernels)
    return tuple(
        TableKernel(TORCHREC_KERNELS[kernel], cache if kernel == CACHED_ROWS else None)
        for kernel, cache in zip(kernels, caches, strict=True)
    )


def _caches(settled: Settled) -> tuple[CacheSettings | None, ...]:
    """Return the cache of each table with its expected use; misses are shared out by unique rows."""
    s, cache = settled.scenario, settled.system.cache
    if cache is None:
        return ()
    policy, unique, tables = cache_policy(s, cache), expected_accesses(s).unique_rows, cached_tables(s, cache)
    misses = expected_moves(s, policy, cache.rows(s), cache.at_once(s), tables).misses
    algorithm = "LFU" if policy.startswith("lfu") else "LRU"
    rate = float(misses / (unique if tables is None else unique[list(tables)]).sum())
    return tuple(CacheSettings(algorithm, s.policy.cache_load_factor, True, float(rows), rate) for rows in unique)
