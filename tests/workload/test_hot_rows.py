"""Hot rows and popular samples: are they counted right, expected right, and as correlated as asked?"""

import os
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.amounts.hot_rows import HotSet, hot_set, popular_shares_counted
from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.workload import sampling as links
from engine.workload.batch import offsets
from engine.workload.caching.expected_cache import popular_shares
from engine.workload.readers.formats import read_file
from engine.workload.source import source
from tests.cases import each
from tests.machines import TINY
from tests.workload.test_expected_accesses import counted_accesses

REAL = os.environ.get("EMBERPOOL_CRITEO", "")
BATCHES = 30


def kaggle(**knobs):
    return with_values(preset("optane-kaggle").scenario, {"data.batch_size": 2048, **knobs})


def tiny(**knobs):
    return with_values(TINY, {"data.popularity": "zipf", "data.zipf_exponent": 1.4, **knobs})


def counted(asked, capacity):
    given = source(asked)
    hot = hot_set(asked, capacity, given)
    return np.mean([popular_shares_counted(hot, given.ids(n), given.starts(n)) for n in range(BATCHES)], axis=0)


@each("capacity", [0, 40, 300, 1249, 1250])
def test_a_sample_is_popular_when_every_one_of_its_lookups_is_among_the_most_frequent_rows(capacity) -> None:
    asked, drawn = tiny(), source(tiny(**{"data.batch_size": 20_000}))
    first, pooling = offsets(asked.model), (1, 2, 3)
    often = np.bincount(np.concatenate([drawn.ids(n) for n in range(20)]), minlength=1250).astype(float)
    hottest = set(np.argsort(-often, kind="stable")[:capacity].tolist())
    ids = source(asked).ids(3)
    told, at = np.ones(16, dtype=bool), 0
    for size in pooling:
        for sample in range(16):
            told[sample] &= all(int(row) in hottest for row in ids[at : at + size])
            at += size
    assert popular_shares_counted(hot_set(asked, capacity, source(asked)), ids)[0] == pytest.approx(told.mean(), abs=1 / 16)
    assert first[-1] == 1250


def test_hot_rows_are_each_tables_first_ones_and_the_others_named() -> None:
    hot = HotSet(
        run_ends=np.array([2, 10]), scattered_rows=np.array([12, 14]), layout=np.array([0, 4, 8]), samples=4, features=(1, 1)
    )
    assert popular_shares_counted(hot, np.array([0, 1, 2, 1, 12, 13, 14, 10])) == (1 / 4, 1 / 4)
    assert popular_shares_counted(hot, np.array([1, 1, 0, 1, 14, 12, 14, 12])) == (1, 1)


@each("correlation", [0.0, 0.5, 1.0], few=3)
@each("mebibytes", [4, 256])
def test_the_share_of_popular_samples_is_expected_as_it_is_counted(correlation, mebibytes) -> None:
    asked = kaggle(**{"data.sample_correlation": correlation})
    capacity = mebibytes * 2**20 / 64
    assert popular_shares(asked, capacity) == pytest.approx(counted(asked, capacity), abs=0.01)


def test_rare_ids_come_together_only_where_asked_and_leave_each_table_as_popular_as_before() -> None:
    apart, together = kaggle(), kaggle(**{"data.sample_correlation": 1.0})
    assert popular_shares(apart, 2**22)[0] < 0.5 < 0.75 < popular_shares(together, 2**22)[0]
    unique = [counted_accesses(asked, source(asked), BATCHES).unique_rows[2:].mean(axis=0) for asked in (apart, together)]
    np.testing.assert_allclose(unique[1], unique[0], rtol=0.02, atol=2)
    ids = source(together).ids(0).reshape(26, -1) - offsets(together.model)[:-1, None]
    heads = [ids[field - 1] < 100 for field in links.LINKED_FIELDS]
    assert np.corrcoef(heads).min() > 0.7
    assert abs(np.corrcoef(ids[0] < 10, heads[0])[0, 1]) < 0.1


def test_linked_samples_and_locality_exclude_each_other_with_a_sentence() -> None:
    refused = estimate(kaggle(**{"data.sample_correlation": 0.5, "data.locality": 0.2}))
    assert not refused.ran and "set one of them to 0" in refused.outcome


def test_a_files_hot_rows_are_the_ones_that_a_twentieth_of_its_batches_touches_most() -> None:
    asked = tiny()
    batches = np.random.default_rng(3).integers(0, 1250, (100, 96))
    batches[:, :48] = np.arange(48)
    given: Any = SimpleNamespace(ids=lambda n: batches[n], training_samples=1600, digest="made up")
    assert set(hot_set(asked, 48, given).scattered_rows.tolist()) == set(range(48))
    seen = hot_set(asked, 1000, given).scattered_rows
    assert 48 < len(seen) < 48 + 5 * 48 + 1
    assert hot_set(asked, 1000, given).scattered_rows.tolist() == seen.tolist()


@pytest.mark.skipif(not REAL, reason="EMBERPOOL_CRITEO names no file of real samples")
def test_real_samples_repeat_the_values_of_the_five_largest_fields_together() -> None:
    columns = read_file(REAL).tokens[:200, [field - 1 for field in links.LINKED_FIELDS]].T
    again = np.array([np.isin(values, [one for one, times in Counter(values).items() if times > 1]) for values in columns])
    assert again.all(axis=0).mean() > 0.9 * again.mean(axis=1).min() > 50 * again.mean(axis=1).prod()
