"""Tables, pooling factors, topologies and shardings as TorchRec has them, drawn by a seed."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from engine.scenario.presets import DEFAULT, preset
from engine.torchrec.answer import TorchRecRequest, read_request
from engine.torchrec.embedding_tables import TorchRecTable
from engine.torchrec.kernels import DENSE, FUSED, FUSED_UVM, FUSED_UVM_CACHING, KEY_VALUE, CacheSettings
from engine.torchrec.layout_rules import (
    COLUMN_WISE,
    DATA_PARALLEL,
    GRID,
    ROW_WISE,
    TABLE_COLUMN_WISE,
    TABLE_ROW_WISE,
    TABLE_WISE,
    TableShard,
    column_blocks,
    row_blocks,
)
from engine.torchrec.planner_estimate import PlannerInputs
from engine.torchrec.pooling_factors import PoolingFactors
from engine.torchrec.sharding_plan import TableSharding
from engine.torchrec.topology import TorchRecTopology

RANK_BATCH = 1024
OPTIMIZERS = ("sgd", "rowwise-adagrad", "adagrad", "adam")
SPLIT = {COLUMN_WISE, TABLE_COLUMN_WISE, GRID}


def table_set(seed: int, mixed: bool, system: str = "all-hbm") -> TorchRecRequest:
    """Return 8 to 200 tables on 2 to 16 GPUs; of unlike widths and precisions if `mixed`."""
    rng = Random(seed)
    number, world = round(8 * 25 ** rng.random()), rng.choice((2, 4, 8, 16))
    local = min(world, 8) if rng.random() < 0.7 else world // 2
    dim, data_type = rng.choice((64, 128, 256)), rng.choice(("FP16", "FP32"))
    tables = [
        {
            "name": f"t{table}",
            "num_embeddings": int(10 ** rng.uniform(3, 7)),
            "embedding_dim": rng.choice((32, 64, 128, 256, 512)) if mixed else dim,
            "data_type": rng.choice(("FP16", "FP32")) if mixed else data_type,
            "feature_names": [f"f{table}"],
        }
        for table in range(number)
    ]
    pooling = {f"f{table}": round(10 ** rng.uniform(0, 1.7)) for table in range(number)}
    topology = {"world_size": world, "local_world_size": local, "hbm_cap": 80 * 2**30, "batch_size": RANK_BATCH}
    return read_request(preset(DEFAULT).scenario, *map(json.dumps, (tables, topology, pooling)), {"system": system})


class EstimateCase(NamedTuple):
    """Shardings with all that the planner's formulas read."""

    tables: tuple[TorchRecTable, ...]
    pooling: PoolingFactors
    shardings: tuple[TableSharding, ...]
    inputs: PlannerInputs


def estimate_case(seed: int, tables: int = 14) -> EstimateCase:
    """Return tables with a sharding of each kind under a drawn kernel, on a drawn topology."""
    rng = Random(seed)
    local, nodes = rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 4))
    rates = {name: 10 ** rng.uniform(6, 9) for name in ("hbm_mem_bw", "ddr_mem_bw", "hbm_to_ddr_mem_bw", "ssd_mem_bw")}
    links = {name: 10 ** rng.uniform(6, 9) for name in ("intra_host_bw", "inter_host_bw")}
    pod = rng.choice([size for size in (1, 2, 4) if nodes % size == 0])
    topology = TorchRecTopology(local * nodes, local, pod, bwd_compute_multiplier=rng.uniform(1, 3), **rates, **links)
    case_tables, factors, shardings = [], [], []
    for number in range(tables):
        features = rng.randint(1, 3)
        table = TorchRecTable(
            f"t{number}",
            rng.randint(3, 10**6),
            4 * rng.randint(1, 128),
            rng.choice(("fp32", "fp16", "bf16", "int8")),
            tuple(f"f{number}_{feature}" for feature in range(features)),
        )
        case_tables.append(table)
        factors.append(tuple(round(10 ** rng.uniform(-1, 2), 3) for _ in range(features)))
        shardings.append(_sharding(rng, table, topology))
    optimizers = tuple(rng.choice(OPTIMIZERS) for _ in case_tables)
    return EstimateCase(tuple(case_tables), tuple(factors), tuple(shardings), PlannerInputs(topology, 512, optimizers))


def _sharding(rng: Random, table: TorchRecTable, topology: TorchRecTopology) -> TableSharding:
    kinds = (DATA_PARALLEL, TABLE_WISE, COLUMN_WISE, ROW_WISE, TABLE_ROW_WISE, TABLE_COLUMN_WISE, GRID)
    kind = rng.choice(kinds)
    kernel = DENSE if kind == DATA_PARALLEL else rng.choice((FUSED, FUSED, FUSED_UVM, FUSED_UVM_CACHING, KEY_VALUE))
    lookups = rng.choice((None, rng.uniform(0, 10**6)))
    cache = (
        CacheSettings("LRU", rng.uniform(0.01, 1), rng.random() < 0.5, lookups, rng.random())
        if kernel == FUSED_UVM_CACHING
        else None
    )
    return TableSharding(table.name, kind, kernel, tuple(_shards(rng, table, kind, topology)), cache)


def _shards(rng: Random, table: TorchRecTable, kind: str, topology: TorchRecTopology) -> Sequence[TableShard]:
    world = topology.world_size
    if kind == DATA_PARALLEL:
        return [TableShard(table.rows, table.dim, 0, 0, rank) for rank in range(world)]
    widths = [*column_blocks(table.dim, rng.randint(1, min(3, table.dim // 4)) if kind in SPLIT else 1)]
    spread = {ROW_WISE: world, TABLE_ROW_WISE: topology.group_size, GRID: topology.group_size}.get(kind, 1)
    shards: list[TableShard] = []
    start = 0
    for width in widths:
        first_rank = rng.randrange(0, world, spread)
        for place, (rows, offset) in enumerate(row_blocks(table.rows, spread)):
            shards.append(TableShard(rows, width, offset, start, first_rank + place))
        start += width
    return shards


def as_numbers(estimates: Any) -> list[list[float]]:
    """Return the estimates of shards as plain numbers, a list a shard: bytes of HBM and DRAM, then milliseconds."""
    return [[shard.hbm, shard.ddr, *shard.perf] for of_table in estimates for shard in of_table]
