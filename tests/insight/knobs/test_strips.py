"""Knob strips and running costs: are stops single estimates, ranges where the step moves, and costs what a formula says?"""

from math import isnan, nan

import numpy as np
import pytest

from engine.errors import EmberpoolError
from engine.estimate import estimate
from engine.hardware.money.prices import ELECTRICITY, LIFE
from engine.insight.knobs.sold import lowest_shown
from engine.insight.knobs.stops import CAPACITY, resolved_value, useful_values
from engine.insight.knobs.strips import LEAST_CHANGE, MAX_STOPS, strip_values, strips
from engine.insight.relaxation import LINK
from engine.insight.running_costs import assumptions, running_costs
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, clear_contradictions, with_checked_values, with_values
from engine.schedule.machine import settle
from tests.cases import each
from tests.machines import TINY

STEP, JOULES, DOLLARS = "Step time [ms]", "Energy per batch [J]", "Capital cost [USD]"
NEAR, BOUND = "machine.near_data_compute", "policy.mlp_staleness_bound_batches"
BASE = with_values(preset("trainingcxl-rm1").scenario, {"system": "cxl", "machine.all_powered": False})


def alone(scenario, path, value):
    """Return the outcome of one estimate, and its numbers in seconds, joules and USD."""
    try:
        found = estimate(with_values(scenario, clear_contradictions(scenario, {path: value})[0]))
    except EmberpoolError as error:
        return str(error), ()
    if not found.ran:
        return found.outcome, ()
    dollars = found.results[DOLLARS]  # None where a part has no published price
    return found.outcome, (found.results[STEP] / 1e3, found.results[JOULES], nan if dollars is None else dollars)


@each("path", [path for path in KNOBS if KNOBS[path].kind in ("int", "float", "choice", "switch")], few=6)
@each("name", ["trainingcxl-rm1", "optane-rm2", "mtrains-capacity", "torchrec-terabyte"], few=2)
def test_every_stop_is_what_one_estimate_says(name, path):
    base = preset(name).scenario
    for strip in strips(base, [path]):
        assert strip.own_stop.knob_value == resolved_value(settle(base).scenario, path)
        for stop in strip.stops:
            outcome, numbers = alone(base, path, stop.knob_value)
            if numbers:
                assert (stop.seconds, stop.joules, stop.dollars) == pytest.approx(numbers, rel=1e-12, nan_ok=True)
            else:
                assert stop.refused == outcome and all(map(isnan, (stop.seconds, stop.joules, stop.dollars)))


def test_many_strips_at_once_are_those_of_each_alone():
    paths = [CAPACITY, LINK, NEAR, BOUND, "machine.gpu", "data.batch_size"]
    baseline = with_values(BASE, {"system": "dram"})
    together = strips(BASE, paths, baseline)
    assert together == tuple(one for path in paths for one in strips(BASE, [path], baseline))
    assert [strip.path for strip in together] == paths
    assert together[0].baseline.seconds == pytest.approx(estimate(baseline).results[STEP] / 1e3, rel=1e-12)


@each("path", [CAPACITY, LINK, "machine.pcie_bandwidth_GBps", "machine.cxl_latency_ns", BOUND], few=5)
def test_beyond_enough_no_value_changes_the_step_by_a_hundredth_and_before_it_one_does(path):
    base = with_values(BASE, {"system": "pcie"}) if "pcie" in path else BASE
    settled, (strip,) = settle(base).scenario, strips(base, [path])
    tried = strip_values(settled, path)
    steps = {value: numbers[0] for value in tried if (numbers := alone(base, path, value)[1])}

    def settles(value):
        return all(abs(other / steps[value] - 1) < LEAST_CHANGE for at, other in steps.items() if at > value)

    expected = next((value for value in list(steps)[:-1] if settles(value)), None)
    assert strip.sufficient_value == expected
    if expected is None:
        assert "the step changes" in strip.sentence
    else:
        assert "by less than 1 %" in strip.sentence


def test_a_strip_reaches_as_far_as_the_step_changes_and_at_least_a_decade_around_the_value():
    (link,) = strips(BASE, [LINK], most=100)
    own, values = link.own_stop.knob_value, [stop.knob_value for stop in link.stops]
    settled, fastest_sold = settle(BASE).scenario, max(mark.knob_value for mark in link.marks)
    assert values == sorted(values) and values[0] <= own / 5 and fastest_sold < values[-1] <= 2 * fastest_sold
    assert [bool(stop.not_sold) for stop in link.stops] == [value > fastest_sold for value in values]
    looked_at = {value for value in useful_values(settled, KNOBS[LINK]) if lowest_shown(settled, LINK) <= value <= values[-1]}
    for value in looked_at - set(values):
        neighbours = sorted(one for one in useful_values(settled, KNOBS[LINK]) if one / 2 <= value <= one * 2)
        steps = [alone(BASE, LINK, one)[1][0] for one in neighbours if (one < values[0]) == (value < values[0])]
        assert max(steps) < (1 + LEAST_CHANGE) ** 2 * min(steps)


@each(("most", "part"), [(5, 0), (7, 1), (MAX_STOPS, 2)], few=1)  # a third of the knobs each
def test_a_strip_has_few_stops_and_always_that_of_the_value_in_force(most, part):
    for strip in strips(BASE, list(KNOBS)[part::3], most=most):
        assert KNOBS[strip.path].kind in ("choice", "switch") or len(strip.stops) <= most
        assert strip.own_stop.knob_value in [stop.knob_value for stop in strip.stops]


def test_capacity_is_stopped_at_whole_modules_doubled():
    settled = settle(BASE).scenario
    module = settled.machine.pmem_module_GB or estimate(BASE).scenario.machine.pmem_module_GB or 128
    counts = [value / module for value in useful_values(settled, KNOBS[CAPACITY])]
    assert counts[:4] == pytest.approx([counts[0] * 2**k for k in range(4)])


def test_a_stop_that_cannot_run_says_why():
    (gpus,) = strips(BASE, ["machine.num_gpus"])
    two = next(stop for stop in gpus.stops if stop.knob_value == 2)
    assert isnan(two.seconds) and "has places for 1 GPU, but a node has 2" in two.refused and two.refused in gpus.sentence
    (dim,) = strips(TINY, ["model.embedding_dim"])
    assert any("pairwise dot needs" in stop.refused for stop in dim.stops)


def test_links_are_marked_at_what_cards_carry():
    """A lane of PCIe 5 carries 32 GT/s in 128 of 130 bits, 3.94 GB/s, of which 82 % are payload."""
    (link,) = strips(BASE, [LINK])
    assert {"×16 Gen5" in mark.text: mark.knob_value for mark in link.marks}[True] == pytest.approx(
        16 * 32 / 8 * 128 / 130 * 0.82, rel=1e-3
    )
    both = next(mark for mark in link.marks if "×8 Gen5" in mark.text)
    assert "×16 Gen4" in both.text and "31.5 GB/s raw" in both.text


def test_lists_and_what_estimates_do_not_see_have_no_strip():
    lists = {"model.embedding_dim": (8, 4, 4), "model.optimizer": ("sgd", "adam", "sgd"), "model.interaction": "concat"}
    listed = with_values(TINY, lists)
    assert strips(listed, ["model.embedding_dim", "model.optimizer"]) == ()
    (precision,) = strips(listed, ["model.row_precision"])
    assert precision.own_stop.knob_value == "fp32"
    assert strips(BASE, ["model.num_embeddings", "model.learning_rate", "machine.assume", "machine.target_throughput"]) == ()


def test_a_knob_without_effect_does_not_act():
    acts = {strip.path: strip.acts for strip in strips(BASE, ["machine.num_ssds", LINK, NEAR])}
    assert acts == {"machine.num_ssds": False, LINK: True, NEAR: True}


@each("level", ["device", "node", "room"], few=3)
def test_running_costs_follow_from_watts_in_the_room_and_from_the_price(level):
    """The prototype's CPU draws up to 169 W and its GPU 250 of its supply's 750, and nothing draws air; a room takes 1.3."""
    result = estimate(with_values(BASE, {"machine.energy_level": level}))
    found, r = running_costs(result), result.results
    supplied = 1 / np.interp((169 + 250) / 750, (0.1, 0.2, 0.5, 1), (0.8, 0.87, 0.9, 0.87))
    watts = r[JOULES] / (r[STEP] / 1e3) * {"device": 1.3 * supplied, "node": 1.3, "room": 1}[level]
    hours = 1e9 / r["Throughput [samples/s]"] / 3600
    assert found.kwh_month == pytest.approx(watts * 730 / 1000)
    assert found.electricity_month == pytest.approx(0.081 * found.kwh_month)
    assert found.capital == r[DOLLARS]
    assert found.per_billion_samples == pytest.approx(watts / 1000 * hours * 0.081 + r[DOLLARS] * hours / (5 * 12 * 730))


def test_fans_of_a_server_draw_their_share_of_what_a_node_draws():
    """A two-socket server: 625 W of CPUs and 400 W of a GPU on 3,200 W of supplies, and a tenth of all for its fans."""
    node, device = (
        estimate(with_values(preset("optane-kaggle").scenario, {"machine.energy_level": level})).results[JOULES]
        for level in ("node", "device")
    )
    assert node / device == pytest.approx(1 / 0.9 / np.interp(1025 / 3200, (0.2, 0.5), (0.94, 0.96)))


def test_costs_say_what_they_assume_and_nothing_of_what_cannot_run():
    assert (
        f"{ELECTRICITY.value:g} USD/kWh" in assumptions(BASE)
        and f"{LIFE.value:g} years" in assumptions(BASE)
        and "EIA" in assumptions(BASE)
    )
    assert running_costs(estimate(with_values(BASE, {"machine.num_gpus": 2}))) is None


@each("path", [path for path in KNOBS if KNOBS[path].kind in ("int", "float")])
@each("end", ["low", "high"])
def test_a_knob_at_an_end_of_its_range_has_a_hundred_stops_at_most(path, end):
    assert len(useful_values(with_checked_values(BASE, {path: getattr(KNOBS[path], end) or 0}), KNOBS[path])) <= 101
