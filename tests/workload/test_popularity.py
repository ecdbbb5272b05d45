"""Do lookups spread over rows as the fits and formulas say?"""

import math

import numpy as np
import pytest

from engine.core import hashing
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.validation.workload_figures import KAGGLE_SAMPLES, distinct
from engine.workload import batch, popularity, sampling, spectrum
from engine.workload import popularity as cells
from engine.workload.popularity import Popularity
from tests.cases import each
from tests.oracles.splitmix import mixed

MASK = 2**64 - 1


def _fold(rank: int, rows: int) -> int:
    return int((mixed(rank + 0x9E3779B97F4A7C15 & MASK) >> 11) * 2.0**-53 * rows)


def _exact(popularity: Popularity) -> np.ndarray:
    """Row shares by the definition, one rank at a time."""
    tail = (np.arange(1, popularity.V + 1) + popularity.q) ** -popularity.s if popularity.mass else np.empty(0)
    ranks = np.concatenate((popularity.heavy, popularity.mass * tail / tail.sum() if len(tail) else tail))
    row = np.zeros(popularity.rows)
    row[: len(ranks)] = ranks[: popularity.rows]
    for rank in range(popularity.rows, len(ranks)):
        row[_fold(rank, popularity.rows)] += ranks[rank]
    return row


def _drawn(popularity: Popularity, count: int = 400_000) -> np.ndarray:
    key = hashing.key(7, hashing.Purpose.IDS)
    return sampling.draw_ids(sampling.sampler((popularity,)), key, np.array([0, count]), np.array([0, popularity.rows]))


def test_mixing_is_the_published_splitmix64() -> None:
    # First outputs of SplitMix64 seeded with 1234567, as published with its reference implementation.
    state, out = 1234567, []
    for _ in range(3):
        state = state + 0x9E3779B97F4A7C15 & MASK
        out.append(int(hashing.mix(np.uint64(state))))
    assert out == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@each("s", [0.0, 0.8, 1.0, 1.0000001, 1.12, 4.0])
@each("q", [0.0, 38.3])
def test_runs_of_ranks_weigh_what_their_sum_weighs(s: float, q: float) -> None:
    low, high = np.array([1025, 5000, 70_000]), np.array([1033, 5039, 70_546])
    wanted = [math.fsum((r + q) ** -s for r in range(a, b)) for a, b in zip(low, high, strict=True)]
    assert cells.zipf_mass(low, high, s, q) == pytest.approx(wanted, rel=1e-12)


SMALL = [
    Popularity((0.3, 0.1), 0.6, 1.2, 3.0, 5000, 2000),
    Popularity((0.3, 0.1), 0.6, 1.2, 3.0, 5000, 9000),
    Popularity((0.5, 0.25, 0.15, 0.1), 0.0, 0.8, 1.0, 0, 3),
    Popularity((0.5, 0.25), 0.25, 0.8, 1.0, 1, 1),
    Popularity((), 1.0, 0.0, 0.0, 3000, 3000),
    Popularity((), 1.0, 4.0, 0.0, 3000, 3000),
]


@each("popularity", SMALL)
def test_drawn_rows_follow_the_formula_with_folded_ranks_on_top(popularity: Popularity) -> None:
    count = 400_000
    seen = np.bincount(_drawn(popularity, count), minlength=popularity.rows)
    wanted = count * _exact(popularity)
    error = (seen - wanted)[wanted > 20] / np.sqrt(wanted[wanted > 20])
    assert np.abs(error).max() < 5
    assert np.square(error).mean() < 1 + 5 * np.sqrt(2 / len(error))
    assert seen[wanted == 0].sum() == 0


@each("popularity", SMALL)
def test_the_spectrum_holds_the_rows_of_the_formula(popularity: Popularity) -> None:
    hottest = np.array([1, 2, 10, 100, 1000])
    wanted = np.cumsum(np.sort(_exact(popularity))[::-1])[np.minimum(hottest, popularity.rows) - 1]
    found = spectrum.head_mass(spectrum.spectrum(popularity), hottest)
    assert found == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize("field", [3, 20])
def test_hundreds_of_millions_of_ranks_are_drawn_by_their_integral(field: int) -> None:
    fit = popularity.published_fits("kaggle")["3"] if field == 3 else popularity.published_fits("tb")["20"]
    heavy = tuple(fit.get("heavy", ()))
    whole = Popularity(heavy, 1 - sum(heavy), fit["s"], fit["q"], fit["V"], 2 * 10**9)
    rows = np.sort(_drawn(whole))
    head = ((np.arange(1, 10**6 + 1) + whole.q) ** -whole.s).cumsum()
    edge, end, power = 10**6 + 0.5 + whole.q, whole.V + 0.5 + whole.q, 1 - whole.s
    total = head[-1] + (end**power - edge**power) / power
    for ranks in (10, 1000, 30_000, 10**6):
        wanted = sum(heavy) + whole.mass * head[ranks - 1] / total
        found = np.searchsorted(rows, len(heavy) + ranks) / len(rows)
        assert found == pytest.approx(wanted, abs=5 * math.sqrt(0.25 / len(rows)))
    assert rows[-1] < len(heavy) + whole.V


def test_every_shape_of_table_is_drawn_within_its_rows() -> None:
    random = np.random.default_rng(5)
    rows = (1, 2, 3, *(int(10 ** random.uniform(0, 8)) for _ in range(52)))
    changes = {"model.num_tables": 55, "model.num_embeddings": rows, "model.pooling": (2,)}
    for kind in ("kaggle", "terabyte", "zipf", "uniform"):
        scenario = with_values(preset("optane-kaggle").scenario, {**changes, "data.popularity": kind})
        start, layout = batch.offsets(scenario.model), batch.bag_layout(scenario.model, 64)
        ids = sampling.draw_ids(sampling.sampler(popularity.popularities(scenario)), np.uint64(3), layout, start)
        for table in range(55):
            bag = ids[layout[table] : layout[table + 1]]
            assert start[table] <= bag.min() and bag.max() < start[table + 1] == start[table] + rows[table]


FITTED = [field for field, fit in popularity.published_fits("kaggle").items() if fit["mass"] > 0]


@each("field", FITTED)
def test_the_kaggle_fit_sees_as_many_distinct_ids_as_the_data_set_has(field: str) -> None:
    fit = popularity.published_fits("kaggle")[field]
    found = distinct(Popularity(tuple(fit["heavy"]), fit["mass"], fit["s"], fit["q"], fit["V"], 1), KAGGLE_SAMPLES)[0]
    assert found == pytest.approx(fit["distinct"], rel=0.002, abs=1.5)


SMALL_TERABYTE = {6: 4, 9: 64, 14: 2209, 18: 977}


@pytest.mark.parametrize(("field", "distinct"), SMALL_TERABYTE.items())
def test_a_small_terabyte_field_is_shaped_like_the_kaggle_field_of_nearest_size(field: int, distinct: int) -> None:
    nearest = {6: "20", 9: "25", 14: "19", 18: "1"}[field]  # of 4, 105, 2173 and 1460 distinct ids
    scenario = with_values(preset("optane-kaggle").scenario, {"model.name": "dlrm-terabyte", "data.popularity": "terabyte"})
    law, like = popularity.popularities(scenario)[field - 1], popularity.published_fits("kaggle")[nearest]
    assert (law.heavy, law.mass, law.s, law.q) == (tuple(like["heavy"]), like["mass"], like["s"], like["q"])
    assert (distinct - len(law.heavy) if law.mass else like["V"]) == law.V
