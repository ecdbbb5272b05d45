"""The installed TorchRec as an oracle: its estimates of a plan, its planner's plan, our JSON as its own classes, and training.

As a program it trains the plans of standard input on ranks of this CPU, beside one rank: see `trained_lookups`.
"""

import json
import logging
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import torch
from torch import distributed
from torchrec import EmbeddingBagCollection, KeyedJaggedTensor, optim
from torchrec.distributed import DistributedModelParallel
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner, ParameterConstraints
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.types import Shard, ShardingOption, Topology
from torchrec.distributed.types import CacheParams
from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig
from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward

from engine.torchrec.answer import TorchRecRequest
from engine.torchrec.embedding_tables import TorchRecTable
from engine.torchrec.kernels import FUSED_UVM_CACHING
from engine.torchrec.layout_rules import DATA_PARALLEL, GRID, SHARDING_TYPES
from engine.torchrec.planner_estimate import RankEstimate, ShardPerf
from engine.torchrec.pooling_factors import PoolingFactors
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


def model(tables: Sequence[TorchRecTable], device: str = "meta") -> torch.nn.Module:
    """Return a module with TorchRec's own collection of tables, by default without memory."""
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
    module.sparse = EmbeddingBagCollection(tables=configs, device=torch.device(device))
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


def trained_lookups(cases: Sequence[tuple[Sequence[TorchRecTable], str]], local: int) -> list[tuple[Any, Any]]:
    """Return the pooled vectors of each case, (tables, plan), as a plan's ranks and as one rank look them up.

    Ranks are processes of this CPU; `local` of them are a node. Between the batches all rows in use are trained. Vectors are by
    rank, batch and feature.
    """
    program = [sys.executable, "-m", "tests.oracles.installed_torchrec"]
    environment = {**os.environ, "LOCAL_WORLD_SIZE": str(local), "WORLD_SIZE": str(WORLD), "MASTER_ADDR": "127.0.0.1"}
    run = subprocess.run(
        program, input=json.dumps(cases), capture_output=True, text=True, cwd=ROOT, env=environment, timeout=600, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    by_rank, alone = json.loads(run.stdout.splitlines()[-1])
    return [([ranks[case] for ranks in by_rank], alone[case]) for case in range(len(cases))]


WORLD, BATCHES, SAMPLES, LOOKUPS = 4, 3, 8, 3


def _batch(tables: Sequence[TorchRecTable], batch: int, rank: int) -> KeyedJaggedTensor:
    """Return a rank's lookups, the same for any plan."""
    draw = torch.Generator().manual_seed(WORLD * batch + rank)
    features = [(feature, table.rows) for table in tables for feature in table.features]
    rows = torch.cat([torch.randint(0, rows, (SAMPLES * LOOKUPS,), generator=draw) for _, rows in features])
    return KeyedJaggedTensor([feature for feature, _ in features], rows, lengths=torch.full((SAMPLES * len(features),), LOOKUPS))


def _initial_rows(table: TorchRecTable) -> torch.Tensor:
    """Return rows of which no two are alike."""
    return (torch.arange(table.rows * table.dim) % 9973 / 9973.0).reshape(table.rows, table.dim)


def _alone(tables: Sequence[TorchRecTable]) -> list[list[dict[str, Any]]]:
    """Train on one rank, and return what each rank's samples look up."""
    module = model(tables, "cpu")
    for table in tables:
        module.sparse.embedding_bags[table.name].weight.data.copy_(_initial_rows(table))
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE / WORLD)
    vectors: list[list[dict[str, Any]]] = [[] for _ in range(WORLD)]
    for batch in range(BATCHES):
        pooled = [module.sparse(_batch(tables, batch, rank)) for rank in range(WORLD)]
        for by_batch, own in zip(vectors, pooled, strict=True):
            by_batch.append({key: vector.tolist() for key, vector in own.to_dict().items()})
        optimizer.zero_grad()
        torch.stack([own.values().square().sum() for own in pooled]).sum().backward()
        optimizer.step()
    return vectors


RATE = 0.1  # of SGD; TorchRec divides gradients by the number of ranks


def _of_rank(tables: Sequence[TorchRecTable], plan: str, rank: int) -> list[dict[str, Any]]:
    """Train a plan's shards as a rank, and return what its samples look up."""
    module = model(tables, "cpu")
    apply_optimizer_in_backward(torch.optim.SGD, module.sparse.parameters(), {"lr": RATE})
    on_cpu = re.sub(r"/cuda:\d+", "/cpu", plan)
    sharders: Any = [EmbeddingBagCollectionSharder()]
    parallel = DistributedModelParallel(module, plan=loaded(on_cpu), sharders=sharders, device=torch.device("cpu"))
    states = parallel.state_dict()
    for table in tables:
        for shard in states[f"sparse.embedding_bags.{table.name}.weight"].local_shards():
            (row, column), (rows, columns) = shard.metadata.shard_offsets, shard.metadata.shard_sizes
            shard.tensor.detach().copy_(_initial_rows(table)[row : row + rows, column : column + columns])
    vectors = []
    for batch in range(BATCHES):
        pooled = parallel.module.sparse(_batch(tables, batch, rank)).wait()
        vectors.append({key: vector.tolist() for key, vector in pooled.to_dict().items()})
        pooled.values().square().sum().backward()
    return vectors


def _work_as_rank(rank: int, cases: Any, port: int, results: Any) -> None:
    os.environ.update(RANK=str(rank), MASTER_PORT=str(port))
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", rank=rank, world_size=WORLD, timeout=timedelta(seconds=120))
    results.put((rank, [_of_rank(tables, plan, rank) for tables, plan in cases]))
    distributed.barrier()


def _train_standard_input() -> None:
    """Train the cases of standard input, and print the vectors of the ranks and of one rank as JSON."""
    cases = [([TorchRecTable(*fields) for fields in tables], plan) for tables, plan in json.load(sys.stdin)]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = multiprocessing.get_context("fork")
    results = processes.Queue()
    ranks = [processes.Process(target=_work_as_rank, args=(rank, cases, port, results)) for rank in range(WORLD)]
    for process in ranks:
        process.start()
    by_rank = dict(results.get(timeout=300) for _ in ranks)
    for process in ranks:
        process.join()
    print(json.dumps([[by_rank[rank] for rank in range(WORLD)], [_alone(tables) for tables, _ in cases]]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    _train_standard_input()
