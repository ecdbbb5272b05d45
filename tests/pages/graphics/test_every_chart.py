"""Every chart of the explorer: few ticks, a title with its unit, one way to write a number, and no mark without a name."""

import ast
import re

import pytest

from engine.core.graph import STAGES
from engine.registry import load_variant
from pages.data_page import workload_charts
from pages.decide_page import decide_charts
from pages.design_page import every_knob, tornado
from pages.evidence_page import collectives_panel, scoreboard_panel, study_panel, verdict_charts
from pages.evidence_page.here import machine_panel
from pages.failures_page import close_up_panel, crash_viewer, effects_panel, fault_charts
from pages.full_run import fault_axis, fault_points
from pages.graphics import chart, charts, heat_maps, letters, log_axes, run_charts
from pages.knob_cards import strip_charts
from pages.memory import memory_charts
from pages.runs_page import history_charts
from pages.search_page.points import sweep_charts, sweep_parallel
from pages.systems import compare_charts, parts_charts, stack_charts
from pages.ui import palette
from pages.why_page import why_charts, why_tables
from tests import ROOT

STEP, TWO = "Step time [ms]", ("cxl", "dram")
SPECS = {
    "stack_charts.stacked": stack_charts.stacked(STEP, STAGES, "Stage", 0.5),
    "stack_charts.step_time": stack_charts.step_time(),
    "stack_charts.energy": stack_charts.energy(("gpu", "cxl")),
    "compare_charts.timeline": compare_charts.timeline(),
    "compare_charts.utilisation": compare_charts.utilisation(),
    "chart.add_titles": chart.add_titles(charts.curve("loss", "Loss", "batch"), "Loss falls", "Loss of a batch"),
    "charts.curve": charts.curve("loss", "Loss", "broken", ((1.0, 2.0, 30.0),), ("logistic regression",)),
    "workload_charts.lines": workload_charts.lines("Cache size [GB]", "Lookups that miss [%]", ("LRU",), True),
    "workload_charts.tables": workload_charts.tables(),
    "decide_charts.family_bars": decide_charts.family_bars(
        "Cost of a billion samples [USD]", ("HBM",), ("capital", "electricity")
    ),
    "decide_charts.winners_map": decide_charts.winners_map(
        "Embedding tables [GB]", "Lookups of a sample [rows]", True, True, ("HBM",), "Cost of a month [USD (2026)]"
    ),
    "strip_charts.strip_chart": strip_charts.strip_chart(True, True),
    "every_knob.spec": every_knob.spec(),
    "tornado.spec": tornado.spec(STEP),
    "machine_panel.spec": machine_panel.spec(),
    "collectives_panel.spec": collectives_panel.spec("Bus bandwidth [GB/s]", ("InfiniBand", "RoCE"), True),
    "scoreboard_panel.spec": scoreboard_panel.spec(),
    "study_panel.spec": study_panel.spec(),
    "verdict_charts.stacks": verdict_charts.stacks(20.0),
    "verdict_charts.energies": verdict_charts.energies(TWO),
    "close_up_panel.spec": close_up_panel.spec(),
    "crash_viewer.spec": crash_viewer.spec(),
    "effects_panel.spec": effects_panel.spec(),
    "fault_axis.spec": fault_axis.spec(),
    "fault_points.spec": fault_points.spec("Near-data compute", ("off", "on")),
    "fault_charts.loss_bars": fault_charts.loss_bars(100.0),
    "fault_charts.period_chart": fault_charts.period_chart((), 0.1, 1.0, 100.0),
    "fault_charts.fault_timeline": fault_charts.fault_timeline(),
    "memory_charts.gpu_memory": memory_charts.gpu_memory(
        ("Rows: 75 GB", "State: 1 GB", "Layers: 1 GB", "Activations: 9 GB", "Vectors: 5 GB")
    ),
    "memory_charts.latency": memory_charts.latency(),
    "memory_charts.near_data": memory_charts.near_data(),
    "memory_charts.load": memory_charts.load(),
    "memory_charts.sizes": memory_charts.sizes(),
    "run_charts.power": run_charts.power("broken", ((1.0, 2.0, 30.0),)),
    "run_charts.books": run_charts.books(("s|Time", "s|useful"), 0.4),
    "history_charts.curves": history_charts.curves("auc", "AUC", "running", TWO),
    "history_charts.compared": history_charts.compared(STEP, "CXL bandwidth [GB/s]", TWO, True),
    "sweep_charts.lines": sweep_charts.lines("CXL bandwidth [GB/s]", STEP, True, True, "Training system", TWO),
    "heat_maps.heat_map": heat_maps.heat_map("CXL bandwidth [GB/s]", "Training system", STEP, columns=4, spread=True),
    "sweep_charts.scatter": sweep_charts.scatter(STEP, "Capital cost [USD]", (True, False), "Training system", TWO, dense=True),
    "sweep_charts.importance_bars": sweep_charts.importance_bars("Share of the variance [%]"),
    "sweep_charts.pin_bars": sweep_charts.pin_bars(STEP),
    "sweep_parallel.spec": sweep_parallel.spec((STEP, "Energy [J]"), STEP),
    "compare_charts.timelines": compare_charts.timelines(),
    "compare_charts.bytes_moved": compare_charts.bytes_moved(),
    "compare_charts.curves": compare_charts.curves("auc", "AUC", "running", TWO),
    "compare_charts.lost_batches_chart": compare_charts.lost_batches_chart(TWO),
    "compare_charts.nodes": compare_charts.nodes(TWO),
    "parts_charts.parts": parts_charts.parts(),
    "parts_charts.sharding_chart": parts_charts.sharding_chart(),
    "why_charts.waterfall": why_charts.waterfall(next(iter(why_tables.UNITS))),
    "why_charts.staleness": why_charts.staleness(),
    "why_charts.strict_and_relaxed": why_charts.strict_and_relaxed(),
    "why_charts.links": why_charts.links(),
}
WITHOUT_UNIT = {"Loss", "AUC", "Nodes", "Lost batches", "Batch", "Energy of a batch, PMEM = 1"}
SI = re.compile(r"\ds$|~s$")


def parts(spec, key):
    """Return everything under `key` at any depth of a specification."""
    if isinstance(spec, list):
        return [one for part in spec for one in parts(part, key)]
    if not isinstance(spec, dict):
        return []
    return [*([spec[key]] if key in spec else []), *(one for part in spec.values() for one in parts(part, key))]


def measured(spec):
    """Return the axes of a chart by channel, of quantitative channels alone: of each what its layers say, None for no axis."""
    places = [found for found in parts(spec, "encoding") if isinstance(found, dict)]
    channels = {name: [found[name] for found in places if name in found] for name in ("x", "y")}
    return {
        name: [one["axis"] for one in held if "axis" in one]
        for name, held in channels.items()
        if any(one.get("type") == "quantitative" and one.get("scale", {}) is not None for one in held)
    }


def test_no_chart_is_forgotten():
    """A paper's figure, which is for print and does not fit itself to a page, has tests of its own."""
    made = {
        f"{path.stem}.{one.name}"
        for path in (ROOT / "pages").rglob("*.py")
        for one in ast.parse(path.read_text()).body
        if isinstance(one, ast.FunctionDef) and one.returns and not one.name.startswith("_")
        if ast.unparse(one.returns) in ("Spec", "dict[str, Any]")
        and (path.stem not in ("charts", "log_axes") or one.name == "curve")
    }
    assert made - {"sweep_charts.colours", "paper_figure.spec"} == set(SPECS)


@pytest.mark.parametrize("name", SPECS)
def test_an_axis_has_few_ticks_and_a_title_with_its_unit(name):
    for channel, axes in measured(SPECS[name]).items():
        assert axes, f"the {channel} axis is left to its field's name"
        for axis in filter(None, axes):
            assert axis.get("tickCount", 99) <= 10 or len(axis["values"]) <= 10 or {*axis["values"]} <= {*log_axes.EVERY_TICK}
            title = axis["title"]
            assert "facet" in SPECS[name] or "labelExpr" in axis
            assert (
                title in WITHOUT_UNIT
                or re.search(r"\[.+\]$|^Seconds ", title or "")
                or name in ("every_knob.spec", "sweep_parallel.spec")
            )


@pytest.mark.parametrize("name", SPECS)
def test_no_number_is_written_in_thousandths_and_each_tooltip_has_a_title(name):
    spec = SPECS[name]
    written = [one for one in parts(spec, "format") if isinstance(one, str)]
    assert not [one for one in written if SI.search(one)], "0.97 would read 970m"
    told = [tip for tips in parts(spec, "tooltip") if isinstance(tips, list) for tip in tips]
    assert all(tip["title"] for tip in told)
    assert all("format" in tip for tip in told if tip.get("type") == "quantitative")


@pytest.mark.parametrize("name", SPECS)
def test_a_rule_is_silent_for_those_who_hear_the_page(name):
    rules = [mark for mark in parts(SPECS[name], "mark") if isinstance(mark, dict) and mark.get("type") == "rule"]
    assert all(mark.get("aria") is False for mark in rules), "Vega names no rule, and a mark without a name is announced"


@pytest.mark.parametrize("name", ["stack_charts.stacked", "verdict_charts.stacks", "compare_charts.lost_batches_chart"])
def test_bars_of_systems_have_room_for_the_longest_title(name):
    axis = SPECS[name]["encoding"]["y"]["axis"]
    longest = max(
        letters.length(load_variant("systems", system).title, axis.get("labelFontSize", 13)) for system in palette.systems()
    )
    assert longest <= axis.get("labelLimit", 0), "a title would be cut short"


def test_ink_is_as_readable_on_both_grounds():
    def light(colour):
        shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        return sum(
            weight * (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4)
            for weight, one in zip((0.2126, 0.7152, 0.0722), shares, strict=True)
        )

    ink = light(charts.INK) + 0.05
    assert 1.05 / ink >= 4 and ink / (light("#16181c") + 0.05) >= 4
