"""Charts of a sweep as specifications.

The charts are lines with bands, a scatter with its front, and bars of importance.
Fields have fixed names; the visitor's names appear in titles only. `point` is the number of the point of a mark.
"""

from functools import cache, lru_cache

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
    quantity,
    rows,
    rule_mark,
    tooltip_fields,
    turned_labels,
)
from pages.graphics.heat_maps import FRONT, NUMBER, PICK, SPREAD, tips
from pages.graphics.log_axes import fitted_scale, log_axis
from pages.ui import palette

ROTATION = ("#5b7bb4", "#d9622b", "#4fa64a", "#7b5fa8", "#c2a02b", "#2f9e9b", "#c2557f", "#8c8c8c")
BRUSH = {"name": "brush", "select": {"type": "interval", "mark": {"fill": "#d9622b", "fillOpacity": 0.12, "stroke": "#d9622b"}}}
Words = tuple[str, ...]


@lru_cache(maxsize=64)
def lines(
    axis_title: str,
    metric: str,
    numeric: bool,
    log: bool,
    second: str = "",
    series: Words = (),
    log_y: bool = False,
    words: Words = (),
) -> Spec:
    """Return a chart of the metric over one axis, with a line for each of `series`.

    Other knobs are reduced to one value and drawn as a band. An axis of `words` has points and bars instead of lines and bands,
    as nothing lies between two words.

    Needs first, metric, low, high, count, point, and second if there is one.
    """
    kind = "quantitative" if numeric else "ordinal"
    scale: Spec = {"scale": fitted_scale(log)} if numeric else {}
    label = _number_axis(axis_title, "x", log) if numeric else axis(axis_title, labelExpr=NUMBER, **turned_labels(words))
    x = {"field": "first", "type": kind, "sort": None, "axis": label, **scale}
    y = {"type": "quantitative", "axis": _number_axis(metric, "y", log_y), "scale": fitted_scale(log_y)}
    colour = {"color": nominal("second", sort=None, scale=colours(series), legend=_legend(second, series))}
    band = {"type": "area", "opacity": 0.13} if numeric else rule_mark(opacity=0.5)
    single_colour = {"color": {"value": ROTATION[1]}}
    tip = tips(("first", axis_title), *([("second", second)] if second else []), ("metric", metric), *SPREAD)
    return {
        "height": 340,
        "encoding": {"x": x, **(colour if second else single_colour)},
        "layer": [
            layer(band, y={**y, "field": "low"}, y2={"field": "high"}),
            *([layer({"type": "line", "strokeWidth": 2.2}, y={**y, "field": "metric"})] if numeric else []),
            {
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                "encoding": {"y": {**y, "field": "metric"}, "tooltip": tip},
                "params": [PICK],
            },
        ],
    }


def colours(series: Words) -> Spec:
    """Return a scale of colours for words: training systems have their fixed colours."""
    if series and all(name in palette.systems() for name in series):
        return {"domain": list(series), "range": palette.colours(series)["range"]}
    return {"domain": list(series), "range": [ROTATION[index % len(ROTATION)] for index in range(len(series))]}


def _number_axis(title: str, channel: str, log: bool) -> Spec:
    return log_axis(title, channel) if log else axis(title, labelOverlap=True)


def _legend(title: str, series: Words) -> Spec:
    return legend_below(max(series, key=len, default=title), title=title, symbolOpacity=1)


BEST_CELL: Spec = layer(  # a filter would change the order of the axes
    {"type": "rect", "filled": False, "stroke": FRONT, "strokeWidth": 3}, strokeOpacity=conditional("datum.best", 1, 0)
)


@lru_cache(maxsize=64)
def scatter(
    x: str,
    y: str,
    logs: tuple[bool, bool],
    colour: str = "",
    series: Words = (),
    few_points: bool = True,
    low_x: bool = True,
    dense: bool = False,
) -> Spec:
    """Return a scatter of two metrics, with the Pareto front as steps.

    Points off the front are pale; the visitor can drag a box.
    Needs x, y, colour, front, point, count. If `dense`, marks of more points are darker.
    """
    encoding = {
        name: quantity(name, axis=_number_axis(title, name, log), scale=fitted_scale(log))
        for name, title, log in zip("xy", (x, y), logs, strict=True)
    }
    paint: Spec = {"value": INK}
    if colour:
        paint = nominal("colour", sort=None, scale=colours(series), legend=_legend(colour, series))
    tip = [{"field": "x", "title": x, "format": ",.5~r"}, {"field": "y", "title": y, "format": ",.5~r"}]
    tip += tooltip_fields(("colour", colour)) if colour else []
    all_points = {
        "mark": {"type": "circle", "size": 70 if few_points else 30 if dense else 22},
        "encoding": {
            "color": paint,
            "opacity": {
                "condition": {"test": "datum.front", "value": 1},
                **(DENSE_OPACITY if dense else {"value": 0.6 if few_points else 0.3}),
            },
            "tooltip": [*tip, *tooltip_fields(("count", "Points here"))] if dense else tip,
        },
        "params": [PICK, BRUSH],
    }
    return {"height": 420, "encoding": encoding, "layer": [all_points, *_front(tip, "step-after" if low_x else "step-before")]}


DENSE_OPACITY: Spec = quantity("count", scale={"type": "sqrt", "range": [0.3, 0.95]}, legend=None)


def _front(tip: list[Spec], steps: str) -> list[Spec]:
    """Return layers that draw the front as steps with a ring around each of its points."""
    front = [{"filter": "datum.front"}]
    ring = {"type": "point", "filled": False, "size": 60, "stroke": FRONT, "strokeWidth": 1.6}
    return [
        {"transform": front, "mark": {"type": "line", "interpolate": steps, "color": FRONT, "strokeWidth": 2}},
        layer(ring, *front, tooltip=tip),
    ]


@cache
def importance_bars(unit: str) -> Spec:
    """Return a chart with a bar for each knob, the longest first; needs name, share, low, high."""
    x = {"type": "quantitative", "axis": axis(unit), "scale": {"zero": True}}
    tip = [{"field": "name", "title": "Knob"}, {"field": "share", "title": unit, "format": ".1f"}]
    return {
        **rows(34),
        "encoding": {"y": nominal("name", sort=None, axis=axis("Knob", labelLimit=220, labelFontSize=13))},
        "layer": [
            layer({"type": "bar", "height": {"band": 0.65}, "color": "#5b7bb4"}, x={**x, "field": "share"}, tooltip=tip),
            layer(rule_mark(strokeWidth=2, color=INK), x={**x, "field": "low"}, x2={"field": "high"}),
        ],
    }


@cache
def pin_bars(metric: str) -> Spec:
    """Return a chart with a bar for each pinned point, in order; needs name, amount."""
    return {
        **rows(30),
        "encoding": {
            "y": nominal("name", sort=None, axis=axis("Pinned", labelFontSize=13)),
            "x": quantity("amount", axis=axis(metric), scale=bar_scale("0.0123")),
        },
        "layer": [
            {"mark": {"type": "bar", "height": {"band": 0.65}, "color": ROTATION[0]}},
            layer(LABEL, {"calculate": FIGURE.format("amount"), "as": "figure"}, text=nominal("figure")),
        ],
    }
