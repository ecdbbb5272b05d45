"""Caches in sets whose rows are locked while they train: is what is expected of them what is counted from ids?"""

import numpy as np
import pytest

from engine.caches.policies import set_associative
from engine.caches.replay import cache_traffic
from engine.caches.row_index import COUNTS, MISSED_LOOKUPS, MISSES, REFUSED, UNIQUE
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.workload.accesses import table_lookups
from engine.workload.caching.expected_cache import expected_moves, missed_rows, missed_shares
from engine.workload.caching.locked_sets import WAYS, locked_sets, rows_without_way
from engine.workload.source import source
from engine.workload.spectrum import id_space
from tests.cases import each

SETTLED, BATCHES = 20, 50


def asked(**knobs):
    own = {"model.num_embeddings": (5_000,) * 26, "data.batch_size": 256, "run.training": False}
    return with_values(preset("cached-embedding-kaggle").scenario, {**own, **knobs})


def counted(s, rows):
    """Return the mean counts of a batch of a cache of so many rows, once it has settled."""
    cache, found = set_associative.no_rows(int(rows)), []
    for n in range(BATCHES):
        counts = np.zeros(COUNTS, dtype=np.int64)
        cache = set_associative.serve_batch(cache, n, source(s).ids(n), counts)
        found.append(counts)
    return np.mean(found[SETTLED:], axis=0)


@each("popularity", ["uniform", "zipf", "kaggle"])
@each("locality", [0.0, 0.5])
@each("share", [0.6, 1.0, 1.4, 1.8, 2.5, 4.0], few=2, most=12)
def test_expected_misses_and_conflicts_are_those_counted_from_ids(popularity, locality, share):
    """The cache has room for so many times the unique rows of a batch: with 1.8 the rows of two batches fill most sets."""
    s = asked(**{"data.popularity": popularity, "data.locality": locality})
    served = float(table_lookups(s).sum())
    unique = expected_moves(s, "lru", 0.0).misses
    rows = share * unique
    drawn, expected = counted(s, rows), expected_moves(s, "lru in sets", rows)
    assert drawn[UNIQUE] == pytest.approx(unique, rel=0.02)
    assert expected.missed_lookups / served == pytest.approx(drawn[MISSED_LOOKUPS] / served, abs=0.01)
    assert expected.misses / unique == pytest.approx(drawn[MISSES] / unique, abs=0.03)
    assert expected.refused / unique == pytest.approx(drawn[REFUSED] / unique, abs=0.02)


@each("popularity", ["zipf", "kaggle"])
@each("share", [0.6, 1.2, 3.0])
def test_misses_by_table_add_up_where_rows_are_refused(popularity, share):
    s = asked(**{"data.popularity": popularity, "model.pooling": tuple(1 + t % 3 for t in range(26))})
    rows = share * expected_moves(s, "lru", 0.0).misses
    expected = expected_moves(s, "lru in sets", rows)
    assert missed_rows(s, "lru in sets", rows).sum() == pytest.approx(expected.misses, rel=2e-3)
    of_lookups = float(missed_shares(s, "lru in sets", rows) @ table_lookups(s))
    assert of_lookups == pytest.approx(expected.missed_lookups, rel=2e-3)


@each("coming", [4.0, 20.0, 40.0])
@each("again", [0.0, 0.3, 0.9])
def test_rows_without_a_way_are_those_of_many_drawn_sets(coming, again):
    draw, sets = np.random.default_rng(1), 4000
    locked, beyond = np.zeros(sets, dtype=np.int64), []
    for batch in range(120):
        new = draw.poisson(coming, sets)
        free = WAYS - locked
        if batch >= 60:
            beyond.append(np.maximum(new - free, 0).mean())
        locked = draw.binomial(locked, again) + np.minimum(new, free)
    assert rows_without_way(coming, again) == pytest.approx(np.mean(beyond), rel=0.02, abs=0.003)


def test_rows_of_one_batch_that_always_fit_lock_nobody_out():
    s = asked(**{"data.popularity": "uniform"})
    space, served = id_space(s), float(table_lookups(s).sum())
    ample = locked_sets(space, served, 0.9 * space.rows.sum())
    assert ample.admitted == 1 and ample.refused < 1
    tight = [locked_sets(space, served, share * space.rows.sum()) for share in (0.08, 0.05, 0.02, 1e-3)]
    assert 0 < ample.refused < tight[0].refused < tight[1].refused < tight[2].refused < tight[3].refused


@each("rows", [0, 1, 5, 31, 32, 33])
def test_a_cache_of_a_few_rows_is_no_error(rows):
    s = asked(**{"data.popularity": "zipf"})
    expected = expected_moves(s, "lru in sets", float(rows))
    assert 0 <= expected.refused <= expected.misses
    assert expected.misses - expected.refused <= max(rows, 1)


@each("popularity", ["kaggle", "zipf"])
def test_a_warm_run_of_a_small_cache_begins_with_the_rows_that_it_admits_in_the_end(popularity):
    s = asked(**{"system": "torchrec-uvm", "data.popularity": popularity, "run.batches": 8})
    unique = expected_moves(s, "lru", 0.0).misses
    s = with_values(s, {"policy.cache_load_factor": 0.2 * unique / (26 * 5_000)})
    cache = load_variant("systems", "torchrec-uvm").cache
    missed = np.mean([moves.missed_lookups for moves in cache_traffic(s, cache, source(s), 8)])
    awaited = expected_moves(s, "lru in sets", cache.rows(s)).missed_lookups
    assert missed / float(table_lookups(s).sum()) == pytest.approx(awaited / float(table_lookups(s).sum()), abs=0.01)
