"""The charts of latency and near-data compute, as specifications without data."""

from functools import cache, lru_cache

from pages.graphics.charts import (
    INK,
    Spec,
    axis,
    layer,
    legend_below,
    nominal,
    only_rows,
    quantity,
    rows,
    rule_mark,
    scale_of,
    tooltip_fields,
)
from pages.graphics.log_axes import fitted_scale, log_axis
from pages.memory.memory_tables import GPU_MEMORY_COLUMNS, LATENCY_COLUMNS, LOAD_COLUMNS, NEAR_DATA_COLUMNS, SIZE_COLUMNS
from pages.ui import palette

SAVES, UNCHANGED, COSTS, DARK = "#7fc8a4", "#ece9e4", "#f0937c", "#26221f"
PLAIN_AXIS = {"labelExpr": "format(datum.value, ',~g')", "grid": False, "labelOverlap": True}
END_LABEL: Spec = {"type": "text", "align": "right", "dy": -8, "fontWeight": 600}
BEGIN_LABEL = {"align": "left", "dx": 6, "dy": 14}


def _tip(titles: dict[str, str], *words: str) -> list[Spec]:
    return tooltip_fields(*(title_pair if title_pair[0] in words else (*title_pair, ",.4~r") for title_pair in titles.items()))


@lru_cache(maxsize=64)
def gpu_memory(labels: tuple[str, ...]) -> Spec:
    """Return a chart of a GPU's memory: one bar stacked by kind, and a dashed rule at what the GPU has.

    The legend has the kinds' `labels`. Needs the columns of memory_tables.gpu_memory.
    """
    scale = scale_of(dict(zip(labels, palette.MEMORY_KINDS, strict=True)))
    x = quantity("held", stack="zero", axis=axis("Memory [GB]", grid=False), scale={"zero": True})
    bar = layer(
        {"type": "bar", "height": {"band": 0.8}},
        x=x,
        color=nominal("label", scale=scale, legend=legend_below(max(labels, key=len), title=None)),
        order=quantity("rank"),
        tooltip=_tip(GPU_MEMORY_COLUMNS, "kind"),
    )
    capacity = {"aggregate": [{"op": "max", "field": "capacity", "as": "capacity"}]}
    rule = layer(rule_mark(strokeDash=[4, 3], strokeWidth=2, color=INK), capacity, x=quantity("capacity"))
    return {
        "height": 44,
        "transform": [{"calculate": f"indexof({list(labels)}, datum.label)", "as": "rank"}],
        "layer": [bar, rule],
    }


@cache
def latency() -> Spec:
    """Return a chart of step time over CXL latency: a line for each system.

    A dot marks the latency at which a system slows down. The band spans fewest to most requests in flight.
    """
    x = quantity("ns", scale=fitted_scale(True), axis=log_axis(LATENCY_COLUMNS["ns"], "x", grid=False))
    y = quantity("step", scale=fitted_scale(True), axis=log_axis(LATENCY_COLUMNS["step"], "y", grid=False))
    system = nominal("system", scale=palette.colours(palette.systems()), legend=None)
    channels = {"x": x, "y": y, "color": system}
    curve, loss_points = (only_rows(test) for test in ("!isValid(datum.loses)", "isValid(datum.loses)"))
    band = {**channels, "y": {**y, "field": "fewest"}, "y2": {"field": "most"}, "fill": system}
    present_rule = layer(
        rule_mark(strokeDash=[4, 3], color=INK), {"aggregate": [{"op": "max", "field": "present", "as": "ns"}]}, x=x
    )
    dot = {"type": "point", "aria": False, "filled": True, "size": 110, "opacity": 1}
    text = {"type": "text", "align": "right", "dx": -4, "dy": -11, "fontWeight": 600}
    tip = _tip(LATENCY_COLUMNS, "system")
    end = layer(END_LABEL, {"filter": "isValid(datum.name)"}, **channels, text={"field": "name"})
    return {
        "height": 300,
        "layer": [
            present_rule,
            {**curve, "mark": {"type": "area", "aria": False, "opacity": 0.16, "strokeWidth": 0}, "encoding": band},
            {**curve, "mark": {"type": "line", "aria": False}, "encoding": {**channels, "tooltip": tip}},
            {**loss_points, "mark": dot, "encoding": {**channels, "tooltip": tip[:3]}},
            {**loss_points, "mark": text, "encoding": {**channels, "text": {"field": "loses"}}},
            end,
        ],
    }


@cache
def sizes() -> Spec:
    """Return a chart of step time over the size of all tables: a line for each medium.

    Rules mark the sizes at which caches are full.
    """
    x = quantity("size", scale=fitted_scale(True), axis=log_axis(SIZE_COLUMNS["size"], "x", grid=False))
    y = quantity("step", scale=fitted_scale(True), axis=log_axis(SIZE_COLUMNS["step"], "y", grid=False))
    channels = {"x": x, "y": y, "color": nominal("memory", legend=None)}
    full_rule = layer(
        rule_mark(strokeDash=[4, 3], color=INK),
        {"filter": "isValid(datum.full)"},
        {"aggregate": [{"op": "max", "field": "full", "as": "size"}]},
        x=x,
    )
    end = layer(END_LABEL, {"filter": "isValid(datum.name)"}, **channels, text={"field": "name"})
    line = layer({"type": "line", "aria": False, "point": {"size": 25}}, **channels, tooltip=_tip(SIZE_COLUMNS, "memory"))
    return {"height": 260, "layer": [full_rule, line, end]}


@cache
def near_data() -> Spec:
    """Return a heat map of the step's change by near-data compute, by memory and controllers."""
    x_axis, lane = axis("Memory controllers", labelAngle=0), axis("", labelFontSize=12, labelLimit=120)
    place = {"x": {"field": "controllers", "type": "ordinal", "axis": x_axis}, "y": nominal("memory", sort=None, axis=lane)}
    scale = {"domain": [-0.1, 0, 0.1], "range": [SAVES, UNCHANGED, COSTS], "clamp": True}
    colour = quantity("change", scale=scale, legend=None)
    cell = layer({"type": "rect", "stroke": "white"}, color=colour, tooltip=_tip(NEAR_DATA_COLUMNS, "memory"))
    text = layer({"type": "text", "fontSize": 11, "color": DARK}, text={"field": "label"})
    return {**rows(30), "encoding": place, "layer": [cell, text]}


@cache
def load() -> Spec:
    """Return a chart of latency over load: a line for each part, dots for published points."""
    x = quantity("load", axis=axis(LOAD_COLUMNS["load"], **PLAIN_AXIS))
    y = quantity("ns", axis=axis(LOAD_COLUMNS["ns"], **PLAIN_AXIS))
    part = nominal("part", sort=None, scale={"range": list(palette.OTHER_COLOURS)}, legend=None)
    channels = {"x": x, "y": y, "color": part, "tooltip": _tip(LOAD_COLUMNS, "part", "source")}
    curve, point = (only_rows(test) for test in ("!datum.point", "datum.point"))
    dot = {"type": "point", "aria": False, "filled": True, "size": 80, "opacity": 1}
    name_encoding = {"encoding": {**channels, "text": {"field": "name"}}}
    end = {**only_rows("isValid(datum.name) && !datum.point"), "mark": END_LABEL, **name_encoding}
    begin_labels = {**only_rows("isValid(datum.name) && datum.point"), "mark": {**END_LABEL, **BEGIN_LABEL}, **name_encoding}
    line = {**curve, "mark": {"type": "line", "aria": False}, "encoding": channels}
    return {"height": 240, "layer": [line, {**point, "mark": dot, "encoding": channels}, end, begin_labels]}
