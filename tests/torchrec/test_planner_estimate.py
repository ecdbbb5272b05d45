"""Are the planner's estimates those of TorchRec's estimators, recorded, and by hand where a page of paper is enough?"""

import json

import numpy as np
import pytest

from engine.torchrec.embedding_tables import TorchRecTable
from engine.torchrec.kernels import FUSED, KERNELS
from engine.torchrec.layout_rules import SHARDING_TYPES, TABLE_WISE, TableShard
from engine.torchrec.planner_estimate import PlannerInputs, rank_estimates, shard_estimates
from engine.torchrec.sharding_plan import TableSharding
from engine.torchrec.topology import TorchRecTopology
from tests import ROOT
from tests.torchrec.drawn_tables import as_numbers, estimate_case

RECORDED = json.loads((ROOT / "tests/data/torchrec_estimates.json").read_text(encoding="utf-8"))["estimates"]


def test_estimates_are_those_that_torchrecs_estimators_recorded() -> None:
    for seed, recorded in RECORDED.items():
        found = as_numbers(shard_estimates(*estimate_case(int(seed))))
        np.testing.assert_allclose(found, recorded, rtol=1e-12, err_msg=f"seed {seed}")


def test_the_record_has_every_way_of_sharding_and_every_kernel() -> None:
    cases = [sharding for seed in RECORDED for sharding in estimate_case(int(seed)).shardings]
    assert {sharding.sharding_type for sharding in cases} == {*SHARDING_TYPES}
    assert {sharding.kernel for sharding in cases} == {*KERNELS}
    assert any(sharding.cache and sharding.cache.lookups for sharding in cases)


def test_a_whole_table_takes_what_a_page_of_paper_says() -> None:
    table = TorchRecTable("t", 1000, 128, "fp32", ("f",))
    whole = TableSharding("t", TABLE_WISE, FUSED, (TableShard(1000, 128, 0, 0, 1),))
    inputs = PlannerInputs(TorchRecTopology(2, 2), 512, ("adam",))
    estimates = shard_estimates([table], ((10.0,),), [whole], inputs)
    indices, rows, vectors = 10 * 1024 * 8, 10 * 1024 * 512, 1024 * 512
    gb_ms = 1024**3 / 1000
    forward = (indices + rows + vectors) / (897 * gb_ms)
    crossing = vectors / (600 * gb_ms)
    ((shard,),) = estimates
    assert shard.perf.total == pytest.approx(3 * forward + 2 * crossing)
    assert (shard.hbm, shard.ddr) == (3 * 1000 * 512 + indices + vectors, 0)
    ranks = rank_estimates([whole, whole], [*estimates, *estimates], 2)
    assert ranks[0].hbm == ranks[0].perf.total == 0
    assert ranks[1].hbm == 2 * shard.hbm and ranks[1].perf.total == pytest.approx(2 * shard.perf.total)
