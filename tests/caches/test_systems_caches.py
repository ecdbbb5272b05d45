"""Caches: does a full run serve each batch as the policy's definition says, and does the estimate agree with it?"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.caches import batch_cache
from engine.caches.policies import lru
from engine.caches.replay import cache_traffic
from engine.caches.row_index import MISSED_LOOKUPS, MISSES
from engine.core.work import Direct
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.simulate import simulate
from engine.workload.batch import offsets
from engine.workload.caching.expected_cache import set_conflicts
from engine.workload.source import source
from tests.caches import reference_caches as by_policy
from tests.cases import each
from tests.machines import TINY, flow

SMALL = {"model.num_embeddings": (3000,) * 26, "data.batch_size": 256, "run.training": False, "run.batches": 60}
BATCHES = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=6), min_size=1, max_size=20)


def small(**knobs):
    return with_values(preset("cached-embedding-kaggle").scenario, {**SMALL, "policy.cache_load_factor": 0.1, **knobs})


def by_hand(capacity, batches):
    """Serve batches of ranks with a set of rows: one line per sentence of the definition."""
    held, found = set(), []
    for ids in batches:
        rows, missing = set(ids), set(ids) - held
        unseen = sum(row in missing for row in ids)
        over = max(0, len(held | rows) - capacity)
        gone = sorted(held - rows, reverse=True)[:over]
        held = (held | rows) - set(gone)
        found.append((unseen, len(missing), over, len(rows)))
    return found


def shelved(capacity, batches):
    held, found = batch_cache.most_popular_rows(0), []
    for ids in batches:
        held, moves = batch_cache.serve_by_frequency(held, capacity, np.array(ids))
        found.append(tuple(moves[:4]))
    return found


@given(batches=BATCHES, capacity=st.integers(6, 13))
def test_a_batch_moves_rows_as_the_definition_says(batches, capacity):
    assert shelved(capacity, batches) == by_hand(capacity, batches)


@given(batches=BATCHES)
def test_a_lookup_misses_if_its_row_was_not_held_when_the_batch_began(batches):
    seen = set()
    for ids, (_, counts) in zip(batches, by_policy.followed(lru, lru.no_rows(13), map(np.array, batches)), strict=True):
        assert counts[MISSES] == len(set(ids) - seen)
        assert counts[MISSED_LOOKUPS] == sum(row not in seen for row in ids)
        seen |= set(ids)


def test_rows_that_do_not_fit_beside_the_batch_are_fetched_and_sent_home_each_time():
    assert shelved(2, [[1, 2, 3], [1, 2, 3]]) == [(3, 3, 1, 3), (1, 1, 1, 3)]
    assert shelved(0, [[1, 2, 2]]) == [(3, 2, 2, 2)]


@given(batches=BATCHES, ahead=st.integers(1, 8))
def test_look_ahead_has_kept_what_one_of_the_last_batches_used(batches, ahead):
    held = batch_cache.most_popular_rows(0)
    for turn, ids in enumerate(batches):
        recent = {row for before in batches[max(0, turn - ahead) : turn] for row in before}
        held, moves = batch_cache.serve_looking_ahead(held, ahead, turn, np.array(ids))
        assert moves.misses == len(set(ids) - recent)
        assert moves.missed_lookups == sum(row not in recent for row in ids)


@pytest.mark.parametrize("rows", [1000, 3000, 6000])
def test_conflicts_are_the_rows_beyond_the_ways_of_their_set(rows):
    own = np.random.default_rng(1).integers(0, 100, (200, rows))
    counted = np.mean([np.clip(np.bincount(one, minlength=100) - 32, 0, None).sum() for one in own])
    assert set_conflicts(float(rows), 3200) == pytest.approx(counted, rel=0.05, abs=1e-3)


@pytest.mark.parametrize(("system", "policy"), [("cached-embedding", "lfu"), ("torchrec-uvm", None), ("torchrec-uvm", "lfu")])
def test_a_system_serves_a_run_by_its_policy(system, policy):
    asked = small(system=system, **{"policy.cache_policy": policy, "policy.warm_caches": False})
    ids, cache = source(asked), load_variant("systems", system).cache
    rows, batches = int(cache.rows(asked)), [ids.ids(n) for n in range(20)]
    if system == "cached-embedding":  # relabels ids and preloads 70 % of its cache
        batches = [np.arange(int(0.7 * rows))[::-1].copy(), *map(batch_cache.ranks_by_popularity(asked), batches)]
        listed = [[*row, 0] for row in by_policy.lfu(batches, rows)][1:]
    else:
        listed = (by_policy.lfu_in_sets if policy else by_policy.lru_in_sets)(batches, rows, 32)
    streamed = cache_traffic(asked, cache, ids, 20)
    assert [[m.missed_lookups, m.misses, m.evicted, m.refused] for m in streamed] == [[*row[1:4], row[5]] for row in listed]


@pytest.mark.parametrize(("popularity", "load_factor"), [("kaggle", 0.01), ("kaggle", 0.1), ("zipf", 0.05), ("uniform", 0.1)])
def test_estimate_and_full_run_agree_on_counts_in_sets_that_had_time(popularity, load_factor):
    changes = {"system": "torchrec-uvm", "policy.cache_policy": "lfu", "data.popularity": popularity, "run.batches": 150}
    asked = small(**changes, **{"policy.cache_load_factor": load_factor, "model.num_embeddings": (1000,) * 26})
    ours, counted = estimate(asked).results, simulate(asked).results
    assert ours["Cache hit rate [%]"] == pytest.approx(counted["Cache hit rate [%]"], abs=2)
    assert ours["Step time [ms]"] == pytest.approx(counted["Step time [ms]"], rel=0.05)


def test_rows_that_are_refused_cross_the_link_for_their_lookups_and_updates_alone():
    asked = small(system="torchrec-uvm", **{"policy.cache_policy": "lfu"})
    moves = {"misses": 100.0, "evicted": 90.0, "refused": 80.0, "missed_lookups": 150.0}
    t = replace(flow(asked, 4), **{name: np.full(4, amount) for name, amount in moves.items()})
    tasks = {task.name: task.demands for task in load_variant("systems", "torchrec-uvm").plan(settle(asked), t)}
    moved = {
        f"{name} {demand.lane}": demand.work.rows.tolist()[0]
        for name, demands in tasks.items()
        for demand in demands
        if isinstance(demand.work, Direct)
    }
    assert moved == {
        "Evicted rows to host from GPU": 10,
        "Missing rows to GPU to GPU": 20,
        "Embedding lookup to GPU": 80 * 1.5,  # each of its lookups reads it
        "Embedding update to GPU": 80,
        "Embedding update from GPU": 80,
    }


def test_counts_of_all_rows_take_the_gpu_memory_that_stamps_of_cached_rows_give_back():
    places = [
        load_variant("systems", "torchrec-uvm").places(small(**{"policy.cache_policy": policy}))["hbm"]
        for policy in ("lru", "lfu")
    ]
    assert places[1] - places[0] == 8 * (78_000 - 7_800)


def test_ranks_number_all_rows_and_follow_how_often_the_data_uses_them():
    asked = small()
    ids, relabel = np.concatenate([source(asked).ids(n) for n in range(20)]), batch_cache.ranks_by_popularity(asked)
    assert len(np.unique(relabel(ids))) == len(np.unique(ids))
    counts = np.bincount(relabel(ids))
    assert len(counts) <= offsets(asked.model)[-1]
    thirds = [part.sum() for part in np.array_split(counts[:900], 3)]
    assert thirds[0] > 2 * thirds[1] > 2 * thirds[2] and counts[0] == counts.max()


def test_a_file_is_ranked_by_its_own_counts():
    relabel = batch_cache.ranks_by_count([np.array([9, 9, 4]), np.array([4, 9, 7])])
    assert relabel(np.array([9, 4, 7])).tolist() == [0, 1, 2]


@each("popularity", ["kaggle", "zipf", "uniform"])
@each("together", [1, 2])
def test_estimate_and_full_run_agree_on_a_cache_by_frequency(popularity, together):
    asked = small(**{"data.popularity": popularity, "policy.prefetch_batches": together, "data.batch_size": 96})
    ours, counted = estimate(asked).results, simulate(asked).results
    assert ours["Cache hit rate [%]"] == pytest.approx(counted["Cache hit rate [%]"], abs=2)
    assert ours["Step time [ms]"] == pytest.approx(counted["Step time [ms]"], rel=0.05)


@pytest.mark.parametrize("locality", [0.0, 0.5])
def test_estimate_and_full_run_agree_on_a_cache_by_recency(locality):
    asked = small(**{"policy.cache_policy": "lru", "run.batches": 300, "data.locality": locality})
    ours, counted = estimate(asked).results, simulate(asked).results
    assert ours["Cache hit rate [%]"] == pytest.approx(counted["Cache hit rate [%]"], abs=2)


def test_several_batches_fetched_at_once_amortise_and_too_many_do_not_fit():
    steps = [estimate(small(**{"policy.prefetch_batches": p})).results["Step time [ms]"] for p in (1, 2, 4)]
    assert steps[0] > steps[1] > steps[2]
    for answer in (estimate, simulate):
        refused = answer(small(**{"policy.prefetch_batches": 30}))
        assert not refused.ran
        assert "30 batches together use" in refused.outcome and "lower policy.prefetch_batches" in refused.outcome


def test_a_system_refuses_a_cache_policy_that_it_does_not_have():
    with pytest.raises(BadKnob, match=r"the cache of system=ssd can only evict by lru; set it to auto"):
        estimate(with_values(TINY, {"system": "ssd", "policy.cache_policy": "lfu"}))


def test_only_a_system_with_a_cache_has_a_hit_rate():
    assert estimate(small(system="all-hbm")).results["Cache hit rate [%]"] is None
    assert 50 < estimate(small()).results["Cache hit rate [%]"] < 100
