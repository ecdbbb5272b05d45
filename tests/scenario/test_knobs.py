"""Knobs: does each one read back what it writes, and refuse the rest with one sentence?"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.over_weeks import CAMPAIGN_METRICS
from engine.core.figures import exact
from engine.errors import BadInput, BadKnob
from engine.results.metrics import all_metrics
from engine.scenario import knobs
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import GROUPS, KNOBS, Scenario, declaration, values, with_values
from engine.schedule.machine import settle
from engine.systems.buildable import does_not_fit
from tests.cases import each, examples
from tests.strategies import knob_values

every_knob = each("knob", KNOBS.values())
NUMERIC = [knob for knob in KNOBS.values() if knob.kind in ("float", "int", "floats", "ints", "widths")]
every_numeric_knob = each("knob", NUMERIC)


def test_no_knob_is_titled_like_a_result():
    """A sentence or a column that names both could not tell which of the two is meant."""
    results = {name.split(" [")[0].lower() for name in (*(metric.name for metric in all_metrics()), *CAMPAIGN_METRICS)}
    assert not [knob.path for knob in KNOBS.values() if knob.label.lower() in results]


def refusal(knob, text):
    """Return the sentence with which `text` is refused, checked to be one line that names the knob."""
    with pytest.raises(BadKnob) as caught:
        knobs.parse(knob, text)
    sentence = str(caught.value)
    assert sentence.startswith(knob.path) and sentence.endswith((".", "?")) and sentence.isprintable()
    return sentence


@every_knob
@examples(3)
@given(data=st.data())
def test_a_knob_reads_back_exactly_what_it_writes(knob, data):
    value = data.draw(knob_values(knob))
    again = knobs.parse(knob, knobs.write(knob, value))
    assert again == value and type(again) is type(value)


@every_knob
def test_a_knob_declares_all_that_the_sidebar_and_the_axes_need(knob):
    assert knob.label and knob.help.endswith(".") and knob.title.startswith(knob.label)
    assert knobs.check(knob, knob.default) == knob.default
    assert knob.unit == "" or f"[{knob.unit}]" in knob.title
    if knob.kind in ("float", "int", "floats", "ints", "widths"):
        assert knob.low is not None and knob.high is not None and knob.low < knob.high
    assert knob.kind != "choice" or knob.allowed
    assert not knob.log or knob.low > 0


@every_knob
def test_a_unit_in_a_knobs_name_is_the_unit_that_it_declares(knob):
    endings = {"GiB": "GiB", "GB": "GB", "GBps": "GB/s", "ns": "ns", "MHz": "MHz", "hours": "h", "seconds": "s", "GFLOP": "GFLOP"}
    ending = knob.path.rsplit("_", 1)[-1]
    assert knob.unit == endings.get(ending, knob.unit)


@every_numeric_knob
@each("text", ["nan", "inf", "-inf", "1e999", "abc", "1,5", "0x10", "--3", "1 2", "\x00", "٣x", "9" * 400])
def test_a_numeric_knob_refuses_what_is_no_finite_number(knob, text):
    refusal(knob, text)


@every_numeric_knob
def test_a_number_outside_the_range_is_refused_with_the_range(knob):
    below, above = knob.low - max(1.0, abs(knob.low)), knob.high * 2
    for number in (below, above):
        sentence = refusal(knob, repr(int(number) if number == int(number) else number))
        assert exact(knob.low) in sentence and exact(knob.high) in sentence and knob.unit in sentence


@every_numeric_knob
def test_both_ends_of_a_range_are_allowed(knob):
    for number in (knob.low, knob.high):
        knobs.parse(knob, repr(int(number) if number == int(number) else number))


@pytest.mark.parametrize("text", ["", "  ", "auto"])
def test_a_knob_without_auto_needs_a_value(text):
    for knob in NUMERIC:
        if not knob.optional and not (knob.kind == "floats" and not text.strip()):
            refusal(knob, text)


@each("knob", [knob for knob in KNOBS.values() if knob.optional])
def test_an_optional_knob_reads_auto_in_any_case_as_none(knob):
    assert knobs.parse(knob, "auto") is None and knobs.parse(knob, " AUTO ") is None and knobs.write(knob, None) == "auto"


@each("knob", [knob for knob in KNOBS.values() if knob.kind in ("choice", "switch")])
def test_an_unknown_choice_is_refused_with_a_word_that_is_known(knob):
    sentence = refusal(knob, "zzz")
    assert any(word in sentence for word in (*knob.allowed, "on", "known"))


def test_whole_numbers_stay_exact_beyond_the_precision_of_a_float():
    knob = KNOBS["model.num_embeddings"]
    assert knobs.parse(knob, "99999999999;100000000000") == (99_999_999_999, 100_000_000_000)
    refusal(KNOBS["data.batch_size"], "128.5")


@given(st.text(max_size=40))
def test_any_text_is_either_read_or_refused_for_any_knob(text):
    for knob in KNOBS.values():
        try:
            knobs.parse(knob, text)
        except BadKnob as error:
            assert str(error).isprintable()


def test_a_year_may_be_a_number_as_files_and_tables_have_it():
    assert knobs.check(KNOBS["machine.prices"], 2024) == knobs.check(KNOBS["machine.prices"], 2024.0) == "2024"
    for wrong in (2024.5, True, 1999, float("nan")):
        with pytest.raises(BadKnob, match=r"machine\.prices"):
            knobs.check(KNOBS["machine.prices"], wrong)


def test_a_link_width_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(BadKnob, match=r"machine\.cxl_lanes=3 is not one of the possible values; choose 1, 2, 4, 8 or 16\."):
        knobs.parse(KNOBS["machine.cxl_lanes"], "3")


def test_an_unknown_knob_is_answered_with_the_nearest_one():
    with pytest.raises(BadKnob, match=r"machine\.cxl_bandwidth_GBps"):
        declaration("machine.cxl_bandwith_GBps")


@each(
    "changes",
    [
        {"model.top_mlp": (64, 2)},
        {"model.bottom_mlp": (13,)},
        {"model.bottom_mlp": (13, 8)},
        {"model.num_embeddings": (5, 6)},
        {"model.pooling": (1, 2, 3)},
        {"data.batch_size": True},
        {"data.batch_size": math.nan},
        {"data.batch_size": [1]},
        {"run.training": "on"},
        {"machine.pmem": None},
        {"model.num_embeddings": ()},
        {"data.digest": "a\nb"},
        {"data.digest": "a" * 201},
    ],
)
def test_values_that_contradict_each_other_or_their_type_are_refused(changes):
    with pytest.raises(BadKnob) as caught:
        with_values(Scenario(), changes)
    assert str(caught.value).isprintable()


@each("name", preset_names())
def test_a_preset_is_a_scenario_with_a_story(name):
    story = preset(name)
    assert story.title and story.description.endswith(".") and story.paper
    assert with_values(Scenario(), values(story.scenario)) == story.scenario


@each("name", preset_names())
def test_the_machine_of_a_preset_can_be_built_or_the_preset_says_what_it_is(name):
    told, unfit = preset(name), does_not_fit(settle(preset(name).scenario))
    assert bool(told.machine) == bool(unfit), unfit
    assert told.story.startswith(told.description) and told.story.endswith(told.machine or told.description)


def test_an_unknown_preset_is_answered_with_the_nearest_one():
    with pytest.raises(BadInput, match=r"did you mean dlrm-kaggle\?"):
        preset("dlrm-kagle")


def test_a_named_model_sets_the_model_and_single_knobs_then_change_it():
    scenario = with_values(Scenario(), {"model.pooling": (2,), "model.name": "dlrm-terabyte"})
    assert scenario.model.pooling == (2,) and scenario.model.name == "dlrm-terabyte"
    assert scenario.model.embedding_dim == with_values(Scenario(), {"model.name": "dlrm-terabyte"}).model.embedding_dim


def test_every_group_has_knobs_and_four_main_ones_are_those_of_the_machine_question():
    assert all(any(path.startswith(group + ".") for path in KNOBS) for group in GROUPS)
    main = {path for path, knob in KNOBS.items() if knob.main}
    assert main == {
        "system",
        "machine.pmem_capacity_GB",
        "machine.cxl_bandwidth_GBps",
        "machine.near_data_compute",
        "policy.mlp_staleness_bound_batches",
    }


def test_numbers_that_were_good_once_are_still_told_from_switches_and_come_in_their_own_type():
    rows = KNOBS["model.num_embeddings"]
    assert knobs.check(rows, (1, 1, 2)) == (1, 1, 2)
    with pytest.raises(BadKnob, match="True is not a number"):
        knobs.check(rows, (True, 1, 2))
    found = knobs.check(rows, (1.0, 1.0, 2.0))
    assert found == (1, 1, 2) and {type(number) for number in found} == {int}
    assert {type(number) for number in knobs.check(KNOBS["faults.power_loss_at_seconds"], (1, 2))} == {float}
