"""Bags of uneven length: do lengths follow their law, and does nothing else move that should not?"""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from engine.amounts.hot_rows import hot_set, popular_shares_counted
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.registry import variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.systems.steps.gpu import by_popularity
from engine.systems.traffic import traffic
from engine.workload import bags, generator
from engine.workload.caching.expected_cache import popular_shares
from engine.workload.sampling import recipe, rows_at
from engine.workload.source import source
from tests.cases import each
from tests.machines import TINY, scenario

LAWS = [(1, 0.5), (1, 1.0), (1, 2.0), (3, 0.3), (20, 1.5), (80, 0.05)]
CV = "data.bag_length_cv"


def uneven(*cv, **knobs):
    return with_values(TINY, {CV: cv, **knobs})


def kaggle(cv, **knobs):
    return with_values(preset("optane-kaggle").scenario, {"data.batch_size": 2048, CV: (cv,), **knobs})


def published(mean, cv, most):
    """Return the chances of lengths 0 to most - 1, by SciPy's laws."""
    length, over = np.arange(most), mean * cv**2
    if over > 1:
        return stats.nbinom.pmf(length, mean / (over - 1), 1 / over)
    stay = np.sqrt(1 - over)
    return np.convolve(stats.binom.pmf(length, mean, stay), stats.poisson.pmf(length, mean * (1 - stay)))[:most]


@each(("mean", "cv"), LAWS)
def test_lengths_are_negative_binomial_poisson_or_between_that_and_even(mean, cv):
    found = bags.chances(mean, cv)
    np.testing.assert_allclose(found, published(mean, cv, len(found)), atol=1e-12)
    assert found @ np.arange(len(found)) == pytest.approx(mean) and found.sum() == pytest.approx(1.0)
    samples = 100_000
    drawn = bags.draw_lengths(np.random.default_rng(5), samples, mean, cv)
    counts = np.bincount(drawn, minlength=len(found))[: len(found)]
    often = found * samples > 20
    far = (counts - samples * found)[often] / np.sqrt(samples * found * (1 - found))[often]
    assert np.abs(far).max() < 5


@each("samples", [2, 16, 128], few=6)
@each(("mean", "cv"), LAWS)
def test_a_batch_has_its_lookups_whatever_their_spread_and_the_spread_is_as_asked(mean, cv, samples):
    random, count = np.random.default_rng(mean * samples), 3000
    drawn = np.array([bags.draw_lengths(random, samples, mean, cv) for _ in range(count)])
    assert (drawn.sum(axis=1) == samples * mean).all() and drawn.min() >= 0
    variances = drawn.var(axis=1, ddof=1)
    wanted = mean**2 * min(cv**2, samples)
    assert variances.mean() == pytest.approx(wanted, abs=5 * variances.std() / np.sqrt(count) + 1e-3 * wanted)
    means = drawn.mean(axis=0)  # no sample is favoured
    assert np.abs(means - mean).max() < 5 * np.sqrt(drawn.var(axis=0).max() / count) + 1e-9


def test_one_sample_has_all_lookups_and_an_even_table_beside_uneven_ones_stays_even():
    assert bags.draw_lengths(np.random.default_rng(1), 1, 7, 3.0).tolist() == [7]
    lengths = np.diff(source(uneven(0.0, 1.0, 0.5)).starts(3)).reshape(3, 16)
    assert lengths[0].tolist() == [1] * 16 and lengths[1].std() > 0 < lengths[2].std()


@each("locality", [0.0, 0.4])
def test_lookups_are_those_of_even_bags_and_only_their_ends_are_drawn_by_seed_and_batch(locality):
    even, other = source(uneven(**{"data.locality": locality})), source(uneven(1.2, **{"data.locality": locality}))
    assert even.starts(2) is None and even.batch(2).starts is None
    for n in (2, 0):
        assert other.ids(n).tobytes() == even.ids(n).tobytes()
        batch = other.batch(n)
        assert batch.starts.tobytes() == other.starts(n).tobytes() == source(uneven(1.2)).starts(n).tobytes()
        assert batch.starts[[16, 32, 48]].tolist() == [16, 48, 96]
        assert batch.dense.tobytes() == even.batch(n).dense.tobytes()
    assert other.starts(0).tobytes() != other.starts(2).tobytes()
    assert other.starts(0).tobytes() != source(uneven(1.2, **{"data.seed": 2})).starts(0).tobytes()


def test_the_hidden_model_sees_the_mean_effect_of_each_bag_and_nothing_in_an_empty_one():
    prepared = generator.prepare(recipe(uneven(1.5)))
    ids, starts = generator.draw_ids(prepared, 1, 40), generator.bag_starts(prepared, 1, 40)
    one = generator.bag_effects(ids, np.array([0, 1]), len(ids), np.uint64(9))[:, 0]
    found = generator.bag_effects(ids, prepared.bags, 40, np.uint64(9), starts)
    for bag, (low, high) in enumerate(pairwise(starts)):
        table, sample = divmod(bag, 40)
        assert found[sample, table] == pytest.approx(one[low:high].mean() if high > low else 0.0, abs=1e-12)
    assert (np.diff(starts) == 0).any()


def test_the_nth_lookups_of_linked_samples_are_equally_popular():
    prepared = generator.prepare(recipe(kaggle(1.5, **{"data.sample_correlation": 1.0})))
    ids, starts = generator.draw_ids(prepared, 3, 64), generator.bag_starts(prepared, 3, 64)
    (group,), grid = prepared.recipe.links, np.linspace(0.0, 0.8, 4000)
    rows = {t: prepared.first_rows[t] + rows_at(prepared.recipe.popularities[t], grid) for t in group}
    looked, several = starts[:-1].reshape(-1, 64)[list(group)], 0
    lengths = np.diff(starts).reshape(-1, 64)[list(group)]
    for sample, turn in np.ndindex(64, lengths.max()):
        mine = [(t, ids[looked[k, sample] + turn]) for k, t in enumerate(group) if lengths[k, sample] > turn]
        places = [set(np.flatnonzero(rows[t] == row)) for t, row in mine]
        if len(places) > 1 and all(places):  # each is on the grid, so that one point of it, or two beside, give all of them
            near = [{at + step for at in some for step in (-1, 0, 1)} for some in places]
            assert set.intersection(*near), mine
            several += 1
    assert several > 40


@each("correlation", [0.0, 0.6, 1.0], few=2)
@each(("cv", "mebibytes"), [(0.5, 4), (1.0, 256), (2.0, 4)], few=2)
def test_popular_samples_and_their_lookups_are_expected_as_they_are_counted(correlation, cv, mebibytes):
    asked, capacity = kaggle(cv, **{"data.sample_correlation": correlation}), mebibytes * 2**20 / 64
    given = source(asked)
    hot = hot_set(asked, capacity, given)
    counted = np.mean([popular_shares_counted(hot, given.ids(n), given.starts(n)) for n in range(12)], axis=0)
    assert popular_shares(asked, capacity) == pytest.approx(counted, abs=0.015)
    assert counted[1] < counted[0], "popular samples are short"


def test_a_sample_is_popular_by_its_own_lookups_and_an_empty_one_always():
    asked = uneven(0.8, 1.5, 1.0)
    given = source(asked)
    hot, ids, starts = hot_set(asked, 40, given), given.ids(3), given.starts(3)
    told, lengths = np.ones(16, dtype=bool), np.zeros(16)
    for bag, (low, high) in enumerate(pairwise(starts)):
        table, sample = divmod(bag, 16)
        for row in ids[low:high].tolist():
            told[sample] &= row < hot.run_ends[table] or row in hot.scattered_rows
            lengths[sample] += 1
    assert 0 < told.sum() < 16
    assert popular_shares_counted(hot, ids, starts) == (told.mean(), lengths[told].sum() / len(ids))


def test_samples_that_are_popular_and_those_that_are_not_share_the_lookups():
    asked = scenario("optane-kaggle", "hotline", **{CV: (1.0,)})
    amounts = traffic(asked, rows=np.full(3, 900.0), popular=np.array([0.4, 0.0, 1.0]), popular_lookups=np.array([0.3, 0.0, 1.0]))
    few, many = by_popularity(amounts, amounts.popular, amounts.popular_lookups)
    shared = amounts.popular * few.lookups + (1 - amounts.popular) * many.lookups
    np.testing.assert_allclose(shared, amounts.lookups, rtol=1e-15)
    assert few.lookups[0] == pytest.approx(0.75 * amounts.lookups)
    even = traffic(asked, rows=amounts.rows, popular=amounts.popular)
    assert by_popularity(even, even.popular, even.popular_lookups) == (even, even)


def test_lengths_of_uneven_bags_go_with_the_indices():
    even, some = (traffic(uneven(*cv), rows=np.ones(1)) for cv in ((), (0.0, 1.0, 1.0)))
    assert some.feature_bytes == even.feature_bytes + 16 * 2 * 4 == 16 * (6 * 8 + 2 * 4)
    assert some.sort_bytes == even.sort_bytes and some.lookups == even.lookups


@each("system", variant_names("systems"), few=4)
def test_spread_zero_is_even_to_the_last_bit(system):
    asked = scenario("optane-kaggle", system)
    assert estimate(with_values(asked, {CV: (0.0,)})).results == estimate(asked).results


def test_as_many_spreads_as_tables_or_one():
    with pytest.raises(BadKnob, match=r"data.bag_length_cv has 2 values for 3 tables; give none, one or 3 values"):
        uneven(0.5, 1.0)
