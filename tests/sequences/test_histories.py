"""Lengths of histories: is the law the one that is asked for, and does a GPU's share of a batch follow from it?"""

from itertools import pairwise

import numpy as np
import pytest

from engine.errors import BadKnob
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.workload.accesses import distinct_events, unique_shares
from engine.workload.histories import history_law, history_shape, largest_normal
from engine.workload.popularity import table_kinds

V4 = preset("dlrm-v4-mi350x").scenario
BAGS = (1,) * 8


def histories(events, cv=0.0, cap=None, **knobs):
    asked = {"model.pooling": (events,) * 3 + BAGS, "data.bag_length_cv": (cv,) * 3 + (0.0,) * 8, "data.history_cap": cap}
    return with_values(V4, {**asked, **knobs})


@pytest.mark.parametrize(("events", "cv", "cap"), [(867, 1.79, 4096), (2628, 0.25, 4086), (2628, 0.5, 4086), (50, 1.0, None)])
def test_cut_lengths_drawn_by_the_law_have_its_mean_and_spread(events, cv, cap):
    law = history_law(histories(events, cv, cap))
    drawn = np.exp(np.random.default_rng(5).normal(law.mu, law.sigma, 2_000_000))
    lengths = np.minimum(drawn, law.cap)
    assert lengths.mean() == pytest.approx(events, rel=0.01) and lengths.std() / lengths.mean() == pytest.approx(cv, rel=0.02)
    for power in (1, 2, 3):
        assert law.moment(power) == pytest.approx(np.mean(lengths**power), rel=0.05)


def test_equal_lengths_have_no_spread_and_one_history_is_the_mean():
    law = history_law(histories(100))
    assert law.sigma == 0 and law.moment(2) == 100**2
    shape = history_shape(histories(100))
    assert (shape.events, shape.positions, shape.squares) == (100, 109, 109**2)
    assert shape.uneven_events == shape.uneven_squares == 1


@pytest.mark.parametrize(
    ("events", "cv", "cap", "remedy"),
    [(5000, 0.0, 4086, "below the mean history of 5,000"), (2628, 0.9, 4086, r"lower it below 0\.745, or raise")],
)
def test_a_law_that_no_lengths_can_have_is_refused_with_the_remedy(events, cv, cap, remedy):
    with pytest.raises(BadKnob, match=remedy):
        history_law(histories(events, cv, cap))


def test_positions_count_item_and_action_where_they_alternate():
    one, two = (history_shape(histories(100, **{"model.event_positions": n})) for n in (1, 2))
    assert (one.positions, two.positions) == (109, 209) and two.squares == 209**2


def test_the_busiest_gpu_has_more_with_fewer_users_and_more_gpus_and_no_more_than_the_mean_if_balanced():
    assert largest_normal(1) == 0 and largest_normal(2) == pytest.approx(0.5642, abs=1e-3)
    assert largest_normal(8) == pytest.approx(1.4236, abs=1e-3)
    most = [history_shape(histories(2628, 0.25, 4086, **{"data.samples_per_user": n})).uneven_events for n in (1.0, 8.0, 64.0)]
    assert all(low < high for low, high in pairwise(most))
    assert history_shape(histories(2628, 0.25, 4086, **{"policy.balanced_histories": True})).uneven_squares == 1
    assert history_shape(histories(2628, 0.25, 4086, **{"machine.num_gpus": 1})).uneven_squares == 1


def test_consecutive_samples_of_a_user_share_their_history_but_for_one_event():
    kinds = table_kinds(histories(100))
    events = distinct_events(kinds, 80, 20)
    windows = {(user, event) for user in range(4) for sample in range(20) for event in range(sample, sample + 100)}
    assert set(events[np.array(kinds.feature_kinds) == "sequence"]) == {len(windows)}
    assert set(events[np.array(kinds.feature_kinds) == "bag"]) == {80}
    assert max(distinct_events(kinds, 80, 1.0)) == 80 * 100


def test_unique_rows_fall_with_the_samples_of_a_user():
    shares = [unique_shares(histories(2628, **{"data.samples_per_user": n}))[0] for n in (1.0, 10.0, 100.0)]
    assert all(few > many for few, many in pairwise(shares)) and shares[0] < 1


def test_the_reference_has_the_duplicates_to_which_its_samples_of_a_user_and_exponents_are_fitted():
    item, artist, album = 100 * unique_shares(V4)[:3]
    assert (
        item == pytest.approx(2.4, rel=0.02) and album == pytest.approx(1.5, rel=0.02) and artist == pytest.approx(0.6, rel=0.02)
    )
