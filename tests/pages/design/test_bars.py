"""The bars of step time and energy: do their ranges follow, are they the engine's, and is no control without effect?"""

from dataclasses import replace
from urllib.parse import urlencode

import altair
import pytest

from engine.analysis.uncertainty import bands
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.sweep import links
from pages.answers import estimates, question
from pages.design_page import bars, questions
from pages.systems import stack_charts
from pages.ui import tables
from pages.ui.numbers import result_text
from tests import apps
from tests.machines import scenario


def test_the_ranges_follow_the_page_and_are_those_of_the_draws():
    app = apps.opened(query={"preset": "optane-rm1"})
    assert "the range in 9 of 10 draws" in apps.chart_words(app)["stages"] and not app.exception
    asked = scenario("optane-rm1", "cxl")
    results = estimates.estimates_by_system(asked, ("cxl", "dram"))
    known = questions.ranges(tuple(one.scenario for one in results.values()))[questions.STEP]
    frame = tables.stage_rows(results, "cxl", known).set_index("system")
    for name in ("cxl", "dram"):
        drawn = frame.loc[name, ["low", "high"]].dropna()
        assert [tuple(row) for row in drawn.to_numpy()] == [bands(with_values(asked, {"system": name}))[questions.STEP]]
        assert drawn.low.iloc[0] < results[name].results[questions.STEP] < drawn.high.iloc[0]
    altair.LayerChart.from_dict({**stack_charts.step_time(), "data": {"values": []}}).to_dict()


def test_a_bar_that_is_cut_has_no_range_and_neither_has_a_system_that_cannot_run():
    asked = scenario("tiny", "cxl")
    results = dict(estimates.estimates_by_system(asked, ("pmem", "cxl", "dram")))
    slow = tuple({**row, "Exposed [s]": 100 * row["Exposed [s]"]} for row in results["pmem"].breakdown)
    results["pmem"] = replace(results["pmem"], breakdown=slow)
    frame = tables.stage_rows(results, "cxl", dict.fromkeys(results, (1.0, 2.0)))
    assert set(frame[frame.low.notna()].system) == {"cxl", "dram"} and frame.low.count() == frame.high.count() == 2
    small = with_values(preset("meta-856").scenario, {"system": "dram", "machine.expander_dram_GiB": 1.0})
    assert not estimates.estimate_of(small).ran and questions.ranges((small,)) == {questions.STEP: {}, questions.ENERGY: {}}


@pytest.mark.parametrize(("system", "more"), [("cxl", True), ("bagpipe", False)])
def test_the_whole_family_is_offered_only_where_it_has_more_systems(system, more):
    app = apps.opened(query={"preset": "tiny", "system": system})
    assert not app.exception and (bars.WHOLE_FAMILY in {one.key for one in app.toggle}) is more


@pytest.mark.parametrize("against", ["cpu-gpu", "all-hbm"])
def test_kernels_by_table_are_in_the_pages_own_numbers_and_titles_whatever_the_baseline_is(against):
    """A system beside itself is itself, not its baseline, which has none of the scenario's policies."""
    kernels = "host;hbm*8;host;hbm*9;host;hbm;host;hbm*4"
    query = {"preset": "a100-terabyte", "system": "cpu-gpu", "machine.gpu": "h100-pcie", "policy.kernel": kernels}
    app = apps.opened(query=query, **{question.CHOSEN_BASELINE: against})
    own = estimates.estimate_of(links.open_link(f"/design?{urlencode(query)}").scenario).results[questions.STEP]
    said, title = apps.text([*app.markdown, *app.subheader, *app.header, *app.title]), apps.chart_words(app)["stages"]
    told = "CPU-GPU (kernels hbm 22, host 4)"
    assert not app.exception and told in title
    assert f"{told} trains dlrm-terabyte-all in {result_text(own, 'ms')} a batch" in said
