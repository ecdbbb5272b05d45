"""Caches of rows of histories: repeated events of a user bring no further rows, in estimates as in full runs."""

import numpy as np
import pytest

from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.workload.accesses import expected_accesses, without_repeats
from engine.workload.caching.expected_cache import expected_moves, unique_by_table
from engine.workload.caching.unique_rows import expected_unique

V4 = preset("dlrm-v4-mi350x").scenario
CXL = preset("dlrm-v4-cxl").scenario


def test_a_batch_looks_up_each_event_of_its_users_once():
    distinct = without_repeats(V4)
    users = 8192 / 18.7
    assert distinct.model.pooling[:3] == (round((users * 2627 + 8192) / 8192),) * 3 and distinct.model.pooling[3:] == (1,) * 8
    assert without_repeats(distinct) is distinct and distinct.data.samples_per_user == 1
    without_users = with_values(V4, {"data.samples_per_user": 1.0})
    assert without_repeats(without_users) is without_users
    bags = with_values(preset("dlrm-kaggle").scenario, {"data.samples_per_user": 5.0})
    assert without_repeats(bags) is bags


def test_every_count_of_a_batchs_unique_rows_is_the_same():
    unique = expected_accesses(V4).unique_rows
    assert unique_by_table(V4) == pytest.approx(unique, rel=0.003)
    assert expected_unique(V4, 1) == pytest.approx(unique.sum(), rel=0.003)
    empty = expected_moves(V4, "lru", 0.0)
    assert empty.misses == pytest.approx(unique.sum(), rel=0.003)
    all_lookups = expected_accesses(V4).lookups.sum()
    assert empty.missed_lookups == pytest.approx(all_lookups, rel=0.003)


@pytest.mark.parametrize("system", ["cached-embedding", "torchrec-uvm"])
def test_an_estimate_of_a_cache_is_its_full_run(system):
    s = with_values(
        CXL,
        {
            "system": system,
            "data.batch_size": 64,
            "model.pooling": (300,) * 3 + (1,) * 8,
            "data.history_cap": 600,
            "model.num_embeddings": (200_000, 30_000, 70_000) + (40_000,) * 8,
            "policy.cache_load_factor": 0.1,
            "run.batches": 30,
        },
    )
    expected, counted = estimate(s), simulate(s)
    assert expected.ran and counted.ran
    for name in ("Step time [ms]", "Cache hit rate [%]"):
        if expected.results.get(name) is not None:
            assert expected.results[name] == pytest.approx(np.float64(counted.results[name]), rel=0.03), name
