"""Links: is what one asks for counted before it is expanded, priced before it is computed, and settled within the budget?"""

from random import Random
from time import process_time

import pytest

from engine.analysis import linked
from engine.errors import CannotRun, EmberpoolError
from engine.estimate import estimate
from engine.insight import data_profile
from engine.insight.knob_strips import strips
from engine.scenario.presets import preset_names
from engine.scenario.scenario import KNOBS, Scenario
from engine.sweep.axes import parse
from engine.sweep.sweep import Sweep, sampling
from pages.failures import campaigns
from tests.cases import each
from tests.sweep import drawn_links

SECONDS, LONGEST = 2.0, 300
MAIN = tuple(path for path, one in KNOBS.items() if one.main)


def settled(text: str) -> tuple[float, str]:
    """Read a link and compute what pages do with it at once; return the most seconds of the processor, and what refuses it."""
    said, longest = [], 0.0
    try:
        before = process_time()
        opened = linked.read(text)
        scenario, axes = opened.scenario, tuple(map(parse, opened.axes))
        pages = [
            lambda: [estimate(scenario), *strips(scenario, MAIN)],
            lambda: data_profile.expectation(scenario),
            lambda: _failures(scenario),
            lambda: Sweep(scenario, axes, (), sampling(opened.questions.sample or "grid")) if axes else None,
        ]
    except EmberpoolError as error:
        return process_time() - before, str(error)
    for page in pages:
        before = process_time()
        try:
            page()
        except EmberpoolError as error:
            said.append(str(error))
        longest = max(longest, process_time() - before)
    return longest, max(said, key=len, default="")


def _failures(scenario: Scenario) -> None:
    asked = campaigns.supposed(scenario)
    if told := campaigns.too_many(asked):
        raise CannotRun(told)
    campaigns.of(asked)


def held(text: str) -> str:
    """Hold a link to the budget; return what refuses it."""
    seconds, said = settled(text)
    assert seconds < SECONDS, f"{seconds:.1f} s: {text[:500]}"
    return said


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Compile, import and read what the first link of a process would pay for."""
    settled("preset=tiny")


@each("name", preset_names(), few=3)
def test_every_preset_settles_within_the_budget(name):
    assert not held(f"preset={name}")


@pytest.mark.slow
def test_valid_links_settle_and_hostile_ones_settle_or_are_refused_within_the_budget():
    for number in range(1000):
        held(drawn_links.valid(Random(number))[1])
    for number in range(10_000):
        held(drawn_links.hostile(Random(number))[1])


def test_a_few_drawn_links_keep_the_budget():
    for number in range(4):
        held(drawn_links.valid(Random(number))[1])
        held(drawn_links.hostile(Random(number))[1])


@each("path", ["model.top_mlp", "model.bottom_mlp"])
def test_layers_are_counted_before_they_are_read(path):
    said = held(f"{path}={'9-' * 2999}1")
    assert "3,000 values" in said and "128" in said and len(said) < LONGEST
    assert "128 are allowed" in held(f"{path}={'x-' * 2999}1")  # not even looked at


def test_tables_that_are_all_alike_cost_as_much_as_one():
    assert not held(
        "model.num_tables=10000&model.num_embeddings=1000000&model.pooling=100&data.popularity=zipf&data.locality=0.5"
    )


def test_a_thousand_unlike_tables_have_no_profile_but_a_price():
    unlike = ";".join(f"{number / 250:g}" for number in range(1000))
    said = held("model.num_tables=1000&model.num_embeddings=100000000000&data.popularity=zipf&data.zipf_exponents=" + unlike)
    assert "1,000 unlike tables have 2," in said and "500,000" in said and len(said) < LONGEST


@each("hours", [0.25, 1.0, 2.0], few=1)
def test_many_faults_are_drawn_with_fewer_seeds(hours):
    assert not held(f"faults.power_loss_mtbf_hours={hours}")


def test_as_few_faults_as_usual_are_drawn_with_all_seeds():
    asked = campaigns.supposed(linked.read("").scenario)
    assert all(len(one.runs) == campaigns.SEEDS for one in campaigns.of(asked).protected if one.runs)


@each("given", ["machine.cxl_lanes=" + 5000 * "a", "machine.cxl_generation=1e300", "machine.assume=" + 3000 * "x"])
def test_a_long_word_of_a_link_is_cut_in_the_sentence_that_refuses_it(given):
    said = held(given)
    assert given.partition("=")[0] in said and len(said) < LONGEST


def test_instants_that_thousands_of_nodes_have_at_once_keep_the_budget():
    held(
        "preset=cached-embedding-kaggle&faults.correlated_shock_nodes=4096&faults.correlated_shock_at_seconds="
        + "0.0;" * 600
        + "0"
    )
