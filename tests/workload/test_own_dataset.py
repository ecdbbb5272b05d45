"""Another data set by knobs alone: can a reader enter its popularity, and do estimate and full run then agree on its caches?"""

import pytest

from engine.errors import BadKnob
from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.simulate import simulate
from engine.sweep.links import link, open_link
from engine.validation.workload_figures import TAOBAO, TAOBAO_LOCALITY
from engine.workload.popularity import Popularity, popularities
from tests.cases import each

HITS, STEP = "Cache hit rate [%]", "Step time [ms]"
ROWS = (7, 40_000, 3, 120_000, 900)
OWN = {
    "model.num_tables": 5,
    "model.num_embeddings": ROWS,
    "data.popularity": "zipf",
    "data.zipf_exponents": (1.4, 0.8, 1.1, 1.2, 1.3),
    "data.hottest_shares": (0.0, 0.6, 0.0, 0.1, 0.0),
    "data.zipf_shift": 2.5,
    "data.once_share": 0.03,
    "data.batch_size": 128,
    "run.training": False,
}


def test_a_measured_curve_with_locality_is_entered_by_three_knobs():
    knobs = {"data.zipf_exponent": 1.656, "data.zipf_shift": 7.78e4, "data.locality": TAOBAO_LOCALITY, "data.popularity": "zipf"}
    asked = with_values(Scenario(), {"model.num_tables": 1, "model.num_embeddings": (TAOBAO.rows,), **knobs})
    assert popularities(asked) == (TAOBAO,), "whose measured curves the figures of the workload hold"


def test_each_table_gets_its_own_law_and_a_link_carries_it():
    asked = with_values(Scenario(), OWN)
    laws = popularities(asked)
    assert laws[1] == Popularity((0.6,), pytest.approx(0.37), 0.8, 2.5, 39_999, 40_000, 0.03)
    assert [law.s for law in laws] == [1.4, 0.8, 1.1, 1.2, 1.3] and [law.rows for law in laws] == list(ROWS)
    assert open_link(link(asked)).scenario == asked


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"data.zipf_exponents": (1.0, 1.1)}, "data.zipf_exponents has 2 values for 5 tables; give none, one or 5 values"),
        ({"data.hottest_shares": (0.1, 0.2)}, "data.hottest_shares has 2 values"),
        ({"data.hottest_shares": (0.9,), "data.once_share": 0.2}, "together take 1.1 of a table's lookups; leave at least 0.01"),
    ],
)
def test_what_does_not_describe_a_popularity_is_refused(changes, sentence):
    with pytest.raises(BadKnob, match=sentence):
        with_values(Scenario(), {**OWN, **changes})


def cached(system, policy, share, locality, **knobs):
    changes = {"system": system, "policy.cache_policy": policy, "policy.cache_load_factor": share, "data.locality": locality}
    return with_values(preset("cached-embedding-kaggle").scenario, {**OWN, **changes, "run.batches": 150, **knobs})


@each("locality", [0.0, 0.5, 0.9], few=9)
@each("share", [0.005, 0.02, 0.1])
@each(("system", "policy"), [("cached-embedding", None), ("cached-embedding", "lru"), ("torchrec-uvm", None)])
def test_estimate_and_full_run_agree_on_hits_over_locality_and_cache_size(system, policy, share, locality):
    asked = cached(system, policy, share, locality)
    assert estimate(asked).results[HITS] == pytest.approx(simulate(asked).results[HITS], abs=2)


@pytest.mark.parametrize("system", ["cached-embedding", "torchrec-uvm", "scratchpipe"])
def test_an_lru_cache_that_begins_empty_hits_less_and_writes_back_less_until_it_is_full(system):
    asked = cached(system, "lru", 0.1, 0.3, **{"run.batches": 20})
    warm, empty = (simulate(with_values(asked, {"policy.warm_caches": on})).results for on in (True, False))
    assert empty[HITS] < warm[HITS] - 5
    assert warm[HITS] == pytest.approx(estimate(asked).results[HITS], abs=1)


def test_a_use_late_in_a_batch_hits_by_any_earlier_use_of_its_chain():
    """With locality a row is used in chains; look-ahead by one batch tells the exact span in which a use makes a hit."""
    changes = {"system": "bagpipe", "policy.look_ahead_batches": 1, "data.locality": 0.8, "data.batch_size": 512}
    asked = with_values(preset("bagpipe-kaggle").scenario, {**OWN, **changes, "run.batches": 120})
    assert estimate(asked).results[HITS] == pytest.approx(simulate(asked).results[HITS], abs=0.6)
