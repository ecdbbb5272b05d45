"""Knob strips on Design: do curve, place in force and products say what the estimate and the catalogue say?"""

import itertools

import altair
import pytest

from engine.estimate import estimate
from engine.insight.knobs.strips import strips as strips_of
from engine.scenario.scenario import with_values
from pages.design_page import every_knob
from pages.knob_cards import strip_charts, strips
from tests import apps
from tests.apps import fields
from tests.machines import scenario

LINK, NEAR = "machine.cxl_bandwidth_GBps", "machine.near_data_compute"
STEP, JOULES, DOLLARS = "Step time [ms]", "Energy per batch [J]", "Capital cost [USD]"


def test_a_strip_holds_the_estimates_and_marks_where_one_is_and_what_is_sold():
    asked = scenario("optane-rm1", "cxl", **{LINK: 32.0})
    (strip,) = strips_of(asked, [LINK])
    frame, stops = strip_charts.lane_rows(strip), strip_charts.stop_rows(strip)
    assert list(stops[stops.here].value) == ["32.0 GB/s"]
    for value, (_, row) in zip(strip.stops, stops.iterrows(), strict=True):
        found = estimate(with_values(asked, {LINK: value.knob_value})).results
        drawn = (row.step, row.joules, row.dollars)
        assert drawn == pytest.approx([found[name] for name in (STEP, JOULES, DOLLARS)], rel=1e-9)
    for quantity, column in {"Step": "step", "Energy": "joules", "Price": "dollars"}.items():
        lane = frame[frame.quantity == quantity]
        assert list(lane.level) == pytest.approx(list(stops[column] / stops[column].max())) and lane.level.max() == 1.0
    products = frame[frame["product"].notna() & (frame["product"] != "")]
    assert set(products["product"]) == {mark.text for mark in strip.marks}
    for place, value in zip(products.place, sorted(mark.knob_value for mark in strip.marks), strict=True):
        assert strip.stops[int(place)].knob_value <= value <= strip.stops[min(int(place) + 1, len(strip.stops) - 1)].knob_value
    labelled = list(products[products.label != ""].place)
    assert all(after - before > 0.1 * len(stops) for before, after in itertools.pairwise(labelled)) and labelled
    spec = strip_charts.strip_chart(True, True)
    altair.LayerChart.from_dict({**spec, "data": {"values": []}}).to_dict()
    assert fields(spec) <= set(frame.columns)


@pytest.mark.parametrize(
    ("quantity", "numbers", "words"),
    [
        ("Step", (1.1744e-3, 1.264e-3), "1.17 to 1.26 ms"),
        ("Energy", (1.06, 1.0601), "1.06 J"),
        ("Price", (54_633.3, 72_153.3), "54.6 to 72.2 k USD"),
        ("Price", (54_633.3, 1_450_000), "0.0546 to 1.45 M USD"),
        ("Price", (float("nan"), float("nan")), ""),
    ],
)
def test_a_lane_says_its_least_and_largest_value(quantity, numbers, words):
    assert strip_charts.extent(quantity, *numbers) == words


def charts(app):
    """Return what each chart of a page is made from, its data apart: other words or another specification make it anew."""
    return {one.proto.id or key: (one.proto.spec, one.proto.alt) for key, one in enumerate(app.get("vega_lite_chart"))}


@pytest.mark.slow
def test_a_moved_knob_and_the_ranges_that_follow_change_the_data_of_charts_alone():
    apps.ANSWERS.left.clear()
    app = apps.opened("design", {"preset": "tiny"})
    apps.ANSWERS.found()
    before = charts(app.run())
    for path, value in ((LINK, "24.0"), ("machine.pmem_capacity_GB", "2048.0"), (LINK, "8.0")):
        app.text_input(key=f"knob {path}").set_value(value).run()
        assert not app.exception and charts(app) == before
    apps.ANSWERS.found()
    assert charts(app.run()) == before and len(before) >= 5


def test_a_knob_whose_strip_shows_that_it_acts_takes_no_estimates_to_say_so(monkeypatch):
    asked, effect = [], strips.effect
    monkeypatch.setattr(strips, "effect", lambda scenario, path: asked.append(path) or effect(scenario, path))
    app = apps.opened("design", {"preset": "tiny", "machine.num_ssds": "2"}, **{strips.STRIPS_ADDED: ("machine.num_ssds",)})
    assert not app.exception and "machine.num_ssds" in asked and not {"machine.pmem_capacity_GB", NEAR} & {*asked}


def test_a_strip_more_is_drawn_on_request_and_goes_back_to_the_drawer():
    app = apps.opened("design", {"preset": "tiny"})
    assert "off → on: Step: " in apps.text(app.caption) and f"knob {NEAR}" in {one.key for one in app.main.toggle}
    app.selectbox(key=strips.STRIP_TO_ADD).set_value("machine.num_ssds").run()
    app.selectbox(key=strips.STRIP_TO_ADD).set_value("data.batch_size").run()
    assert not app.exception and "knob data.batch_size" in {one.key for one in app.main.text_input}
    app.session_state["about data.batch_size"] = True
    app.run().button(key="drop data.batch_size").click().run()
    assert not app.exception and "knob data.batch_size" not in {one.key for one in app.main.text_input}


def test_small_multiples_begin_with_the_knob_that_changes_the_step_most():
    asked = scenario("optane-rm1", "cxl")
    found = sorted(strips_of(asked, ["machine.pmem_capacity_GB", LINK, NEAR]), key=every_knob.step_ratio, reverse=True)
    assert next(strip.path for strip in found) == "machine.pmem_capacity_GB" and every_knob.step_ratio(found[-1]) >= 1.0
    frame = every_knob.rows(found)
    assert fields(every_knob.spec()) <= set(frame.columns) and frame.place.between(0, 1).all() and frame.here.sum() == 3


def test_a_sliders_position_is_named_by_the_knobs_own_value():
    app = apps.opened("design", {"preset": "dlrm-kaggle", "machine.pmem_capacity_GB": "300"})
    slider = next(slider for slider in app.select_slider if "pmem_capacity" in str(slider.key))
    assert slider.value == "300.0" and "300 GB" in slider.options and "10 × 32 GB" not in slider.options
