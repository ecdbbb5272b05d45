"""The installed TorchRec as an oracle: its estimates of a plan, its planner's plan, and our JSON as its own classes."""

import json
import logging
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torchrec import EmbeddingBagCollection, optim
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner, ParameterConstraints
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.types import Shard, ShardingOption, Topology
from torchrec.distributed.types import CacheParams
from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig

from engine.torchrec.answer import TorchRecRequest
from engine.torchrec.embedding_tables import TorchRecTable
from engine.torchrec.kernels import FUSED_UVM_CACHING
from engine.torchrec.planner_estimate import RankEstimate, ShardPerf
from engine.torchrec.pooling_factors import PoolingFactors
from engine.torchrec.sharding_plan import DATA_PARALLEL, GRID, SHARDING_TYPES
from engine.torchrec.topology import TorchRecTopology
from tests import ROOT
from tests.torchrec.drawn_tables import EstimateCase

PRICED_TYPES = [name for name in SHARDING_TYPES if name not in (DATA_PARALLEL, GRID)]  # the default without what we cannot price


OPTIMIZERS = {"sgd": optim.SGD, "rowwise-adagrad": optim.RowWiseAdagrad, "adagrad": optim.Adagrad, "adam": optim.Adam}


class Statistics:
    """Cache statistics as TorchRec's estimator asks for them."""

    def __init__(self, lookups: float, miss_rate: float) -> None:
        self.expected_lookups, self._miss_rate, self.cacheability = lookups, miss_rate, 0.5

    def expected_miss_rate(self, clf: float) -> float:
        """Return the same for any share of rows."""
        return self._miss_rate


def model(tables: Sequence[TorchRecTable]) -> torch.nn.Module:
    """Return a module with TorchRec's own collection of tables, without memory."""
    configs = [
        EmbeddingBagConfig(
            num_embeddings=table.rows,
            embedding_dim=table.dim,
            name=table.name,
            data_type=DataType[table.precision.upper()],
            feature_names=list(table.features),
        )
        for table in tables
    ]
    module = torch.nn.Module()
    module.sparse = EmbeddingBagCollection(tables=configs, device=torch.device("meta"))
    return module


def shape(request: TorchRecRequest, name: str) -> torch.Size:
    """Return the rows and columns of a table."""
    (match,) = (table for table in request.tables if table.name == name)
    return torch.Size((match.rows, match.dim))


def topology(ranks: TorchRecTopology) -> Topology:
    """Return TorchRec's own topology."""
    logging.disable(logging.WARNING)
    fields = ("world_size", "local_world_size", "pod_size", "hbm_mem_bw", "ddr_mem_bw", "ssd_mem_bw", "hbm_to_ddr_mem_bw")
    rates = ("intra_host_bw", "inter_host_bw", "bwd_compute_multiplier")
    arguments: dict[str, Any] = {name: getattr(ranks, name) for name in (*fields, *rates)}
    caps = {name: int(size) for name in ("hbm_cap", "ddr_cap") if (size := getattr(ranks, name))}
    return Topology(compute_device="cuda", **arguments, **caps, created_by_factory=True)


def constraints(
    tables: Sequence[TorchRecTable], pooling: PoolingFactors, caches: Mapping[str, CacheParams] | None = None
) -> dict[str, ParameterConstraints]:
    """Return what the planner is told of each table."""
    return {
        table.name: ParameterConstraints(
            sharding_types=PRICED_TYPES,
            compute_kernels=["fused"],
            pooling_factors=list(factors),
            min_partition=32,
            cache_params=(caches or {}).get(table.name),
        )
        for table, factors in zip(tables, pooling, strict=True)
    }


def planner_plan(tables: Sequence[TorchRecTable], pooling: PoolingFactors, ranks: TorchRecTopology, batch: int) -> str:
    """Return the plan of TorchRec's planner as TorchRec dumps it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        planner = EmbeddingShardingPlanner(
            topology=topology(ranks), batch_size=batch, constraints=constraints(tables, pooling), debug=False
        )
        return json.dumps(planner.plan(model(tables), [EmbeddingBagCollectionSharder()])._serialize())


def estimates(case: EstimateCase) -> list[list[RankEstimate]]:
    """Return the estimate of each shard of each table by TorchRec's own estimators."""
    module, inputs = model(case.tables), case.inputs
    parameters = dict(module.sparse.named_parameters())
    options = []
    for table, factors, sharding, optimizer in zip(case.tables, case.pooling, case.shardings, inputs.optimizers, strict=True):
        parameter = parameters[f"embedding_bags.{table.name}.weight"]
        parameter._optimizer_classes = [OPTIMIZERS[optimizer]]
        cache, params = sharding.cache, None
        if sharding.kernel == FUSED_UVM_CACHING and cache:
            statistics = Statistics(cache.lookups, cache.miss_rate) if cache.lookups is not None else None
            params = CacheParams(load_factor=cache.load_factor, prefetch_pipeline=cache.prefetch, stats=statistics)
        options.append(
            ShardingOption(
                name=table.name,
                tensor=parameter,
                module=("sparse", module.sparse),
                input_lengths=list(factors),
                batch_size=inputs.batch,
                sharding_type=sharding.sharding_type,
                partition_by="device",
                compute_kernel=sharding.kernel,
                shards=[
                    Shard(size=[s.rows, s.columns], offset=[s.row_offset, s.column_offset], rank=s.rank) for s in sharding.shards
                ],
                cache_params=params,
                is_pooled=True,
            )
        )
    enumerator = EmbeddingEnumerator(topology(inputs.topology), inputs.batch, constraints(case.tables, case.pooling))
    enumerator.enumerate(torch.nn.Module(), [EmbeddingBagCollectionSharder()])  # which makes the sharders known
    enumerator.populate_estimates(options)
    return [[_estimate(shard) for shard in option.shards] for option in options]


def _estimate(shard: Any) -> RankEstimate:
    perf = shard.perf
    times = perf.fwd_compute, perf.fwd_comms, perf.bwd_compute, perf.bwd_comms, perf.prefetch_compute, perf.input_dist_comms
    return RankEstimate(shard.storage.hbm, shard.storage.ddr, ShardPerf(*times))


def loaded(text: str) -> Any:
    """Return TorchRec's own ShardingPlan of a plan of ours, by the loader of docs/torchrec.md."""
    document = (ROOT / "docs" / "torchrec.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", document, re.S)
    names: dict[str, Any] = {}
    exec(examples[0], names)
    return names["sharding_plan"](text)
