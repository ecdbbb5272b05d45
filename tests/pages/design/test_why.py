"""The page Why: does it open by link, tell every step in numbers, and give its sentence where a step cannot be taken?"""

from functools import cache

import pytest

from engine.estimate import estimate
from engine.insight.relaxation import ENDLESS_BATCHES
from engine.sweep import links
from pages.graphics import chart, pictures
from pages.ui import palette
from pages.why_page import insights, why_charts, why_tables
from tests import apps
from tests.apps import address, fields, text
from tests.machines import scenario

STEP = "Step time [ms]"
found = cache(lambda name, **knobs: insights.insights_of(scenario(name, "cxl", **knobs)))


def opened(**query):
    return apps.opened("why", {key.replace("__", "."): value for key, value in query.items()})


def whole_way(app):
    """Return the sentence above the waterfall."""
    (found,) = (one.value for one in app.markdown if " faster than PMEM" in one.value)
    return found


def test_the_page_tells_the_whole_way_and_every_step_in_numbers():
    app = opened(preset="trainingcxl-rm1", system="pmem")
    assert not app.exception and "**CXL is 4.28 × faster than PMEM" in text(app.markdown)
    steps, logs, carried = (frame.value for frame in app.dataframe)
    assert steps["Saved [ms]"].sum() == pytest.approx(steps["Before [ms]"].iloc[0] - steps["After [ms]"].iloc[-1], abs=1e-9)
    assert steps["Factor"].prod() == pytest.approx(steps["Before [ms]"].iloc[0] / steps["After [ms]"].iloc[-1])
    assert logs["Curve"].iloc[0] == "This machine" and set(carried["Training system"]) == {"CXL-D", "CXL-B", "CXL"}
    assert "Relaxed lookup costs 0.147 ms here" in text(app.caption) and "needs a staleness of 1 batch." in text(app.markdown)
    assert links.open_pairs(address(app)).scenario == scenario("trainingcxl-rm1", "pmem")


@pytest.mark.slow
def test_a_knob_of_the_sidebar_moves_the_page_but_the_training_system_does_not():
    app = opened(preset="dlrm-kaggle")
    before = whole_way(app)
    app.selectbox(key="knob system").set_value("ssd").run()
    assert whole_way(app) == before
    app.text_input(key="knob machine.pmem_capacity_GB").set_value("512").run()
    assert not app.exception and whole_way(app) != before


def test_energy_and_the_other_order_are_drawn_from_the_same_steps():
    app = opened(preset="trainingcxl-rm1")
    both = app.dataframe[0].value
    app.segmented_control(key="order").set_value("The other way round").run()
    app.segmented_control(key="of").set_value("Energy").run()
    swapped = app.dataframe[0].value
    assert not app.exception and "J a batch" in apps.chart_words(app)["waterfall"]
    assert list(swapped["Step"])[:2] == ["Hardware hand-offs", "Near-data processing"]
    assert swapped["Saved [ms]"].iloc[1] == both["Saved, other order [ms]"].iloc[0]
    assert swapped["Saved [J]"].sum() == pytest.approx(both["Saved [J]"].sum())


def test_a_step_that_cannot_be_taken_is_told_in_a_sentence():
    app = opened(preset="dlrm-kaggle", policy__relaxed_lookup="off")
    assert "Relaxed lookup is not possible:" in text(app.caption)
    assert not app.exception and len(app.dataframe) == 3


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"machine__pmem_capacity_GB": "1", "machine__pmem_module_GB": "1"}, "cannot hold 2.30 GB of embedding tables"),
        ({"machine__assume": "foo.bar=3"}, "is not a constant of any device"),
    ],
)
def test_a_scenario_that_cannot_run_gives_the_page_its_sentence_and_nothing_else(query, sentence):
    app = opened(preset="dlrm-kaggle", **query)
    assert not app.exception and sentence in text([*app.header, *app.info]) and not app.dataframe


@pytest.mark.parametrize("of", why_tables.METRICS)
def test_the_bars_of_the_waterfall_hang_together(of):
    steps = found("trainingcxl-rm1").steps
    bars = why_tables.waterfall(steps, of)
    assert list(bars.name) == ["pmem", *(step.name for step in steps.steps), "cxl"]
    edges = [bars.high[0]]
    for low, high, costs in zip(bars.low[1:-1], bars.high[1:-1], bars.costs[1:-1], strict=True):
        assert (low if costs else high) == edges[-1]
        edges.append(high if costs else low)
    assert edges[-1] == bars.high.iloc[-1] and list(bars.costs) == [False, False, False, False, True, False, False]
    assert bars.label[4].startswith("+") and set(bars.system) <= set(palette.SYSTEMS)


def test_every_chart_draws_only_columns_that_its_table_has():
    one, asked = found("trainingcxl-rm1"), scenario("trainingcxl-rm1", "cxl")
    drawn = {
        "waterfall": (why_charts.waterfall("Energy"), why_tables.waterfall(one.steps, "Energy")),
        "staleness": (why_charts.staleness(), why_tables.staleness(one.log)),
        "strict": (why_charts.strict_and_relaxed(), why_tables.strict_and_relaxed(one.log)),
        "links": (why_charts.links(), why_tables.links(one.links, asked)),
    }
    for name, (spec, rows) in drawn.items():
        assert fields(spec) <= {*rows.columns, "label"}, name
        assert len(rows) > 5, name


def test_curves_are_those_of_the_estimate_and_mark_this_machine():
    one, asked = found("optane-rm1"), scenario("optane-rm1", "cxl")
    rows = why_tables.links(one.links, asked)
    point = rows[(rows.system == "cxl-d") & (rows.bandwidth == 8.0)].iloc[0]
    changed = scenario("optane-rm1", "cxl-d", **{"machine.cxl_bandwidth_GBps": 8.0, "machine.pmem_capacity_GB": 768.0})
    assert point.step == pytest.approx(estimate(changed).results[STEP], rel=1e-9)
    modules = scenario("dlrm-terabyte", "cxl")  # four, with a link of eight lanes each; curves are over one link's
    assert set(rows.present) == {51.66} and set(why_tables.links(one.links, modules).present) == {25.83}
    assert list(rows[rows.enough].system) == ["cxl-d", "cxl-b", "cxl"]
    relaxed = why_tables.strict_and_relaxed(one.log)
    here = relaxed[relaxed.now & (relaxed.how == "bound 100")].iloc[0]
    endless = scenario("optane-rm1", "cxl", **{"run.batches": ENDLESS_BATCHES})  # a short run ends before a log is waited for
    assert here.step == pytest.approx(estimate(endless).results[STEP], rel=1e-9) and here.rate == pytest.approx(6 * 2.28)
    stale = why_tables.staleness(one.log)
    assert stale[stale.now].needed.item() == one.log.present_log.needed_bound and set(stale.bound) == {100}


def test_each_saturation_has_its_name_in_the_drawn_picture():
    curves = why_tables.links(found("trainingcxl-rm1").links, scenario("trainingcxl-rm1", "cxl"))
    frame, spec = chart.with_system_titles(curves, why_charts.links())
    drawn = pictures.svg(chart.add_titles({**spec, "width": 700}, "Step time"), frame)
    assert all(f"{title} from " in drawn for title in ("CXL-D", "CXL-B", "CXL"))
