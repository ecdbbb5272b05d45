"""Do expected accesses agree with those counted from real ids, and with published figures?"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from engine.presets import preset
from engine.scenario import Scenario, per_table, with_values
from engine.workload import accesses, lru, recent, source, spectrum
from engine.workload.expectation import hit_rate
from engine.workload.popularity import Popularity

TABLES = {"model.num_tables": 3, "model.interaction": "concat"}
SHAPES: list[tuple[dict[str, Any], int]] = [
    ({}, 120),
    ({"data.batch_size": 2048}, 12),
    ({"model.name": "tiny"}, 300),
    ({"model.name": "rm1"}, 5),
    ({**TABLES, "model.num_embeddings": (100, 70_000, 3_000_000), "model.pooling": (1, 20, 5)}, 120),
    ({**TABLES, "model.num_embeddings": (3, 1, 9_000)}, 300),
]


def _scenario(changes: dict[str, Any]) -> Scenario:
    return with_values(preset("dlrm-kaggle").scenario, changes)


def _means(found: accesses.Accesses) -> list[float]:
    skip = 1 if len(found.unique_rows) > 1 else 0
    return [float(part[skip:].mean(axis=0).sum()) for part in (found.unique_rows, found.shared_rows, found.raw_lookups)]


@pytest.mark.parametrize("kind", ["kaggle", "zipf", "uniform"])
@pytest.mark.parametrize(("shape", "batches"), SHAPES)
def test_expected_accesses_are_within_two_percent_of_the_counted(kind: str, shape: dict[str, Any], batches: int) -> None:
    scenario = _scenario({**shape, "data.popularity": kind})
    counted = _means(accesses.count(scenario, source.source(scenario), batches))
    wanted = _means(accesses.expected(scenario))
    # Few meetings of rows scatter by themselves: five deviations of a count of independent events.
    for found, mean in zip(counted, wanted, strict=True):
        assert found == pytest.approx(mean, rel=0.02, abs=5 * np.sqrt(mean / batches))


@pytest.mark.parametrize("locality", [0.3, 0.6])
def test_expected_accesses_hold_with_locality_too(locality: float) -> None:
    scenario = _scenario({"data.locality": locality})
    counted = _means(accesses.count(scenario, source.source(scenario), 300))
    assert counted == pytest.approx(_means(accesses.expected(scenario)), rel=0.02)


def test_counting_agrees_with_sets_of_rows() -> None:
    scenario = _scenario({"model.name": "tiny", "data.batch_size": 17})
    origin, pooling = source.source(scenario), per_table(scenario.model, "pooling")
    found = accesses.count(scenario, origin, 20)
    assert found.lookups.tolist() == [17 * size for size in pooling]
    before: list[set[int]] = [set()] * 3
    for n in range(20):
        bags = np.split(origin.ids(n), np.cumsum(found.lookups[:-1]).astype(int))
        now = [set(bag.tolist()) for bag in bags]
        assert found.unique_rows[n].tolist() == [len(rows) for rows in now]
        assert found.shared_rows[n].tolist() == [len(a & b) for a, b in zip(now, before, strict=True)]
        assert found.raw_lookups[n].tolist() == [sum(i in old for i in bag) for bag, old in zip(bags, before, strict=True)]
        before = now


def test_counting_needs_memory_for_two_batches_whatever_the_tables_hold() -> None:
    scenario = _scenario({"model.num_embeddings": (10**11,)})
    memory = recent.recent(scenario.model, 128)
    assert memory.rows.nbytes + memory.again.nbytes < 64 * 128 * 26
    first = recent.tally(memory, source.source(scenario).ids(0))
    assert first[1].sum() == first[2].sum() == 0


def _lru_by_dict(batches: Iterable[np.ndarray], capacity: int) -> list[int]:
    held: OrderedDict[int, None] = OrderedDict()
    misses = []
    for ids in batches:
        misses.append(0)
        for row in ids.tolist():
            misses[-1] += row not in held
            held[row] = None
            held.move_to_end(row)
            if len(held) > capacity:
                held.popitem(last=False)
    return misses


@pytest.mark.parametrize("capacity", [0, 1, 2, 13, 700, 1500, 5000, 10**12])
def test_the_lru_cache_misses_what_an_ordered_dict_misses(capacity: int) -> None:
    origin = source.source(_scenario({"data.batch_size": 40}))
    batches = [origin.ids(n) for n in range(12)]
    assert lru.cache_misses(batches, capacity).tolist() == _lru_by_dict(batches, capacity)


@pytest.mark.parametrize("kind", ["kaggle", "zipf"])
@pytest.mark.parametrize("capacity", [25_000, 60_000])
def test_che_is_within_half_a_point_of_exact_lru_in_caches_of_ten_batches_or_more(kind: str, capacity: int) -> None:
    scenario = _scenario({"data.popularity": kind, "model.num_embeddings": (20_000,)})
    origin = source.source(scenario)
    misses = lru.cache_misses((origin.ids(n) for n in range(600)), capacity)[200:].mean()
    lookups = accesses.lookups(scenario).sum()
    assert misses / lookups == pytest.approx(float(accesses.expected_misses(scenario, capacity)) / lookups, abs=0.005)


def test_a_cache_for_all_rows_never_misses_and_one_for_none_always() -> None:
    scenario = _scenario({})
    assert accesses.expected_misses(scenario, np.array([0.0, 1e9])).tolist() == [26 * 128, 0]


UNIQUE_PERCENT = [(512, 32, 34), (2048, 23, 25), (4096, 19, 21), (16384, 13, 15), (65536, 8, 11)]


@pytest.mark.parametrize(("batch_size", "low", "high"), UNIQUE_PERCENT)
def test_unique_rows_are_the_measured_share_of_kaggle_lookups(batch_size: int, low: float, high: float) -> None:
    found = accesses.expected(_scenario({"data.batch_size": batch_size}))
    share = 100 * found.unique_rows.sum() / found.lookups.sum()
    assert low - 3 <= share <= high + 3


@pytest.mark.parametrize(("data", "low", "high"), [("kaggle", 81, 83), ("terabyte", 72, 72)])
def test_lookups_meet_the_batch_before_as_often_as_measured(data: str, low: float, high: float) -> None:
    changes = {"data.popularity": data, "model.name": f"dlrm-{data}", "data.batch_size": 2048}
    found = accesses.expected(_scenario(changes))
    share = 100 * found.raw_lookups.sum() / found.lookups.sum()
    tolerance = 3 if data == "kaggle" else 4  # the 1TB data set has no fit for half of its fields
    assert low - tolerance <= share <= high + tolerance


def test_locality_explains_the_measured_lru_curve_of_taobao() -> None:
    ids = 1_141_729
    space = spectrum.spectrum(Popularity((), 1.0, 1.656, 7.78e4, ids, ids))
    cached = np.array([0.01, 0.05, 0.10, 0.20, 0.30, 0.50, 0.70]) * ids
    measured_lru = np.array([8.0, 28.9, 43.7, 61.2, 72.4, 86.2, 93.7])
    measured_lfu = np.array([54.1, 70.0, 79.7, 90.5, 95.9])
    assert np.abs(100 * hit_rate(space, cached, 0.25) - measured_lru).max() < 3
    assert np.abs(100 * spectrum.head_mass(space, cached[2:]) - measured_lfu).max() < 2
    assert np.abs(100 * hit_rate(space, cached, 0.0) - measured_lru).max() > 10
