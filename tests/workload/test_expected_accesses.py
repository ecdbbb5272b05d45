"""Do expected accesses agree with those counted from real ids, and with published figures?"""

from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

import numpy as np
import pytest

from engine.amounts import repeats
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, per_table, with_values
from engine.validation.workload_figures import TAOBAO, TAOBAO_LRU
from engine.workload import accesses, batch, row_spread, source, spectrum
from engine.workload.caching import expected_cache, unique_rows
from engine.workload.expected import hit_rate
from engine.workload.popularity import table_kinds
from tests.cases import each

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
    return with_values(preset("optane-kaggle").scenario, changes)


def counted_accesses(scenario: Scenario, origin: source.Source, num_batches: int) -> accesses.Accesses:
    """Count the accesses of the first batches."""
    memory = batch.recent(scenario.model, scenario.data.batch_size)
    counts = np.empty((3, num_batches, scenario.model.num_tables))
    for n in range(num_batches):
        counts[:, n] = batch.tally_batch(memory, origin.ids(n))
    return accesses.Accesses(accesses.table_lookups(scenario), *counts)


def _means(found: accesses.Accesses) -> list[float]:
    parts = [np.atleast_2d(part) for part in (found.unique_rows, found.shared_rows, found.raw_lookups)]
    return [float(part[int(len(part) > 1) :].mean(axis=0).sum()) for part in parts]  # a first batch has none before it


@each("kind", ["kaggle", "zipf", "uniform"], few=6)
@each(("shape", "batches"), SHAPES)
def test_expected_accesses_are_within_two_percent_of_the_counted(kind: str, shape: dict[str, Any], batches: int) -> None:
    scenario = _scenario({**shape, "data.popularity": kind})
    counted = _means(counted_accesses(scenario, source.source(scenario), batches))
    wanted = _means(accesses.expected_accesses(scenario))
    # Few meetings of rows scatter by themselves: five deviations of a count of independent events.
    for found, mean in zip(counted, wanted, strict=True):
        assert found == pytest.approx(mean, rel=0.02, abs=5 * np.sqrt(mean / batches))


@pytest.mark.parametrize("locality", [0.3, 0.6])
def test_expected_accesses_hold_with_locality_too(locality: float) -> None:
    scenario = _scenario({"data.locality": locality})
    counted = _means(counted_accesses(scenario, source.source(scenario), 300))
    assert counted == pytest.approx(_means(accesses.expected_accesses(scenario)), rel=0.02)


def test_counting_agrees_with_sets_of_rows() -> None:
    scenario = _scenario({"model.name": "tiny", "data.batch_size": 17})
    origin, pooling = source.source(scenario), per_table(scenario.model, "pooling")
    found = counted_accesses(scenario, origin, 20)
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
    memory = batch.recent(scenario.model, 128)
    assert memory.rows.nbytes + memory.in_both.nbytes < 64 * 128 * 26
    first = batch.tally_batch(memory, source.source(scenario).ids(0))
    assert first[1].sum() == first[2].sum() == 0


def test_a_cache_for_all_rows_never_misses_and_one_for_none_always() -> None:
    scenario = _scenario({})
    assert accesses.expected_misses(scenario, np.array([0.0, 1e9])).tolist() == [26 * 128, 0]


def test_without_locality_the_measured_lru_curve_of_taobao_is_missed_by_far() -> None:
    cached = np.array(list(TAOBAO_LRU)) / 100 * TAOBAO.rows
    found = 100 * hit_rate(spectrum.spectrum(TAOBAO), cached, 0.0)
    assert np.abs(found - list(TAOBAO_LRU.values())).max() > 10


def test_expected_accesses_are_shared_by_what_trains_the_same_model_on_the_same_data_and_cannot_be_changed() -> None:
    one, other = _scenario({}), _scenario({"system": "pmem", "machine.cxl_bandwidth_GBps": 3.0, "policy.cache_load_factor": 0.5})
    assert accesses.expected_accesses(one) is accesses.expected_accesses(other)
    assert accesses.expected_accesses(one) is not accesses.expected_accesses(_scenario({"data.locality": 0.1}))
    with pytest.raises(ValueError, match="read-only"):
        accesses.expected_accesses(one).unique_rows[0] = 0.0


def test_what_chance_hardly_ever_brings_is_never_less_than_nothing() -> None:
    found = accesses.expected_accesses(with_values(preset("dlrm-terabyte").scenario, {"data.batch_size": 1}))
    for part in (found.unique_rows, found.shared_rows, found.raw_lookups):
        assert part.min() >= 0.0


@each("capacity", [3.5, 700.0, 61_234.5])
def test_tables_that_are_alike_and_looked_at_once_are_as_tables_that_nearly_are(capacity: float) -> None:
    knobs = {"model.num_tables": 9, "data.popularity": "zipf", "model.interaction": "concat", "model.pooling": (3,) * 8 + (40,)}
    asked = [
        _scenario({**knobs, "model.num_embeddings": tuple(80_000 + apart * table for table in range(9))}) for apart in (0, 1)
    ]
    assert [len(table_kinds(one).laws) for one in asked] == [2, 9]
    rows, unlike = (expected_cache.hottest_by_table(one, capacity)[0] for one in asked)
    assert rows.sum() == pytest.approx(capacity) and unlike.sum() == pytest.approx(capacity)
    for of in (
        lambda s: expected_cache.hottest_by_table(s, capacity)[1].sum(),
        lambda s: unique_rows.expected_unique(s, 5),
        lambda s: expected_cache.expected_moves(s, "lru", capacity)[:2],
        lambda s: expected_cache.expected_moves(s, "lru", capacity, tables=(1, 2, 8))[:2],
        lambda s: repeats.expected_repeats(s, capacity),
        lambda s: accesses.expected_misses(s, capacity),
    ):
        assert of(asked[0]) == pytest.approx(of(asked[1]), rel=1e-3)


def test_rows_that_a_batch_hardly_uses_have_room_in_any_memory() -> None:
    asked = _scenario({"data.popularity": "uniform", "model.num_embeddings": (10**11,), "data.batch_size": 1})
    assert repeats.expected_repeats(asked, 1e12) == pytest.approx(0.0, abs=1e-9)  # and nothing overflows


def test_threads_that_share_how_tables_spread_find_what_one_alone_does(monkeypatch):
    asked, tables = preset("optane-kaggle").scenario, np.arange(26)
    alone = {
        parts: row_spread.spreads(asked)._replace(spreads_by_parts={}).spread_over(parts, tables).copy() for parts in (2, 3, 5, 8)
    }
    real = row_spread.enter_spread

    def slowly(*given: Any) -> None:
        given[-1][given[-2]] = np.nan  # half done, for long enough to be seen
        sleep(0.0005)
        real(*given)

    monkeypatch.setattr(row_spread, "enter_spread", slowly)
    monkeypatch.setattr(
        row_spread, "MAX_KEPT_NUMBERS", 0
    )  # so that all is forgotten whenever another number of parts is asked for
    shared = row_spread.spreads(asked)._replace(spreads_by_parts={})
    with ThreadPoolExecutor(4) as threads:
        found = [
            (parts, threads.submit(lambda parts=parts: shared.spread_over(parts, tables).copy()))
            for parts in alone
            for _ in range(4)
        ]
        assert all(np.array_equal(one.result(), alone[parts]) for parts, one in found)
