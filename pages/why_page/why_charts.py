"""Charts of why CXL is faster: a waterfall, and lines over bandwidths, without data."""

from functools import cache

from pages.graphics.charts import (
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
from pages.graphics.log_axes import fitted_scale, log_axis
from pages.ui import palette
from pages.why_page.why_tables import LOG_ENDS, UNITS

COSTS = "#c23b3b"
SYSTEM = nominal("system", scale=palette.colours(palette.systems()))
FORMAT, LINE = ".4~g", 15  # pixels from one line of labels to the next


@cache
def waterfall(metric: str) -> Spec:
    """Return a chart with a bar for each change of a batch's cost.

    Needs the frame of why_tables.waterfall.
    """
    unit = UNITS[metric]
    tip = tooltip_fields(("name", "Change"), ("system", "Leads to"), ("says", "What changes"), ("label", metric))
    bar = layer(
        {"type": "bar", "height": {"band": 0.72}, "strokeWidth": 2},
        x=quantity("low", axis=axis(f"{metric} of a batch [{unit}]", grid=False), scale=bar_scale("+0.123 ms (+12.3 %)")),
        x2={"field": "high"},
        color={**SYSTEM, "legend": None},
        stroke=conditional("datum.costs", COSTS, None),
        tooltip=tip,
    )
    text = layer(LABEL, x=quantity("high"), text={"field": "label"})
    names = nominal("name", sort=None, axis=axis("Change", labelFontSize=13, labelLimit=170))
    return {**rows(30), "encoding": {"y": names}, "layer": [bar, text]}


@cache
def staleness() -> Spec:
    """Return a chart of needed staleness over log bandwidth, both logarithmic.

    This machine and its bound are marked.
    """
    x = quantity("rate", scale=fitted_scale(True), axis=log_axis("Log bandwidth [GB/s]", "x", grid=False))
    y = quantity("needed", scale=fitted_scale(True), axis=log_axis("Staleness needed [batches]", "y", grid=False))
    curves = {"domain": list(LOG_ENDS.values()), "range": [palette.OTHER_COLOURS[1], palette.OTHER_COLOURS[2]]}
    tip = tooltip_fields(
        ("curve", "Curve"), ("rate", "Log bandwidth [GB/s]", FORMAT), ("needed", "Staleness needed [batches]", FORMAT)
    )
    colour = nominal("curve", scale=curves, legend=legend_below(max(LOG_ENDS.values(), key=len), title=None))
    line = layer({"type": "line", "aria": False, "point": {"aria": False}}, x=x, y=y, color=colour, tooltip=tip)
    bound = layer(
        rule_mark(strokeDash=[4, 3], color=INK),
        {"filter": "datum.bound > 0"},
        {"aggregate": [{"op": "max", "field": "bound", "as": "needed"}]},
        y=y,
    )
    bound_label = {**bound, "mark": {"type": "text", "align": "left", "x": 4, "dy": -7, "color": INK}}
    bound_label["encoding"] = {"y": y, "text": {"value": "the staleness bound"}}
    machine_layer = {**only_rows("datum.now && datum.needed > 0"), **_machine_point(x, y, "this machine")}
    return {"height": 280, "layer": [{**only_rows("!datum.now"), **line}, bound, bound_label, machine_layer]}


@cache
def strict_and_relaxed() -> Spec:
    """Return a chart of step time of cxl over log bandwidth, strict (dashed) and with the bound."""
    x = quantity("rate", scale=fitted_scale(True), axis=log_axis("Log bandwidth [GB/s]", "x", grid=False))
    y = quantity("step", scale=fitted_scale(True), axis=log_axis("Step time [ms]", "y", grid=False))
    legend = legend_below("relaxed, bound asked for", title=None)
    line = layer(
        {"type": "line", "color": palette.SYSTEMS["cxl"]},
        {"filter": "!datum.now"},
        x=x,
        y=y,
        detail={"field": "how"},
        strokeDash=nominal("how", sort=None, scale={"range": [[5, 4], [1, 0]]}, legend=legend),
        tooltip=tooltip_fields(("how", "MLP log"), ("rate", "Log bandwidth [GB/s]", FORMAT), ("step", "Step time [ms]", FORMAT)),
    )
    machine_layer = {**only_rows("datum.now"), **_machine_point(x, y, "")}
    return {"height": 280, "layer": [line, machine_layer]}


@cache
def links() -> Spec:
    """Return a chart of step time over CXL bandwidth: a line for each system.

    Dots mark saturation. A dashed line marks this machine.
    """
    x = quantity("bandwidth", scale=fitted_scale(True), axis=log_axis("CXL bandwidth [GB/s]", "x", grid=False))
    y = quantity("step", scale=fitted_scale(True), axis=log_axis("Step time [ms]", "y", grid=False))
    systems = ("cxl-d", "cxl-b", "cxl")
    colour = {**SYSTEM, "scale": palette.colours(systems), "legend": legend_below("CXL-D", title=None, symbolType="stroke")}
    tip = tooltip_fields(
        ("system", "Training system"), ("bandwidth", "CXL bandwidth [GB/s]", FORMAT), ("step", "Step time [ms]", FORMAT)
    )
    channels = {"x": x, "y": y, "color": colour, "tooltip": tip}
    line = layer({"type": "line"}, {"filter": "!datum.enough"}, **channels)
    dot = layer({"type": "point", "aria": False, "filled": True, "size": 110}, {"filter": "datum.enough"}, **channels)
    # Their names stand in rows of their own in the empty corner: no two saturations are too near to each other for that.
    name_rules = [_saturation_rule(channels, name, 10 + LINE * row) for row, name in enumerate(systems)]
    present_rule = layer(
        rule_mark(strokeDash=[4, 3], color=INK), {"aggregate": [{"op": "max", "field": "present", "as": "bandwidth"}]}, x=x
    )
    return {"height": 320, "layer": [line, present_rule, dot, *name_rules]}


def _saturation_rule(channels: Spec, system: str, y: int) -> Spec:
    """A thin rule up from a saturation to its name, on the side with room."""
    is_late = "scale('x', datum.bandwidth) > width / 2"
    sides = {"align": {"expr": f"{is_late} ? 'right' : 'left'"}, "dx": {"expr": f"{is_late} ? -5 : 5"}}
    words = {"calculate": f"datum.system + ' from ' + {FIGURE.format('bandwidth')} + ' GB/s'", "as": "label"}
    title = palette.system_titles()[system]  # under which a drawn frame has it
    at_enough = {"filter": f"datum.enough && datum.system === '{title}'"}
    without_y = {name: channel for name, channel in channels.items() if name != "y"}
    rule = layer(rule_mark(strokeWidth=1, opacity=0.6), at_enough, **channels, y2={"value": y})
    text = layer({"type": "text", "fontWeight": 600, "y": y, **sides}, at_enough, words, **without_y, text={"field": "label"})
    return {"layer": [rule, text]}


def _machine_point(x: Spec, y: Spec, label: str) -> Spec:
    """A marked point, for this machine."""
    point = layer({"type": "point", "aria": False, "filled": True, "size": 130, "color": palette.SYSTEMS["cxl"]}, x=x, y=y)
    text = layer({"type": "text", "dy": -14, "fontWeight": 600, "color": INK}, x=x, y=y, text={"value": label})
    return {"layer": [point, text]}
