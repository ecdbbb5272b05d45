"""Charts of parts: each part's time for its tables, and step times by sharding."""

from functools import cache

from engine.analysis.part_loads import WORK_KINDS
from pages.graphics.charts import (
    CURVE,
    FIGURE,
    INK,
    LABEL,
    Spec,
    axis,
    bar_scale,
    conditional,
    layer,
    legend_below,
    nominal,
    only_rows,
    quantity,
    rows,
    rule_mark,
    tooltip_fields,
)

COLOURS = ("#7fa7d8", "#2f9e9b", "#e8b04a")
NUMBER = ",.4~r"
TIP = tooltip_fields(
    ("part", "Part"),
    ("work", "Work"),
    ("ms", "Time [ms]", NUMBER),
    ("held", "Tables [GB]", NUMBER),
    ("lookups", "Lookups in a batch", NUMBER),
    ("rows", "Unique rows", NUMBER),
    ("sent", "Exchanged [MB]", NUMBER),
)


@cache
def parts() -> Spec:
    """Return a chart with a bar for each part, stacked by kind of work, and an equal share.

    Needs part, work, ms, whole, slowest, even, held, lookups, rows, sent.
    """
    part = nominal("part", sort=None, axis=axis("", labelFontSize=13, labelLimit=150))
    stack = layer(
        {"type": "bar", "height": {"band": 0.76}},
        y=part,
        x=quantity("ms", stack="zero", axis=axis("Time in a batch [ms]", grid=False), scale=bar_scale("0.123  ◀ slowest")),
        color=nominal(
            "work",
            scale={"domain": list(WORK_KINDS), "range": list(COLOURS)},
            legend=legend_below(max(WORK_KINDS, key=len), title=None),
        ),
        order=quantity("rank"),
        tooltip=TIP,
    )
    total_labels = layer(
        LABEL,
        {"filter": f"datum.work == '{WORK_KINDS[0]}'"},
        {"calculate": FIGURE.format("whole") + " + (datum.slowest ? '  ◀ slowest' : '')", "as": "label"},
        y=part,
        x=quantity("whole"),
        text={"field": "label"},
    )
    even_rule = layer(
        rule_mark(strokeDash=[4, 3], strokeWidth=2, color=INK),
        {"aggregate": [{"op": "max", "field": "even", "as": "even"}]},
        x=quantity("even"),
    )
    ranked = {"calculate": f"indexof({list(WORK_KINDS)}, datum.work)", "as": "rank"}
    return {**rows(24), "transform": [ranked], "layer": [even_rule, stack, total_labels]}


@cache
def sharding_chart() -> Spec:
    """Return a chart with a bar for each sharding; needs way, step, says, chosen."""
    way = nominal("way", sort=None, axis=axis("", labelFontSize=13, labelLimit=150))
    step = quantity("step", axis=axis("Step time [ms]", grid=False), scale=bar_scale("0.123  ◀ in force"))
    bar = layer(
        {"type": "bar", "height": {"band": 0.72}, "color": CURVE},
        x=step,
        opacity=conditional("datum.chosen", 1, 0.45),
        tooltip=tooltip_fields(("way", "Sharding"), ("says", "Description"), ("step", "Step time [ms]", NUMBER)),
    )
    label = layer(
        LABEL,
        {"calculate": FIGURE.format("step") + " + (datum.chosen ? '  ◀ in force' : '')", "as": "label"},
        x=step,
        text={"field": "label"},
    )
    return {**rows(26), **only_rows("isValid(datum.step)"), "encoding": {"y": way}, "layer": [bar, label]}
