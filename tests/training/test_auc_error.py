"""The standard error of an AUC: is it the published formula, and what AUCs of drawn samples scatter by?"""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from engine.simulate import simulate
from engine.training.loop import auc, auc_error, sampling_error
from tests.machines import scenario


def written_out(area, clicks, others):
    """Return the formula as Hanley and McNeil print it (1982, page 32)."""
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    terms = area * (1 - area) + (clicks - 1) * (q1 - area**2) + (others - 1) * (q2 - area**2)
    return sqrt(terms / (clicks * others))


def test_the_published_example_comes_out():
    # Their example of 51 abnormal and 58 normal images: an area of .893 has a standard error of .032. By hand: Q1 = .8067,
    # Q2 = .8425, (.0956 + 50 * .00923 + 57 * .04507) / 2958 = .001057.
    assert sampling_error(0.893, 51, 58) == pytest.approx(0.0325, abs=5e-5)
    assert round(sampling_error(0.893, 51, 58), 2) == 0.03


@given(st.floats(0.01, 0.99), st.integers(1, 10**6), st.integers(1, 10**6))
def test_it_is_the_printed_formula(area, clicks, others):
    found = sampling_error(area, clicks, others)
    assert found is not None and found == pytest.approx(written_out(area, clicks, others), rel=1e-6)


@pytest.mark.parametrize(("area", "clicks", "others"), [(0.6, 60, 180), (0.76, 40, 120), (0.76, 500, 1500), (0.8, 200, 600)])
def test_aucs_of_drawn_samples_scatter_by_it_where_scores_are_normal(area, clicks, others):
    draws, chance = 1500, np.random.default_rng(6)
    labels = np.repeat(np.array([1, 0], np.float32), [clicks, others])
    apart = sqrt(2) * norm.ppf(area)  # of two normal distributions whose AUC this is
    found = [auc(labels, chance.normal(size=len(labels)) + apart * labels) for _ in range(draws)]
    assert np.mean(found) == pytest.approx(area, abs=4 * sampling_error(area, clicks, others) / sqrt(draws))
    assert np.std(found) == pytest.approx(sampling_error(area, clicks, others), rel=0.15)


def test_it_shrinks_with_the_root_of_the_samples():
    errors = [sampling_error(0.7645, n // 4, 3 * n // 4) for n in (20, 2_000, 200_000)]
    assert errors[0] > 0.1 and errors[0] > 9 * errors[1] > 80 * errors[2]
    assert errors[1] / errors[2] == pytest.approx(10, rel=0.01)


def test_it_is_none_where_no_auc_is_known_and_where_the_formula_is_0_for_any_number_of_samples():
    assert sampling_error(0.7, 0, 9) is None and sampling_error(0.7, 9, 0) is None
    assert sampling_error(1.0, 5, 15) is None and sampling_error(0.0, 5, 15) is None
    alike = np.ones(4, np.float32)
    assert auc_error(auc(alike, alike), alike) is None
    both = np.array([1, 1, 0, 0, 0], np.float32)
    assert auc_error(0.5, both) == sampling_error(0.5, 2, 3)


def test_a_run_has_it_of_its_held_out_samples_and_of_its_last_pass_and_it_moves_no_auc():
    few, many = (simulate(scenario("tiny", "dram", **{"data.held_out_samples": n, "run.batches": 20})) for n in (20, 8192))
    assert few.results["AUC error"] > 0.05 > 0.01 > many.results["AUC error"] > 0.004
    assert few.results["AUC (training)"] == many.results["AUC (training)"]
    assert few.results["AUC error (training)"] == many.results["AUC error (training)"] > 0.02
    known = [row for row in many.training if row["AUC"] is not None]
    assert known[-1]["AUC"] == many.results["AUC"] and known[-1]["AUC error"] == many.results["AUC error"]
    assert all((row["AUC error"] is None) == (row["AUC"] is None) for row in many.training)
