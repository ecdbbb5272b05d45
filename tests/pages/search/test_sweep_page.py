"""The page Sweep: does it answer first, draw each view, filter, find the cheapest, pin, and keep its question in the link?"""

import re

import numpy as np
import pytest

from engine.analysis import importance
from engine.analysis.over_weeks import campaign_metric
from engine.core.figures import count, figure
from engine.estimates import estimates, results
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.service import service
from engine.sweep import links
from engine.sweep.axes import parse
from engine.sweep.questions import LinkQuestions
from engine.sweep.sweep import RefusedPlace, Sweep, sampling
from pages.search_page import axes_panel, sweep_runs, sweep_weeks
from tests import apps, fakes
from tests.apps import address
from tests.cases import each
from tests.pages.test_pages import engine, keep, keep_all, opened

__all__ = ["engine", "opened"]
AXES = ("machine.cxl_bandwidth_GBps:8,16,32", "system:pmem,cxl", "data.batch_size:256,512")
QUERY = "preset=tiny&" + "&".join(f"axis={axis}" for axis in AXES)
SWEEP = Sweep(preset("tiny").scenario, tuple(map(parse, AXES)))
VIEWS = ("Heat map", "Lines", "Pareto", "Parallel", "What matters")


@pytest.fixture
def finished():
    """Let all points be finished."""
    keep_all([fakes.estimate(point) for point in SWEEP], "estimate")


@pytest.fixture
def page(finished, opened):
    """The page with all points finished."""
    app = opened(QUERY, "search")
    assert not app.exception
    return app


def words(app):
    return " ".join(line.value.replace("\\", "") for line in (*app.header, *app.markdown, *app.caption)) + " ".join(
        apps.chart_words(app).values()
    )


def charts(app):
    return (
        [element for element in app.main if element.type == "vega_lite_chart"]
        or app.get("vega_lite_chart")
        or app.get("arrow_vega_lite_chart")
    )


def test_the_page_answers_before_it_asks_and_each_view_draws_one_chart_with_words_beside_it(page):
    assert "Best Step time" in words(page) and "explains" in words(page) and "all done" in words(page)
    assert "against the scenario on top" in words(page) and "points share" not in words(page)
    assert "among the" not in words(page), "over all points nothing is left out"
    for view in VIEWS:
        app = page.segmented_control(key="view").set_value(view).run()
        assert not app.exception and len(charts(app)) == 1, view
        if view == "Heat map":
            app.segmented_control(key="rest").set_value("fixed").run()
            assert not app.exception and len(app.select_slider) > len([s for s in app.sidebar.select_slider])
    full = page.segmented_control(key="how").set_value("full").run()
    assert "12 points share 4 trainings." in words(full) and not full.exception


def test_a_small_sweep_is_estimated_by_itself_and_only_once(opened, monkeypatch):
    keep(fakes.estimate(SWEEP[7]), "estimate")
    asked = []
    monkeypatch.setattr(sweep_runs, "results", lambda points, what: asked.append(points) or results(points, what))
    app = opened(QUERY, "search").run()
    assert not app.exception and "Best Step time" in words(app) and not [one for one in app.button if one.key == "run"]
    assert asked == [[point for point in SWEEP if point != SWEEP[7]]], "what is kept is not estimated, nor anything twice"
    opened(QUERY, "search")
    full = opened(f"{QUERY}&mode=full", "search")
    assert len(asked) == 1 and full.button(key="run").label == "Run 12 points"
    (step,) = {one.results["Step time [ms]"] for one in estimates([SWEEP[0]])}
    (table,) = [held.value for held in app.dataframe if "Point" in held.value.columns]
    assert step == pytest.approx(table.set_index("Point")["Step time [ms]"][1])


@pytest.mark.parametrize("name", ["dlrm-v4-mi350x", "nvidia-hstu", "torchrec-terabyte", "tiny"])
def test_the_first_axes_are_of_parts_that_the_system_has(name):
    loop = {"machine.framework": "lean"} if name == "tiny" else {}  # its default loop takes longer than its links
    base = with_values(preset(name).scenario, loop)
    axes = tuple(map(parse, axes_panel.first_axes(base)))
    assert ("machine.cxl_bandwidth_GBps" in {axis.path for axis in axes}) == (base.system == "cxl")
    assert base.system in dict(zip((axis.path for axis in axes), (axis.values for axis in axes), strict=True))["system"]
    assert "data.batch_size" not in {axis.path for axis in axes}, "steps of unlike batches say not which design is best"
    results = estimates([point for point in Sweep(base, axes) if not isinstance(point, RefusedPlace)])
    assert len({result.results["Step time [ms]"] for result in results if result.ran}) >= 6


def test_a_sweep_none_of_whose_points_could_run_says_why(opened):
    app = opened("preset=dlrm-v4-mi350x&axis=machine.num_gpus:1,2", "search")
    assert not app.exception and "none of them could run" in words(app) and words(app).count("of mi350x holds 268 GiB") == 1


def suggest(app):
    return app.button(key="suggest axes")


def test_undo_takes_suggested_axes_back_and_leaves_the_model(opened):
    app = opened("preset=tiny&axis=machine.cxl_bandwidth_GBps:8,16&mode=full", "search")  # of which nothing is estimated
    suggest(app).click().run()
    assert not app.exception and app.selectbox(key="axis 1 knob").value
    app.button(key="undo").click().run()
    assert not app.exception and app.selectbox(key="axis 0 knob").value == "machine.cxl_bandwidth_GBps"
    assert app.text_input(key="axis 0 values").value == "8,16" and not app.selectbox(key="axis 1 knob").value
    assert app.session_state["held preset"] == "tiny" and app.button(key="undo").disabled


def test_axes_suggested_in_the_moment_in_which_another_was_chosen_are_taken(opened):
    app = opened("preset=tiny&axis=machine.cxl_bandwidth_GBps:8,16&mode=full", "search")  # of which nothing is estimated
    suggest(app).click()
    app.selectbox(key="axis 0 knob").set_value("machine.num_gpus").run()
    assert not app.exception and app.selectbox(key="axis 1 knob").value


def test_the_point_that_was_clicked_is_forgotten_with_its_sweep(page):
    page.session_state["picked point"] = 3
    assert "**Point 4:**" in words(page.run())
    page.text_input(key="axis 0 values").set_value("8,16").run()
    assert not page.exception and "**Point 4:**" not in words(page)


def test_a_large_sweep_has_a_button_with_its_points_and_its_time(opened):
    app = opened("preset=tiny&axis=machine.cxl_bandwidth_GBps:1:64:3000&axis=system:pmem,cxl", "search")
    assert app.button(key="run").label == "Run 6,000 points" and "finished, about 2 s to go" in words(app)


def test_a_point_that_does_not_fit_says_so_and_one_that_is_an_error_is_left_to_a_run(opened):
    app = opened("preset=dlrm-kaggle&machine.pmem_module_GB=1&axis=machine.pmem_capacity_GB:1,512", "search")
    assert not app.exception and "1 point has no results" in words(app) and "all done" in words(app)
    wrong = opened("preset=tiny&policy.log=undo&axis=system:dram,cxl", "search")
    assert not wrong.exception and wrong.button(key="run").label == "Run 1 point"


def test_a_filter_leaves_the_rows_that_meet_it_and_travels_in_the_link(page):
    page.selectbox(key="filter name").set_value("machine.cxl_bandwidth_GBps").run()
    page.text_input(key="filter value").set_value("16").run()
    page.button(key="filter add").click().run()
    assert "of 8 points" in words(page) and page.multiselect(key="filters").value == [page.multiselect(key="filters").value[0]]
    assert ("where", "machine.cxl_bandwidth_GBps<=16") in address(page)
    page.multiselect(key="filters").set_value([]).run()
    assert "of 12 points" in words(page)


def test_a_link_brings_its_filters_and_its_sampling(opened):
    app = opened(f"{QUERY}&sample=sobol:5&where=machine.cxl_bandwidth_GBps>=16", "search")
    found, drawn = links.open_pairs(address(app)), len(Sweep(SWEEP.base, SWEEP.axes, (), sampling("sobol:5")))
    assert found.questions.sample == "sobol:5" and found.questions.bounds == ("machine.cxl_bandwidth_GBps>=16",)
    assert app.text_input(key="sampling count").value == "5" and f"of **{drawn} points**" in words(app)


def test_a_link_is_what_one_sees(opened, page):
    page.segmented_control(key="view").set_value("Pareto").run()
    page.selectbox(key="metric").set_value("Energy per batch [J]").run()
    page.selectbox(key="filter name").set_value("system").run()
    page.multiselect(key="filter words system").set_value(["cxl"]).run()
    page.button(key="filter add").click().run()
    page.segmented_control(key="how").set_value("full").run()
    query = "&".join(f"{name}={value}" for name, value in address(page))
    there = opened(query, "search")
    assert there.segmented_control(key="how").value == "full" and address(there) == address(page)
    there = opened(query.replace("mode=full", "mode=estimate"), "search")
    assert not there.exception and there.segmented_control(key="view").value == "Pareto"
    assert there.selectbox(key="metric").value == "Energy per batch [J]"
    assert "The 6 best of 6 points" in words(there) and "Pareto front has" in words(there)
    assert ("only", "system:cxl") in address(there)


@each("base", ["tiny", "dlrm-kaggle"], few=1)
def test_a_running_full_sweep_is_found_by_a_link_that_any_preset_began(opened, monkeypatch, base):
    monkeypatch.setattr(service, "ensure_service", lambda _: None)
    begun = opened(f"{QUERY}&mode=full", "search")
    begun.button(key="run").click().run()
    keep(fakes.simulate(SWEEP[3]), "full")
    link = links.link(SWEEP.base, base, "search", AXES, questions=LinkQuestions(mode="full", pins="4"))
    there = opened(link.partition("?")[2].replace("%20", " "), "search")
    assert not there.exception and len(apps.cancel_buttons(there)) == 1
    assert not [one for one in there.button if one.key == "run"]
    assert "Point 4" in there.dataframe[0].value.columns, "what is finished is drawn beside the progress"
    begun.button(key="cancel 1").click().run()
    assert there.run().button(key="run").label == "Run 11 points"


@each(
    ("more", "says"),
    [
        ("view=pie", "view=pie is not known"),
        ("only=data.batch_size:256", "not an axis of words"),
        ("only=data.seed:1", "data.seed"),
    ],
    few=2,
)
def test_a_link_that_shows_what_its_sweep_has_not_is_refused(opened, more, says):
    assert says in opened(f"{QUERY}&{more}", "search").error[0].value.replace("\\", "")


def test_a_filtered_answer_is_filtered_whole(opened, finished):
    step = "Step time [ms]"
    app = opened(f"{QUERY}&only=system:cxl&view=what-matters", "sweep")
    rows = [one for one in SWEEP if one.system == "cxl"]
    values = np.array([fakes.estimate(one).results[step] if one in rows else np.nan for one in SWEEP])
    first, second, *_ = importance.variance_shares(SWEEP, values)
    among = "among the 6 points that pass the filters"
    assert f"Best Step time: {figure(np.nanmin(values), 'ms')}" in words(app)
    assert first.alone_share > 0.5 and all(share.sentence(step, among) in words(app) for share in (first, second))
    assert importance.variance_shares(SWEEP, [fakes.estimate(one).results[step] for one in SWEEP]) != importance.variance_shares(
        SWEEP, values
    )
    app.segmented_control(key="view").set_value("Pareto").run()
    assert "Pareto front has" in words(app) and len(rows) == 6
    app.selectbox(key="evaluations").set_value(200)
    app.button(key="search axes").click().run()
    (front,) = [held.value for held in app.dataframe if "Open" in held.value.columns]
    assert {links.open_link(row).scenario.system for row in front["Open"]} == {"cxl"}, "a search keeps to words, too"
    pmem = opened(f"{QUERY}&only=system:pmem&view=what-matters", "sweep")
    assert f"This result is the same {among}, so no knob matters." in words(pmem), "though it is not the same everywhere"


LOST = "Lost work over weeks [h]"


@pytest.fixture
def struck(opened):
    """Return `struck(bound, more)`: the page of a sweep of two protections under faults, with a bound over weeks."""
    query = "preset=tiny&faults.rates=llama3&faults.machines=512&axis=policy.protection:periodic-full,relaxed"
    base = links.open_link("?" + query).scenario
    points = Sweep(base, (parse("policy.protection:periodic-full,relaxed"),))

    def go(bound):
        for point in points:
            keep(fakes.estimate(point), "estimate")
        return opened(f"{query}&where={bound}", "search"), {
            point.policy.protection: campaign_metric(point, LOST) for point in points
        }

    return go


def test_a_bound_over_weeks_keeps_the_points_whose_campaigns_meet_it(struck, monkeypatch):
    app, lost = struck(f"{LOST}>=0")
    assert not app.exception and lost["periodic-full"] != lost["relaxed"]
    (table,) = [held.value for held in app.dataframe if LOST in held.value.columns]
    assert dict(zip(table["Protection"], table[LOST], strict=True)) == lost
    between = sum(lost.values()) / 2
    app, _ = struck(f"{LOST}<={between}")
    assert f"of {count(len([one for one in lost.values() if one <= between]), 'point')}" in words(app)
    monkeypatch.setattr("pages.search_page.sweep_weeks.MOST_FAULTS", 3)
    sweep_weeks._numbers_by_point.cache_clear()
    assert re.search(r"2 points would have [\d,]+ faults, more than the 3", struck(f"{LOST}>=0")[0].warning[0].value)


def test_a_bound_over_weeks_says_why_it_keeps_nothing(opened, finished, monkeypatch):
    app = opened(f"{QUERY}&where={LOST}<=1", "search")
    assert "no fault can strike" in app.warning[0].value and "No point passes the filters" in words(app)
    monkeypatch.setattr("pages.search_page.sweep_weeks.MAX_POINTS", 11)
    app = opened(f"{QUERY}&where={LOST}<=1", "search")
    assert "at most 11; 12 points pass the other filters" in app.warning[0].value
    app = opened(f"{QUERY}&where={LOST}<=1&where=data.batch_size<=256", "search")
    assert "no fault can strike" in app.warning[0].value


def test_a_sampling_that_cannot_be_drawn_gets_its_sentence_and_no_button(opened):
    app = opened(f"{QUERY}&sample=random:4&mode=full", "search")
    for typed, says in ("", "number of points"), ("many", "cannot be read"), ("0", "from 1 to"):
        app.text_input(key="sampling count").set_value(typed).run()
        assert says in words(app) and not [one for one in app.button if one.key == "run"], typed


def test_the_cheapest_machine_that_meets_a_target_is_named_and_can_be_opened(page):
    page.selectbox(key="target metric").set_value("Step time [ms]")
    page.text_input(key="target value").set_value("1e9").run()
    assert "12 of 12 points have Step time <= " in words(page) and "the cheapest costs" in words(page)
    page.button(key="target show").click().run()
    assert "Point " in words(page) and [one.key for one in page.button if one.key == "pin"]
    page.text_input(key="target value").set_value("1e-9").run()
    assert "None of 12 points has Step time" in words(page) and "the nearest has" in words(page)


def test_pinned_points_stand_beside_each_other_with_their_changes(page):
    for point in (0, 7):
        page.session_state["picked point"] = point
        page.run()
        page.button(key="pin").click().run()
    assert "Comparison of 2 pinned points" in words(page)
    (table,) = [held.value for held in page.dataframe if "Point 8" in held.value.columns]
    row = table.set_index("").loc["Training system"]
    assert (row["Point 1"], row["Point 8"]) == (SWEEP[0].system, SWEEP[7].system)
    assert ("pins", "1,8") in address(page)
    page.button(key="pin").click().run()
    assert "1 pinned point" in words(page) and ("pins", "1") in address(page)
    page.button(key="unpin all").click().run()
    assert "pinned point" not in words(page) and "pins" not in dict(address(page))


def test_a_link_brings_its_pinned_points_finished_or_not(opened):
    keep(fakes.simulate(SWEEP[7]), "full")
    app = opened(f"{QUERY}&pins=8,3&mode=full", "search")
    assert not app.exception and "Comparison of 1 pinned point" in words(app)
    assert "These pinned points are not finished: 3." in words(app) and ("pins", "8,3") in address(app)


@each(
    ("query", "says"),
    [(f"{QUERY}&pins=13", "point 13 (pins=), but the sweep has only 12"), ("preset=tiny&pins=1", "points (pins=) but no sweep")],
    few=1,
)
def test_a_link_that_pins_a_point_of_no_sweep_is_refused(opened, query, says):
    app = opened(query)
    assert says in app.error[0].value.replace("\\", "") and app.header


def test_a_knob_that_is_chosen_as_an_axis_brings_values_that_make_one(opened):
    app = opened("preset=tiny&axis=data.seed:1,2", "search")
    app.selectbox(key="axis 1 knob").set_value("policy.relaxed_lookup").run()
    assert app.text_input(key="axis 1 values").value and "Best Step time" in words(app)


def test_a_search_finds_the_front_of_the_axes_and_links_each_point(page):
    page.selectbox(key="evaluations").set_value(200)
    page.multiselect(key="objectives").set_value(["Step time [ms]", "Energy per batch [J]"])
    page.button(key="search axes").click().run()
    assert not page.exception and "on the Pareto front of Step time and Energy per batch" in words(page)
    (front,) = [held.value for held in page.dataframe if "Open" in held.value.columns]
    for row in front.to_dict("records"):
        opened_again = links.open_link(row["Open"]).scenario
        assert estimates([opened_again])[0].results["Step time [ms]"] == pytest.approx(row["Step time [ms]"])
    assert [one for one in page.button if one.key == "confirm"]


def test_axes_are_suggested_that_a_sweep_can_take(opened):
    app = opened("preset=tiny", "search")
    suggest(app).click().run()
    axes = links.open_pairs(address(app)).axes
    assert not app.exception and axes[0].startswith("system:") and len(axes) > 1
    assert f"of **{len(Sweep(SWEEP.base, tuple(map(parse, axes)))):,} points**" in words(app)
