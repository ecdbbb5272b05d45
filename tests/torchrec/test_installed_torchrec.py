"""Does the installed TorchRec read our plans, estimate as we say it does, and plan no better than we do by our cost?

`UNIFORM` and `MIXED` are seeds of drawn table sets: tables alike, and of unlike widths and precisions.
"""

import importlib
import json
import warnings
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pytest

from engine.torchrec.answer import torchrec_answer
from engine.torchrec.plan_json import plan_content
from engine.torchrec.planner_estimate import shard_estimates
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
@pytest.mark.parametrize(("seed", "mixed"), SETS)
def test_our_plan_is_never_slower_than_that_of_torchrecs_planner(oracle: ModuleType, seed: int, mixed: bool) -> None:
    asked = table_set(seed, mixed)
    theirs = oracle.planned(asked.tables, asked.pooling, asked.topology, RANK_BATCH)
    found = torchrec_answer(asked, theirs)
    assert found.imported_plan is not None and found.plan.step_ms is not None and found.imported_plan.sentences == ()
    assert found.imported_plan.step_ms is None or found.plan.step_ms <= found.imported_plan.step_ms * (1 + 1e-9)
