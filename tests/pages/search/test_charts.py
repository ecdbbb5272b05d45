"""Charts: is each specification valid Vega-Lite, fed by the columns it names, and coloured alike for any subset?"""

from dataclasses import replace

import altair
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.graph import STAGES
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.validation.studies import study_file
from pages.evidence_page import study_panel
from pages.graphics import charts, run_charts
from pages.systems import compare_charts, stack_charts
from pages.ui import numbers, palette, tables
from tests import fakes
from tests.apps import fields
from tests.cases import each

SCENARIO = preset("optane-kaggle").scenario
RESULTS = {name: fakes.estimate(with_values(SCENARIO, {"system": name})) for name in palette.family("cxl")}
RUN = fakes.simulate(with_values(SCENARIO, {"faults.power_loss_at_seconds": (1.0,)}))
CURVE = tables.curve(RUN.training, RUN.events)
BREAKS = tables.breaks(CURVE, RUN.events)
CHARTS = {
    "stages": (stack_charts.step_time(), tables.stage_rows(RESULTS, "cxl")),
    "energy": (stack_charts.energy(("gpu", "cxl")), tables.component_rows(RESULTS, "cxl")),
    "timeline": (compare_charts.timeline(), tables.renamed(RUN.timeline, tables.TIMELINE)),
    "busy": (compare_charts.utilisation(), tables.renamed(RUN.devices, tables.DEVICES)),
    "loss": (charts.curve("loss", "Loss", "broken", BREAKS), run_charts.event_labels(CURVE, "broken")),
    "auc": (charts.curve("auc", "AUC", "batch", BREAKS), run_charts.event_labels(CURVE, "batch")),
    "accuracy study": (
        study_panel.spec(),
        study_panel.chart_columns(study_panel.difference_rows(study_file.read_study(study_file.STORED_ACCURACY))),
    ),
}
MADE_INSIDE = {
    "rank",
    "sort",
    "amount_total",
    "drawn_total",
    "mean",
    "label",
    "figure",
    "row",
    "x",
    "y",
    "end",
    "low",
    "high",
}


@each(("spec", "frame"), CHARTS.values())
def test_a_chart_is_valid_vega_lite_and_names_only_columns_that_its_table_has(spec, frame):
    kind = altair.LayerChart if "layer" in spec else altair.Chart
    kind.from_dict({**spec, "data": {"values": []}}).to_dict()
    assert fields(spec) - MADE_INSIDE <= set(frame.columns)


def test_the_bars_of_a_system_sum_to_its_step_time_and_its_energy_and_the_sidebars_is_marked():
    stages, parts = CHARTS["stages"][1], CHARTS["energy"][1]
    assert set(stages[stages.chosen].system) == {"cxl"}
    for name, result in RESULTS.items():
        assert stages[stages.system == name].amount.sum() == pytest.approx(result.results["Step time [ms]"], rel=1e-12)
        assert parts[parts.system == name].amount.sum() == pytest.approx(result.results["Energy [J]"], rel=1e-12)


def test_a_bar_that_dwarfs_the_others_is_cut_and_keeps_its_amount():
    slow = replace(RESULTS["ssd"], breakdown=tuple({**row, "Exposed [s]": 100 * row["Exposed [s]"]} for row in RUN.breakdown))
    stages = tables.stage_rows({**RESULTS, "ssd": slow}, "cxl")
    drawn, amount = stages.groupby("system").drawn.sum(), stages.groupby("system").amount.sum()
    assert (
        drawn["ssd"] == pytest.approx(tables.CUT_RATIO * drawn.drop("ssd").max()) and amount["ssd"] > 4 * amount.drop("ssd").max()
    )
    assert (drawn.drop("ssd") == amount.drop("ssd")).all()


def test_time_without_outages_stops_between_a_fault_and_its_recovery():
    rows = [{"Batch": n, "Elapsed [s]": at, "Loss": 0.5, "AUC": None} for n, at in enumerate((1.0, 9.0, 12.0, 31.0))]
    events = [
        {"Elapsed [s]": at, "Kind": kind, "Batch": 0, "What": ""}
        for at, kind in ((2.0, "fault"), (8.0, "recovered"), (13.0, "fault"), (30.0, "recovered"))
    ]
    assert list(tables.curve(rows, events).running) == [1.0, 3.0, 6.0, 8.0, 2.0, 2.0, 7.0, 7.0]


def test_an_outage_breaks_the_axis_and_the_line_and_each_fault_is_drawn_at_its_own_place():
    rows = [{"Batch": n, "Elapsed [s]": at, "Loss": 0.5, "AUC": None} for n, at in enumerate((0.2, 0.4, 150.6, 151.0))]
    told = ((0.5, "fault"), (60.5, "fault in recovery"), (61.5, "fault in recovery"), (150.5, "recovered"), (151.0, "fault"))
    ends = ((301.0, "unrecoverable"), (302.0, "fault"))
    events = [{"Elapsed [s]": at, "Kind": kind, "Batch": 0, "What": ""} for at, kind in (*told, *ends)]
    frame = tables.curve(rows, events)
    breaks = tables.breaks(frame, events)
    assert [seconds for *_, seconds in breaks] == [150.0, 150.0] and frame.broken.max() < 4.0, "a second stays readable"
    assert list(frame.part[:4]) == [0, 0, 1, 1], "no line runs on over the outage"
    struck = frame[frame.number.notna()]
    assert list(struck.number) == [1, 2, 3, 4, 5] and struck.broken.is_unique and struck.broken.is_monotonic_increasing
    (start, end, _), *_ = breaks
    assert struck.broken.iloc[0] == start < struck.broken.iloc[1] < struck.broken.iloc[2] < end
    spec = charts.curve("loss", "Loss", "broken", breaks)
    teeth = [layer for layer in spec["layer"] if "data" in layer]
    assert len(teeth) == 2 and not [
        layer for layer in charts.curve("loss", "Loss", "running", breaks)["layer"] if "data" in layer
    ]
    lines = [layer["encoding"] for layer in spec["layer"] if layer["mark"].get("type") == "line" and layer not in teeth]
    assert lines and all(one["detail"] == {"field": "part"} for one in lines)
    labels = run_charts.event_labels(frame, "broken").says.dropna()
    assert list(labels) == ["fault 1: 2.50 min", "fault 3"], "a label without room is left out"


def test_a_part_keeps_its_colour_whichever_others_are_drawn_with_it():
    whole = dict(zip(*palette.colours((*palette.systems(), *STAGES)).values(), strict=True))
    for names in (("cxl", "dram"), ("Checkpoint",), STAGES[2:]):
        assert all(whole[name] == colour for name, colour in zip(*palette.colours(names).values(), strict=True))
    for system in palette.systems():
        assert len({whole[name] for name in palette.family(system)}) == len(palette.family(system))


def test_every_training_system_is_drawn_known_ones_first():
    assert palette.family("cxl") == palette.systems()[:7] == ("ssd", "pmem", "pcie", "cxl-d", "cxl-b", "cxl", "dram")


def test_a_curve_carries_its_faults_and_recoveries():
    frame = CHARTS["loss"][1]
    assert list(frame.kind.dropna()) == ["fault", "recovered"] and list(frame[frame.kind.notna()].elapsed) == [1.0, 1.2]


@each(
    ("value", "text"),
    [(None, "n/a"), (0, "0"), (0.96934, "0.969"), (1234.5, "1,230"), (2.5e9, "2.50 billion"), (-4321, "-4,320")],
)
def test_a_number_is_short_enough_to_read(value, text):
    assert numbers.result_text(value) == text


@each(
    ("ours", "other", "text"),
    [(1, 2, "-50 %"), (3, 1, "3.00 ×"), (1, 1, "same"), (1.052, 1, "+5.2 %"), (1, 0, ""), (None, 1, "")],
)
def test_a_change_is_a_percentage_below_double_and_a_factor_from_there(ours, other, text):
    assert numbers.change(ours, other) == text


@each(("share", "text"), [(1.7e-15, "0 %"), (0, "0 %"), (2e-6, "0.0002 %"), (0.01234, "1.23 %"), (1, "100 %"), (1.5, "150 %")])
def test_a_share_is_told_in_percent_without_exponents_and_noise_of_rounding_is_nothing(share, text):
    assert numbers.percent(share) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "a moment"), (12.3, "12 s"), (200, "3 min"), (9000, "2.5 h")])
def test_a_wait_is_told_no_finer_than_it_is_known(seconds, text):
    assert numbers.duration(seconds) == text


@given(st.text(max_size=2000))
def test_text_from_outside_keeps_no_markup_and_stays_short(text):
    from pages.ui.plain import MARKUP, MOST_CHARACTERS, escape_markdown

    shown = escape_markdown(text)
    assert "\n" not in shown and len(shown) <= 2 * MOST_CHARACTERS + 20
    assert all(shown[found.start() - 1] == "\\" or found[0] == "\\" for found in MARKUP.finditer(shown))


ALIVE = {
    "https://evil.example/x": "https\\:\u2060//evil.example/x",
    "wWw.evil.example": "wWw\u2060.evil.example",
    "me@evil.example": "me\\@\u2060evil.example",
    "a :material/home: b": "a \\:\u2060material/home\\: b",
    "1. list": "1\\. list",
    "- list": "\\- list",
    "---": "\\---",
    "\u202egnp.exe": "\ufffdgnp.exe",
    "-5 % at 13:40, 1.5 s": "-5 % at 13\\:40, 1.5 s",
}


@each("text", ALIVE)
def test_what_browsers_make_of_finished_text_is_parted_and_no_line_starts_a_list(text):
    from pages.ui.plain import escape_markdown

    assert escape_markdown(text, code=True) == ALIVE[text]


@pytest.mark.parametrize("path", [path for path, knob in KNOBS.items() if knob.main and knob.kind in ("int", "float")])
def test_a_slider_offers_round_values_in_order_that_the_knob_can_take(path):
    from engine.insight.knobs.stops import knob_stops, resolved_value, settled_if_possible
    from engine.scenario import knobs

    knob, settled = KNOBS[path], settled_if_possible(Scenario())
    found = knob_stops(settled, knob)
    assert found == sorted(set(found)) and 8 <= len(found) <= 80 and all(knobs.check(knob, one) == one for one in found)
    assert resolved_value(settled, path) in found


def test_systems_that_cannot_run_are_named_together_under_their_sentence():
    refused = {name: replace(RESULTS["cxl"], ran=False, outcome=why) for name, why in (("pmem", "A"), ("ssd", "B"), ("cxl", "A"))}
    assert tables.systems_by_outcome({**RESULTS, **refused}) == {"A": ["pmem", "cxl"], "B": ["ssd"]}
