"""The estimates of TorchRec's planner for a plan, by the formulas of release 1.8.

An estimate has the milliseconds, HBM and DRAM of each rank. The formulas are the planner's, not those of this model: each lookup
reads its row at the memory's full rate, an exchange moves each vector once, and the times of a rank's shards are summed.
tests/torchrec compares the estimates with TorchRec's own estimators.
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from ..core.arithmetic import total
from .embedding_tables import TorchRecTable
from .kernels import DENSE, FUSED_UVM, FUSED_UVM_CACHING, KEY_VALUE
from .layout_rules import DATA_PARALLEL, GRID, ROW_WISE, TABLE_ROW_WISE, TableShard
from .pooling_factors import PoolingFactors
from .sharding_plan import TableSharding
from .topology import TorchRecTopology

INDEX_BYTES = 8
FULL_ELEMENT, HALF_ELEMENT = 4, 2  # bytes that the planner counts for fp32, and for all else
MIN_COLUMNS = 32  # columns that a lookup of a whole-row shard reads at least
FULL_BLOCK, HALF_BLOCK = 128, 64  # columns that fill a thread block, and half of one
HALF_PENALTY, QUARTER_PENALTY = 1.15, 1.75  # times as long as with a full block
BATCHED_COPY, ELEMENTWISE = 2.455, 9.22  # passes over gradients of sharded rows, and over a replicated table
UVM_SLOWDOWN = 10
MAP_BYTES, SLOT_BYTES = 4, 16  # of a cache, for each row of the table and each that it holds
DEFAULT_CACHE_SHARE = 0.2
STATE_PER_BYTE = {"sgd": 0.0, "adagrad": 1.0, "adam": 2.0}  # of a row's bytes, by optimizer


class ShardPerf(NamedTuple):
    """The planner's milliseconds of a batch, by part.

    forward_compute: lookup of rows.
    forward_comms: exchange of pooled vectors.
    backward_compute: update of rows.
    backward_comms: exchange of gradients.
    prefetch: fetching of missed rows.
    input_comms: exchange of indices, which the planner leaves out of its total.
    """

    forward_compute: float = 0.0
    forward_comms: float = 0.0
    backward_compute: float = 0.0
    backward_comms: float = 0.0
    prefetch: float = 0.0
    input_comms: float = 0.0

    @property
    def total(self) -> float:
        """The milliseconds by which the planner compares plans."""
        return self.forward_compute + self.forward_comms + self.backward_compute + self.backward_comms + self.prefetch


class RankEstimate(NamedTuple):
    """The planner's estimate of a shard or rank.

    hbm, ddr: bytes of HBM and of host DRAM. perf: milliseconds by part.
    """

    hbm: float
    ddr: float
    perf: ShardPerf


TableEstimates = tuple[RankEstimate, ...]


class PlannerInputs(NamedTuple):
    """The inputs of the planner's formulas besides the plan.

    topology: ranks and bandwidths.
    batch: samples of a rank.
    optimizers: the optimizer of each table, (T,), by Emberpool's names.
    """

    topology: TorchRecTopology
    batch: int
    optimizers: tuple[str, ...]


class _Amounts(NamedTuple):
    """A table's lookups and pooled vectors of one rank's samples, and the bytes of an element."""

    lookups: float
    vectors: float
    element_bytes: int


def shard_estimates(
    tables: Sequence[TorchRecTable], pooling: PoolingFactors, shardings: Sequence[TableSharding], inputs: PlannerInputs
) -> tuple[TableEstimates, ...]:
    """Return the planner's estimates of the shards of each table, (T,)."""
    table_inputs = zip(tables, pooling, shardings, inputs.optimizers, strict=True)
    return tuple(
        _table_estimates(table, factors, sharding, optimizer, inputs) for table, factors, sharding, optimizer in table_inputs
    )


def rank_estimates(shardings: Sequence[TableSharding], estimates: Sequence[TableEstimates], ranks: int) -> TableEstimates:
    """Return the planner's estimate of each rank, (P,): the sum over the rank's shards."""
    sums = [RankEstimate(0, 0, ShardPerf())] * ranks
    for sharding, table_estimates in zip(shardings, estimates, strict=True):
        for shard, estimate in zip(sharding.shards, table_estimates, strict=True):
            rank_sum = sums[shard.rank]
            perf = ShardPerf(*(rank_ms + shard_ms for rank_ms, shard_ms in zip(rank_sum.perf, estimate.perf, strict=True)))
            sums[shard.rank] = RankEstimate(rank_sum.hbm + estimate.hbm, rank_sum.ddr + estimate.ddr, perf)
    return tuple(sums)


def _table_estimates(
    table: TorchRecTable, factors: Sequence[float], sharding: TableSharding, optimizer: str, inputs: PlannerInputs
) -> TableEstimates:
    amounts = _Amounts(
        total(factor * inputs.batch for factor in factors),
        total(min(1.0, factor) * inputs.batch for factor in factors),
        FULL_ELEMENT if table.precision == "fp32" else HALF_ELEMENT,
    )
    return tuple(
        RankEstimate(
            *_storage(table, sharding, shard, amounts, optimizer, inputs.topology),
            _perf(sharding, shard, amounts, inputs.topology),
        )
        for shard in sharding.shards
    )


def _perf(sharding: TableSharding, shard: TableShard, amounts: _Amounts, topology: TorchRecTopology) -> ShardPerf:
    """Return the milliseconds of a shard.

    A rank with some of the rows has its share of the lookups, but sends all vectors.
    """
    world, split = topology.world_size, _split(sharding, topology)
    rate = _kernel_rate(sharding, topology)
    replicated = sharding.sharding_type == DATA_PARALLEL
    samples = 1 if replicated else world
    index_bytes = ceil(amounts.lookups / split * samples * INDEX_BYTES)
    width = max(shard.columns, MIN_COLUMNS) if _whole_rows(sharding) else shard.columns
    row_bytes = amounts.lookups / split * samples * width * amounts.element_bytes
    pooled_bytes = amounts.vectors * samples * shard.columns * amounts.element_bytes
    forward = (index_bytes + row_bytes + pooled_bytes) * (_block_penalty(shard.columns) if _whole_rows(sharding) else 1.0) / rate
    backward = forward * topology.bwd_compute_multiplier
    if replicated:
        return ShardPerf(forward, 0.0, backward, _replica_comms(shard, amounts, rate, topology))
    comms = _vector_comms(sharding, shard, amounts, topology)
    copy_ms = 0.0 if _whole_rows(sharding) else pooled_bytes * BATCHED_COPY / rate
    input_comms = ceil(amounts.lookups * world * INDEX_BYTES) / topology.bandwidth(world, topology.local_world_size)
    prefetch = _prefetched_rows(sharding) / split * shard.columns * amounts.element_bytes / topology.hbm_to_ddr_mem_bw
    return ShardPerf(forward, comms, backward, comms + copy_ms, prefetch, input_comms)


def _whole_rows(sharding: TableSharding) -> bool:
    """Return whether a shard has all rows of its columns, and is the only one."""
    return sharding.sharding_type not in (ROW_WISE, TABLE_ROW_WISE, GRID, DATA_PARALLEL)


def _split(sharding: TableSharding, topology: TorchRecTopology) -> int:
    """Return the number of ranks over which the planner spreads a shard's lookups."""
    if sharding.sharding_type == ROW_WISE:
        return topology.world_size
    return topology.group_size if sharding.sharding_type in (TABLE_ROW_WISE, GRID) else 1


def _kernel_rate(sharding: TableSharding, topology: TorchRecTopology) -> float:
    """Return the bytes a millisecond at which a kernel reads rows."""
    if sharding.kernel == FUSED_UVM_CACHING and not (sharding.cache and sharding.cache.prefetch):
        share = sharding.cache.load_factor if sharding.cache else DEFAULT_CACHE_SHARE
        return (share * topology.hbm_mem_bw + (1 - share) * topology.hbm_to_ddr_mem_bw) / UVM_SLOWDOWN
    rates = {DENSE: topology.hbm_mem_bw / 2, FUSED_UVM: topology.hbm_to_ddr_mem_bw / UVM_SLOWDOWN, KEY_VALUE: topology.ssd_mem_bw}
    return rates.get(sharding.kernel, topology.hbm_mem_bw)


def _block_penalty(columns: int) -> float:
    return 1.0 if columns >= FULL_BLOCK else HALF_PENALTY if columns >= HALF_BLOCK else QUARTER_PENALTY


def _vector_comms(sharding: TableSharding, shard: TableShard, amounts: _Amounts, topology: TorchRecTopology) -> float:
    """Return the milliseconds in which a shard's pooled vectors cross one way.

    Vectors of sharding by groups cross within a group, then between groups; others cross at once.
    """
    vector = amounts.vectors * shard.columns * amounts.element_bytes
    world, local, group = topology.world_size, topology.local_world_size, topology.group_size
    if sharding.sharding_type not in (TABLE_ROW_WISE, GRID):
        return vector * world / topology.bandwidth(world, local)
    groups = max(1, world // group)
    between_groups_ms = vector * groups / topology.bandwidth(groups, 1) if groups > 1 else 0.0
    return vector * world / topology.bandwidth(group, min(group, local)) + between_groups_ms


def _replica_comms(shard: TableShard, amounts: _Amounts, rate: float, topology: TorchRecTopology) -> float:
    """Return the milliseconds in which the gradients of a whole table are summed and added."""
    size = shard.rows * shard.columns * amounts.element_bytes
    nodes = min(topology.world_size / topology.local_world_size, 2)
    reduce_ms = size * (2 * nodes - 1) / nodes / (topology.inter_host_bw * topology.local_world_size)
    return reduce_ms * (2 if topology.world_size > 2 * topology.local_world_size else 1) + size * ELEMENTWISE / rate


def _prefetched_rows(sharding: TableSharding) -> float:
    """Return the rows that a batch is expected to fetch into a cache, 0 where that is unknown."""
    cache = sharding.cache
    return cache.miss_rate * (cache.lookups or 0.0) if cache and sharding.kernel == FUSED_UVM_CACHING else 0.0


def _storage(
    table: TorchRecTable,
    sharding: TableSharding,
    shard: TableShard,
    amounts: _Amounts,
    optimizer: str,
    topology: TorchRecTopology,
) -> tuple[int, int]:
    """Return a shard's bytes of HBM and of host DRAM.

    Rows count with their optimizer's state, the cache with its maps, a batch with its input and output.
    """
    elements, replicated = table.rows * table.dim, sharding.sharding_type == DATA_PARALLEL
    size, in_host = elements * amounts.element_bytes, sharding.kernel in (FUSED_UVM, FUSED_UVM_CACHING)
    share = (
        (sharding.cache.load_factor if sharding.cache else DEFAULT_CACHE_SHARE) if sharding.kernel == FUSED_UVM_CACHING else 0.0
    )

    def with_state(nbytes: int) -> int:
        part = nbytes if replicated else ceil(nbytes * (shard.rows * shard.columns) / elements)
        return part + ceil(part * STATE_PER_BYTE.get(optimizer, 1 / table.dim))

    maps = ceil(shard.rows * (MAP_BYTES + share * SLOT_BYTES)) if share else 0
    table_bytes = 0 if sharding.kernel == KEY_VALUE else with_state(round(size * share) if in_host else size) + maps
    samples = 1 if replicated else topology.world_size
    batch_bytes = ceil(amounts.lookups / _split(sharding, topology) * samples * INDEX_BYTES)
    batch_bytes += ceil(amounts.vectors * samples * shard.columns * amounts.element_bytes)
    return table_bytes + (batch_bytes if shard.rows or _whole_rows(sharding) else 0), with_state(size) if in_host else 0
