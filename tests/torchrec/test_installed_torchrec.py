"""Does the installed TorchRec read and train our plans, estimate as we say, and plan no better than we do by our cost?

`UNIFORM` and `MIXED` are seeds of drawn table sets: tables alike, and of unlike widths and precisions.
"""

import importlib
import json
import warnings
from importlib.util import find_spec
from itertools import pairwise
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from engine.errors import BadInput
from engine.scenario.presets import DEFAULT, preset
from engine.torchrec.answer import read_request, torchrec_answer
from engine.torchrec.embedding_tables import TorchRecTable
from engine.torchrec.layout_rules import RankLayout, table_forms
from engine.torchrec.plan_json import plan_content, read_plan
from engine.torchrec.planner_estimate import shard_estimates
from engine.torchrec.sharding_plan import plan_knob
from tests.cases import draw
from tests.torchrec.drawn_tables import RANK_BATCH, as_numbers, estimate_case, table_set

UNIFORM, MIXED = range(10), range(100, 110)
SETS = [(seed, False) for seed in UNIFORM] + [(seed, True) for seed in MIXED]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """Return the installed TorchRec, whose import warns of what it deprecates."""
    assert find_spec("torchrec"), "make slow installs TorchRec; see requirements-torchrec.txt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("tests.oracles.installed_torchrec")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_estimates_are_those_of_the_installed_estimators(oracle: ModuleType) -> None:
    for seed in range(100, 140):
        case = estimate_case(seed)
        found, theirs = as_numbers(shard_estimates(*case)), as_numbers(oracle.estimates(case))
        np.testing.assert_allclose(found, theirs, rtol=1e-12, err_msg=f"seed {seed}")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("system", ["all-hbm", "torchrec-uvm"])
@pytest.mark.parametrize("seed", [1, 7, 8])
def test_torchrecs_own_plan_is_made_of_our_json(oracle: ModuleType, seed: int, system: str) -> None:
    asked = table_set(seed, mixed=False, system=system)
    written = plan_content(torchrec_answer(asked).plan.shardings, asked.topology.local_world_size, "sparse")
    plan = oracle.loaded(json.dumps(written))
    dumped = plan._serialize()["plan"]["sparse"]
    for name, table in written["plan"]["sparse"].items():
        cache = table.pop("cache_params", None)
        assert dumped[name] == table
        own = plan.plan["sparse"][name].cache_params
        assert (own is None) == (cache is None) and (cache is None or own.load_factor == cache["load_factor"])
        own_spec = plan.plan["sparse"][name].sharding_spec
        own_spec.build_metadata(oracle.shape(asked, name), None)  # raises where shards do not tile the table


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("seed", "mixed"), draw(SETS, 8))
def test_our_plan_is_never_slower_than_that_of_torchrecs_planner(oracle: ModuleType, seed: int, mixed: bool) -> None:
    asked = table_set(seed, mixed)
    theirs = oracle.planner_plan(asked.tables, asked.pooling, asked.topology, RANK_BATCH)
    found = torchrec_answer(asked, theirs)
    assert found.imported_plan is not None and found.plan.step_ms is not None and found.imported_plan.sentences == ()
    assert found.imported_plan.step_ms is None or found.plan.step_ms <= found.imported_plan.step_ms * (1 + 1e-9)


TYPES = {"table_wise", "column_wise", "row_wise", "table_row_wise", "table_column_wise", "grid_shard"}


def drawn_plan(seed: int, local: int) -> tuple[tuple[TorchRecTable, ...], dict[str, Any]]:
    """Return drawn tables on four ranks with our plan; `policy.plan` is drawn too, with rows on some ranks and wide tables."""
    rng = Random(seed)
    layout, tables, entries = RankLayout(4, local), [], []
    for number in range(rng.randint(2, 4)):
        dim = 4 * rng.randint(1, 24) if rng.random() < 0.9 else 1032
        features = [f"f{number}_{feature}" for feature in range(rng.choice((1, 1, 2)))]
        tables.append(
            {"name": f"t{number}", "num_embeddings": rng.randint(16, 90), "embedding_dim": dim, "feature_names": features}
        )
        table = TorchRecTable(f"t{number}", 16, dim, "fp32", tuple(features))
        forms = [*table_forms(table, layout, rng.randrange(8)).values(), (tuple(rng.sample(range(4), rng.randint(2, 3))),)]
        entries.append(rng.choice(forms))
    ranks = json.dumps({"world_size": 4, "local_world_size": local, "batch_size": 8})
    asked = read_request(
        preset(DEFAULT).scenario,
        json.dumps(tables),
        ranks,
        settings={"policy.plan": plan_knob(entries), "system": "torchrec-uvm"},
    )
    plan = plan_content(torchrec_answer(asked).plan.shardings, local, "sparse")
    for content in plan["plan"]["sparse"].values():  # a CPU has the kernel fused alone
        content.pop("cache_params", None)
        content["compute_kernel"] = "fused"
    return asked.tables, plan


def misses(ranks: Any, alone: Any) -> int:
    """Return the number of pooled vectors in which ranks and one rank differ."""
    pairs = [
        (own[feature], vectors[feature])
        for of_rank, by_one in zip(ranks, alone, strict=True)
        for own, vectors in zip(of_rank, by_one, strict=True)
        for feature in vectors
    ]
    return sum(not np.allclose(own, vector, rtol=1e-4, atol=1e-5) for pair in pairs for own, vector in zip(*pair, strict=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_plans_of_ours_train_in_torchrec_as_on_one_rank(oracle: ModuleType) -> None:
    types: set[str] = set()
    for local, seeds in ((4, range(8)), (2, (11, 16))):
        cases = [drawn_plan(seed, local) for seed in seeds]
        trained = oracle.trained_lookups([(tables, json.dumps(plan)) for tables, plan in cases], local)
        assert [misses(*vectors) for vectors in trained] == [0] * len(cases)
        types |= {content["sharding_type"] for _, plan in cases for content in plan["plan"]["sparse"].values()}
    assert types == TYPES


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_plan_with_other_blocks_looks_up_other_rows_in_torchrec_and_is_refused_here(oracle: ModuleType) -> None:
    table, first_rows = TorchRecTable("t", 40, 16, "fp32", ("f",)), (0, 20, 30, 37, 40)
    shards = [
        {"shard_offsets": [first, 0], "shard_sizes": [end - first, 16], "placement": f"rank:{rank}/cuda:{rank}"}
        for rank, (first, end) in enumerate(pairwise(first_rows))
    ]
    content = {"sharding_type": "row_wise", "compute_kernel": "fused", "ranks": [0, 1, 2, 3], "shards": shards}
    plan = json.dumps({"plan": {"sparse": {"t": content}}})
    ((ranks, alone),) = oracle.trained_lookups([([table], plan)], 4)
    assert misses(ranks, alone) > 48  # of 96
    with pytest.raises(BadInput, match="rank 0 has rows 0 to 19, but TorchRec looks for rows 0 to 9 there"):
        read_plan(plan, [table], RankLayout(4, 4))
