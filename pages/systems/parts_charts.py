"""The charts of parts: each one's time for its tables as a bar beside an even share, and the step of each way of sharding."""

from functools import cache

from engine.analysis.part_loads import WORK
from pages.common.charts import CURVE, FIGURE, INK, Spec, axis, rows

COLOURS = ("#7fa7d8", "#2f9e9b", "#e8b04a")
NUMBER = {"type": "quantitative", "format": ",.4~r"}
TIP = [
    {"field": "part", "title": "Part"},
    {"field": "work", "title": "Work"},
    {"field": "ms", "title": "Time [ms]", **NUMBER},
    {"field": "held", "title": "Tables [GB]", **NUMBER},
    {"field": "lookups", "title": "Lookups in a batch", **NUMBER},
    {"field": "rows", "title": "Unique rows", **NUMBER},
    {"field": "sent", "title": "Exchanged [MB]", **NUMBER},
]


@cache
def parts() -> Spec:
    """A bar a part, stacked by work; needs part, work, ms, whole, slowest, even, held, lookups, rows, sent."""
    part = {"field": "part", "type": "nominal", "sort": None, "axis": axis("", labelFontSize=13, labelLimit=150)}
    stack = {
        "mark": {"type": "bar", "height": {"band": 0.76}},
        "encoding": {
            "y": part,
            "x": {"field": "ms", "type": "quantitative", "stack": "zero", "axis": axis("Time in a batch [ms]", grid=False)},
            "color": {
                "field": "work",
                "type": "nominal",
                "scale": {"domain": list(WORK), "range": list(COLOURS)},
                "legend": {"orient": "top", "columns": 2, "title": None},
            },
            "order": {"field": "rank", "type": "quantitative"},
            "tooltip": TIP,
        },
    }
    whole = {
        "transform": [
            {"filter": f"datum.work == '{WORK[0]}'"},
            {"calculate": FIGURE.format("whole") + " + (datum.slowest ? '  ◀ slowest' : '')", "as": "label"},
        ],
        "mark": {"type": "text", "align": "left", "dx": 5, "fontWeight": 600, "color": INK},
        "encoding": {"y": part, "x": {"field": "whole", "type": "quantitative"}, "text": {"field": "label"}},
    }
    even = {
        "transform": [{"aggregate": [{"op": "max", "field": "even", "as": "even"}]}],
        "mark": {"type": "rule", "aria": False, "strokeDash": [4, 3], "strokeWidth": 2, "color": INK},
        "encoding": {"x": {"field": "even", "type": "quantitative"}},
    }
    ranked = {"calculate": f"indexof({list(WORK)}, datum.work)", "as": "rank"}
    return {**rows(24), "transform": [ranked], "layer": [even, stack, whole]}


@cache
def ways() -> Spec:
    """A bar a way of sharding; needs way, step, says, chosen."""
    way = {"field": "way", "type": "nominal", "sort": None, "axis": axis("", labelFontSize=13, labelLimit=150)}
    step = {"field": "step", "type": "quantitative", "axis": axis("Step time [ms]", grid=False)}
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.72}, "color": CURVE},
        "encoding": {
            "x": step,
            "opacity": {"condition": {"test": "datum.chosen", "value": 1}, "value": 0.45},
            "tooltip": [
                {"field": "way", "title": "Sharding"},
                {"field": "says", "title": "What it is"},
                {"field": "step", "title": "Step time [ms]", **NUMBER},
            ],
        },
    }
    label = {
        "transform": [{"calculate": FIGURE.format("step") + " + (datum.chosen ? '  ◀ in force' : '')", "as": "label"}],
        "mark": {"type": "text", "align": "left", "dx": 5, "fontWeight": 600, "color": INK},
        "encoding": {"x": step, "text": {"field": "label"}},
    }
    return {**rows(26), "transform": [{"filter": "isValid(datum.step)"}], "encoding": {"y": way}, "layer": [bar, label]}
