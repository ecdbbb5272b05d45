"""Views of a sweep: do charts hold what the points say, thin out honestly, and read filters from what was dragged?"""

import itertools

import altair
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.objective import Constraint
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS
from engine.store.metric_columns import COMPLETED, REFUSED, UNFINISHED, Columns
from engine.sweep import axes
from engine.sweep.sweep import Sweep
from pages.search_page import axes_panel
from pages.search_page.points import sweep_charts, sweep_figures, sweep_findings, sweep_marks, sweep_parallel, sweep_table
from pages.search_page.points.sweep_table import COST, POINT, FilterWords
from tests.apps import fields
from tests.cases import each
from tests.pages.search.test_charts import MADE_INSIDE

STEP, RATE, SYSTEM, BATCH = "Step time [ms]", "machine.cxl_bandwidth_GBps", "system", "data.batch_size"
SWEEP = Sweep(preset("tiny").scenario, tuple(map(axes.parse, (f"{RATE}:1,2,4,8", f"{SYSTEM}:cxl-d,cxl-b,cxl", f"{BATCH}:8,16"))))
MANY = 50_000


def frame(step=lambda rate, system, batch: 10 / rate + system + batch / 8, cost=lambda rate, system, batch: 100.0 * rate):
    """The whole sweep with made-up results, systems counted from 0 in the order of the axis."""
    places = [(rate, system, batch) for rate in (1, 2, 4, 8) for system in range(3) for batch in (8, 16)]
    metrics = {name: np.array([float(of(*place)) for place in places]) for name, of in ((STEP, step), (COST, cost))}
    found = Columns(metrics, np.full(len(places), COMPLETED, np.uint8))
    return sweep_table.finished_table(sweep_table.places(SWEEP.axes, [SWEEP.place(at) for at in range(len(SWEEP))]), found)


def cloud(count=MANY, seed=3):
    """So many points of two results in three colours."""
    rng = np.random.default_rng(seed)
    system = pd.Categorical(rng.choice(["cxl", "pmem", "ssd"], count), ["pmem", "ssd", "cxl"])
    return pd.DataFrame(
        {
            POINT: range(count),
            SYSTEM: system,
            RATE: rng.uniform(1, 64, count),
            STEP: rng.lognormal(size=count),
            COST: rng.random(count),
        }
    )


def beaten(x, y):
    """By definition: which points some other beats, being nowhere worse and somewhere better."""
    return [any(a <= p and b <= q and (a < p or b < q) for a, b in zip(x, y, strict=True)) for p, q in zip(x, y, strict=True)]


def test_a_table_holds_each_finished_point_at_its_place():
    found = Columns(
        {STEP: np.array([1.0, np.nan, np.nan, 4.0, *[np.nan] * 20])},
        np.array([COMPLETED, REFUSED, UNFINISHED, COMPLETED, *[UNFINISHED] * 20], np.uint8),
        {1: "It does not fit."},
    )
    table = sweep_table.finished_table(sweep_table.places(SWEEP.axes, [SWEEP.place(at) for at in range(len(SWEEP))]), found)
    assert list(table[POINT]) == [0, 1, 3] and list(table["Outcome"]) == ["", "It does not fit.", ""]
    for at, rate, system, batch in table[[POINT, RATE, SYSTEM, BATCH]].itertuples(index=False):
        assert SWEEP.place(at) == {RATE: rate, SYSTEM: system, BATCH: batch}


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40))
def test_the_front_is_all_that_nobody_beats(points):
    x, y = (np.array(held, float) for held in zip(*points, strict=True))
    assert list(sweep_marks.pareto_mask(x, y, (True, True))) == [not one for one in beaten(x, y)]
    assert list(sweep_marks.pareto_mask(x, -y, (True, False))) == list(sweep_marks.pareto_mask(x, y, (True, True)))


def test_fifty_thousand_points_are_drawn_as_a_few_thousand_with_the_whole_front_and_every_occupied_place():
    table = cloud()
    whole = sweep_marks.pareto_mask(table[STEP].to_numpy(), table[COST].to_numpy(), (True, True))
    marks = sweep_marks.scatter(table, STEP, COST, SYSTEM, (True, False))
    assert len(marks) < 10_000 and set(table[POINT][whole]) == set(marks[POINT][marks.front]) and 0 < whole.sum() < 100
    assert {table[STEP].idxmax(), table[STEP].idxmin(), table[COST].idxmax(), table[COST].idxmin()} <= set(marks[POINT])
    for name, drawn in (("x", STEP), ("y", COST)):
        gaps = np.diff(np.sort(np.log(marks[name]) if name == "x" else marks[name]))
        everyone = np.diff(np.sort(np.log(table[drawn]) if name == "x" else table[drawn]))
        assert gaps.max() <= max(everyone.max(), (gaps.sum() / 30)), "no stretch that holds points is drawn empty"
    assert set(marks.colour) == {"cxl", "pmem", "ssd"}
    assert len(sweep_marks.scatter(frame(), STEP, COST, "", (False, False))) == len(SWEEP), "a few are all drawn"


def test_a_mark_that_stands_for_many_points_says_how_many():
    clumps = {("cxl", 1.0): 3000, ("cxl", 5.0): 2000, ("pmem", 5.0): 500, ("pmem", 9.0): 1}
    rows = [(system, at) for (system, at), count in clumps.items() for _ in range(count)]
    table = pd.DataFrame({SYSTEM: pd.Categorical([system for system, _ in rows]), STEP: [at for _, at in rows]})
    table = table.assign(**{POINT: range(len(rows)), COST: table[STEP] + np.linspace(0, 1e-6, len(rows))})  # one beats the others
    marks = sweep_marks.scatter(table, STEP, COST, SYSTEM, (False, False))
    assert dict(zip(zip(marks.colour, marks.x, strict=True), marks["count"], strict=True)) == clumps and len(marks) == len(clumps)


def test_a_cell_shows_the_best_or_the_median_of_the_other_knobs_and_stands_for_its_best_point():
    table = frame()
    best = sweep_marks.heat_map_cells(table, (RATE, SYSTEM), STEP, "best").set_index(["first", "second"])
    median = sweep_marks.heat_map_cells(table, (RATE, SYSTEM), STEP, "median").set_index(["first", "second"])
    for rate, (at, system) in itertools.product((1, 2, 4, 8), enumerate(("cxl-d", "cxl-b", "cxl"))):
        cell = best.loc[(rate, system)]
        assert (cell.metric, cell.low, cell.high, cell["count"]) == (
            10 / rate + at + 1,
            10 / rate + at + 1,
            10 / rate + at + 2,
            2,
        )
        assert median.loc[(rate, system)].metric == 10 / rate + at + 1.5
        assert SWEEP.place(int(cell.point)) == {RATE: rate, SYSTEM: system, BATCH: 8}
    assert best.index[best.best].tolist() == [(8, "cxl-d")]


def test_an_empty_cell_keeps_its_place_so_that_both_axes_stay_in_order():
    table = frame()
    gone = table[~((table[RATE] == 1) & (table[SYSTEM] == "cxl-d"))]
    found = sweep_marks.heat_map_cells(gone, (RATE, SYSTEM), STEP, "best")
    assert list(found["first"].drop_duplicates()) == [1, 2, 4, 8] and list(found["second"][:3]) == ["cxl-d", "cxl-b", "cxl"]
    assert np.isnan(found.metric.iloc[0]) and found.metric.notna().sum() == 11


def test_a_value_at_which_no_point_could_run_keeps_its_empty_cells():
    table = frame()
    table.loc[table[RATE] <= 2, STEP] = np.nan
    found = sweep_marks.heat_map_cells(table, (RATE, SYSTEM), STEP, "best")
    assert list(found["first"].drop_duplicates()) == [1, 2, 4, 8] and found.metric.isna().sum() == 6
    figure = sweep_figures.heat_map(table, SWEEP.axes[:2], STEP, "best", True)
    assert "Empty cells" in figure.note and figure.spec["encoding"]["x"]["sort"] == [1, 2, 4, 8]
    assert "Empty cells" not in sweep_figures.heat_map(frame(), SWEEP.axes[:2], STEP, "best", True).note


def test_many_values_of_an_axis_become_bins_that_hold_every_point():
    table = cloud(5000)
    shown = sweep_marks.steps_of_axis(table[RATE], log=True)
    assert shown.nunique() == sweep_marks.BINS
    ratio = (table[RATE] / shown).to_numpy()
    assert ratio.max() / ratio.min() < (64.0) ** (2 / sweep_marks.BINS) * 1.03, "no value is far from its bin's middle"
    assert sweep_marks.reduced_places(table, (RATE, SYSTEM), STEP, "best")["count"].sum() == len(table)


def test_lines_are_thinned_evenly_and_few_stay_as_they_are():
    found = pd.DataFrame({"second": [float(at) for at in range(30)], "metric": 1.0})
    kept, many = sweep_marks.limited_lines(found)
    assert many == 30 and len(kept) == sweep_marks.MOST_LINES and {0.0, 29.0} <= set(kept["second"])
    assert sweep_marks.limited_lines(kept)[0] is kept


@each(
    ("limits", "left"),
    [
        ((), 24),
        ((Constraint(RATE, ">=", 4),), 12),
        ((Constraint(STEP, "<=", 3.25),), 3),
        ((FilterWords(SYSTEM, ("cxl", "cxl-b")), Constraint(BATCH, "=", 8)), 8),
        ((Constraint("AUC", ">=", 0.5),), 0),
    ],
)
def test_a_filter_keeps_the_rows_that_meet_it(limits, left):
    table = sweep_table.filtered_rows(frame(), limits)
    assert len(table) == left
    if limits == (Constraint(STEP, "<=", 3.25),):
        assert (table[STEP] <= 3.25).all()


def test_the_best_of_equal_points_is_the_cheapest():
    table = frame(
        step=lambda rate, system, batch: 1.0 + (rate == 1), cost=lambda rate, system, batch: abs(rate - 4) + system + batch
    )
    assert sweep_table.rank_rows(table, STEP)[RATE].iloc[0] == 4
    said = sweep_findings.finding(table, SWEEP.axes, STEP, None)
    assert said == (
        "Best Step time: 1.00 ms at CXL bandwidth [GB/s] = 4, Training system = CXL-D, Batch size [samples] = 8, and at 17 "
        "more points."
    )


def test_the_knob_that_matters_is_the_one_that_moves_the_metric():
    table = frame(step=lambda rate, system, batch: 7.0 * system)
    system, *others = sweep_findings.variance_shares(SWEEP, table, STEP)
    assert (system.path, system.alone_share) == (SYSTEM, pytest.approx(1)) and all(
        one.alone_share == pytest.approx(0) for one in others
    )


def test_knobs_matter_over_the_rows_that_are_left_though_their_number_and_their_sum_are_equal():
    table = frame(step=lambda rate, system, batch: float(rate if system == 0 else batch if system == 1 else 0))
    halves = table[table[SYSTEM] == "cxl-d"], table[table[SYSTEM] == "cxl-b"]
    told = [half.assign(**{STEP: half[STEP] / half[STEP].sum()}) for half in halves]
    assert len(halves[0]) == len(halves[1])
    assert [sweep_findings.variance_shares(SWEEP, half, STEP)[0].path for half in told] == [RATE, BATCH]


def test_a_box_over_parallel_scales_reads_back_as_filters_that_keep_what_crosses_it():
    table = frame()
    scales = [sweep_parallel.scale(table, name) for name in (RATE, SYSTEM, STEP)]
    low, high = 0.2, 0.75
    for at, one in enumerate(scales):
        limits = sweep_parallel.box_filters(scales, {"at": (at - 0.1, at + 0.1), "y": (low, high)})
        expected = table[(one.heights >= low - 1e-3) & (one.heights <= high + 1e-3)]
        assert list(sweep_table.filtered_rows(table, limits)[POINT]) == list(expected[POINT]) and 0 < len(expected) < len(table)
    assert {limit.name for limit in sweep_parallel.box_filters(scales, {"at": (0.9, 2.2), "y": (0.5, 1.0)})} == {SYSTEM, STEP}
    assert {limit.name for limit in sweep_parallel.box_filters(scales, {"at": (0.55, 0.7), "y": (0.1, 1.0)})} == {SYSTEM}


def test_parallel_ribbons_stand_for_every_point_between_two_scales():
    table = cloud()
    scales = [sweep_parallel.scale(table, name) for name in (RATE, SYSTEM, STEP, COST)]
    marks = sweep_parallel.marks(table, scales, STEP)
    ribbons = marks[marks.kind == "ribbon"]
    assert len(marks) < 3000 and set(ribbons["at"]) == {0, 1, 2}
    first = ribbons[ribbons["at"] == 0]
    crossings = {
        (round(a * sweep_parallel.BINS) / sweep_parallel.BINS, b)
        for a, b in zip(scales[0].heights, scales[1].heights, strict=True)
    }
    assert {(y, y2) for y, y2 in zip(first.y, first.y2, strict=True)} == crossings
    assert marks[marks.kind == "line"].point.nunique() == sweep_parallel.MOST_LINES


FIGURES = (
    sweep_figures.heat_map(frame(), SWEEP.axes[:2], STEP, "median", True),
    sweep_figures.lines(frame(), SWEEP.axes[:2], STEP, "best"),
    sweep_figures.lines(frame(), SWEEP.axes[:1], STEP, "best"),
    sweep_figures.pareto(cloud(), STEP, COST, SYSTEM),
    sweep_figures.parallel(frame(), (RATE, SYSTEM, STEP), STEP)[0],
    sweep_figures.importance_figure(sweep_findings.variance_shares(SWEEP, frame(), STEP), STEP),
    sweep_figures.Figure(sweep_charts.pin_bars(STEP), pd.DataFrame(columns=["name", "amount"]), ""),
)


@each("figure", FIGURES)
def test_a_chart_of_a_sweep_is_valid_vega_lite_and_names_only_columns_that_it_gets(figure):
    altair.LayerChart.from_dict({**figure.spec, "data": {"values": []}}).to_dict()
    assert fields(figure.spec) - MADE_INSIDE <= set(figure.marks.columns)


def test_values_that_are_suggested_for_a_knob_make_an_axis():
    suggested = {path: axes_panel.suggested_values(knob, SWEEP.base) for path, knob in KNOBS.items()}
    assert sum(map(bool, suggested.values())) > len(KNOBS) / 2
    for path, text in suggested.items():
        assert not text or 1 <= len(axes.parse(f"{path}:{text}").values) <= 30, path


def test_the_values_that_come_within_a_percent_of_the_best_are_named():
    table = frame(step=lambda rate, system, batch: 1.0 + (rate == 1) + 0.5 * system + 0.001 * batch)
    said = sweep_findings.plateau_sentence(table, SWEEP.axes, STEP)
    assert said.startswith(f"Within 1 % of the best: {KNOBS[RATE].title} from 2 to ") and "system" not in said.lower()
    steep = frame(step=lambda rate, system, batch: rate * (1 + system) * batch)
    assert sweep_findings.plateau_sentence(steep, SWEEP.axes, STEP) == ""
