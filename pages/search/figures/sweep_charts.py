"""Charts of a sweep as values: a heat map, lines with bands, a scatter with its front, and bars of what matters.

Fields have fixed names; what a visitor named appears in titles alone. `point` says which point a mark stands for.
"""

from functools import cache, lru_cache
from typing import Any

from pages.common import palette
from pages.common.charts import FIGURE, INK, LABEL, LOG, Spec, axis, hover, layer, nominal, quantity, rows, ruled, when

PALE, STRONG = "#fdf1e3", "#e08a58"  # dark figures stay readable on all of it
SHADES = {"range": [PALE, STRONG]}
FRONT = "#c23b3b"
MOST_FIGURES = 12  # columns whose cells are wide enough for a number
ROTATION = ("#5b7bb4", "#d9622b", "#4fa64a", "#7b5fa8", "#c2a02b", "#2f9e9b", "#c2557f", "#8c8c8c")
PICK = {"name": "pick", "select": {"type": "point", "fields": ["point"], "on": "click", "clear": False, "toggle": False}}
BRUSH = {"name": "brush", "select": {"type": "interval", "mark": {"fill": "#d9622b", "fillOpacity": 0.12, "stroke": "#d9622b"}}}
NUMBER = "isNumber(datum.value) ? format(datum.value, abs(datum.value) < 1e4 ? '.4~g' : '.3~s') : datum.value"
Words = tuple[str, ...]


def _tip(*names: tuple[str, str]) -> list[Spec]:
    """Tooltips: numbers in five digits, whatever else as it is."""
    return [
        {"field": field, "title": title, **({"format": ",.5~r"} if field in ("metric", "low", "high") else {})}
        for field, title in names
    ]


@lru_cache(maxsize=64)
def lines(
    axis_title: str, metric: str, numeric: bool, log: bool, second: str = "", series: Words = (), log_y: bool = False
) -> Spec:
    """The metric over one axis, a line for each of the `series` of a second one, with a band where others are reduced.

    Needs first, metric, low, high, count, point, and second if there is one.
    """
    kind = "quantitative" if numeric else "ordinal"
    scale: Spec = {"scale": LOG if log else {"zero": False}} if numeric else {}
    label = axis(axis_title) if numeric else axis(axis_title, labelAngle=0, labelExpr=NUMBER)
    x = {"field": "first", "type": kind, "sort": None, "axis": label, **scale}
    y = {"type": "quantitative", "axis": axis(metric), "scale": {"type": "log"} if log_y else {"zero": False}}
    colour = {"color": nominal("second", sort=None, scale=colours(series), legend=_legend(second))}
    plain = {"color": {"value": ROTATION[1]}}
    tip = _tip(("first", axis_title), *([("second", second)] if second else []), ("metric", metric), *SPREAD)
    return {
        "height": 340,
        "encoding": {"x": x, **(colour if second else plain)},
        "layer": [
            layer({"type": "area", "opacity": 0.13}, y={**y, "field": "low"}, y2={"field": "high"}),
            layer({"type": "line", "strokeWidth": 2.2}, y={**y, "field": "metric"}),
            {
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                "encoding": {"y": {**y, "field": "metric"}, "tooltip": tip},
                "params": [PICK],
            },
        ],
    }


SPREAD = (("low", "Lowest there"), ("high", "Highest there"), ("count", "Points there"))


def colours(series: Words) -> Spec:
    """Return a scale: training systems in their own colours, anything else in turn."""
    if series and all(name in palette.systems() for name in series):
        return {"domain": list(series), "range": palette.colours(series)["range"]}
    return {"domain": list(series), "range": [ROTATION[at % len(ROTATION)] for at in range(len(series))]}


def _legend(title: str) -> Spec:
    return {"title": title, "orient": "top", "columns": 4, "titleFontWeight": "normal", "labelLimit": 140, "symbolOpacity": 1}


def _labels(name: str) -> Spec:
    """Return an axis whose numbers are short and whose words stay."""
    return axis(name, labelAngle=0, labelExpr=NUMBER, labelOverlap=True)


@lru_cache(maxsize=64)
def heat_map(
    first: str,
    second: str,
    metric: str,
    *,
    low_is_good: bool = False,
    log: bool = False,
    columns: int = 0,
    spread: bool = False,
    orders: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ()),
) -> Spec:
    """The metric over two axes; needs first, second, metric, each axis in its own order, or in one of the `orders`.

    With `columns`, the number of them, cells can be picked, the one with `best` is framed, and needs point, best; with
    `spread` also low, high, count. Where low is good, the strong colour is the low one.
    """
    encoding = {
        name: {"field": field, "type": "ordinal", "sort": list(order) or None, "axis": _labels(title)}
        for name, field, order, title in zip("xy", ("first", "second"), orders, (first, second), strict=True)
    }
    tip = _tip(("first", first), ("second", second), ("metric", metric), *(SPREAD if spread else ()))
    scale: Spec = {"range": [STRONG, PALE] if low_is_good else [PALE, STRONG], **({"type": "log"} if log else {})}
    colour = quantity("metric", scale=scale, title=metric)
    if columns:
        long = {"gradientLength": 200, "titleLimit": 300, "labelExpr": NUMBER}
        colour["legend"] = {"orient": "top", "titleFontWeight": "normal", **long}
    cells: Spec = layer({"type": "rect", "stroke": "white"}, color=colour, tooltip=tip)
    drawn = [{**cells, "params": [PICK]}, BEST_CELL] if columns else [cells]
    few = columns <= MOST_FIGURES
    return {**rows(52 if few else 22), "encoding": encoding, "layer": [*drawn, *([IN_CELL] if few else [])]}


BEST_CELL: Spec = layer(  # a filter would change the order of the axes
    {"type": "rect", "filled": False, "stroke": FRONT, "strokeWidth": 3}, strokeOpacity=when("datum.best", 1, 0)
)
IN_CELL: Spec = layer(
    {"type": "text", "fontWeight": 600, "color": "#26221f"},
    {"calculate": f"isValid(datum.metric) ? {FIGURE.format('metric')} : ''", "as": "figure"},
    text=nominal("figure"),
)


@lru_cache(maxsize=64)
def scatter(
    x: str,
    y: str,
    logs: tuple[bool, bool],
    colour: str = "",
    series: Words = (),
    few: bool = True,
    low_x: bool = True,
    dense: bool = False,
) -> Spec:
    """Two metrics against each other, beaten points faded, the front drawn as steps; drag to keep what is in the box.

    Needs x, y, colour, front, point, count. Where it is `dense`, a mark that stands for more points is darker.
    """
    scales = [LOG if log else {"zero": False} for log in logs]
    encoding = {
        name: quantity(name, axis=axis(title, labelOverlap=True), scale=scale)
        for name, title, scale in zip("xy", (x, y), scales, strict=True)
    }
    paint: Spec = {"value": INK}
    if colour:
        paint = nominal("colour", sort=None, scale=colours(series), legend=_legend(colour))
    tip = [{"field": "x", "title": x, "format": ",.5~r"}, {"field": "y", "title": y, "format": ",.5~r"}]
    tip += hover(("colour", colour)) if colour else []
    every = {
        "mark": {"type": "circle", "size": 70 if few else 30 if dense else 22},
        "encoding": {
            "color": paint,
            "opacity": {"condition": {"test": "datum.front", "value": 1}, **(MANY if dense else {"value": 0.6 if few else 0.3})},
            "tooltip": [*tip, *hover(("count", "Points here"))] if dense else tip,
        },
        "params": [PICK, BRUSH],
    }
    return {"height": 420, "encoding": encoding, "layer": [every, *_front(tip, "step-after" if low_x else "step-before")]}


MANY: Spec = quantity("count", scale={"type": "sqrt", "range": [0.3, 0.95]}, legend=None)


def _front(tip: list[Spec], steps: str) -> list[Spec]:
    """Layers that draw the front as steps with a ring around each of its points."""
    front = [{"filter": "datum.front"}]
    ring = {"type": "point", "filled": False, "size": 60, "stroke": FRONT, "strokeWidth": 1.6}
    return [
        {"transform": front, "mark": {"type": "line", "interpolate": steps, "color": FRONT, "strokeWidth": 2}},
        layer(ring, *front, tooltip=tip),
    ]


@cache
def matters(unit: str) -> Spec:
    """A bar for each knob, longest first; needs name, share, low, high."""
    x = {"type": "quantitative", "axis": axis(unit), "scale": {"zero": True}}
    tip = [{"field": "name", "title": "Knob"}, {"field": "share", "title": unit, "format": ".1f"}]
    return {
        **rows(34),
        "encoding": {"y": nominal("name", sort=None, axis=axis("Knob", labelLimit=220, labelFontSize=13))},
        "layer": [
            layer({"type": "bar", "height": {"band": 0.65}, "color": "#5b7bb4"}, x={**x, "field": "share"}, tooltip=tip),
            layer(ruled(strokeWidth=2, color=INK), x={**x, "field": "low"}, x2={"field": "high"}),
        ],
    }


@cache
def bars(metric: str) -> Spec:
    """A bar for each point, in order; needs name, amount."""
    return {
        **rows(30),
        "encoding": {
            "y": nominal("name", sort=None, axis=axis("Pinned", labelFontSize=13)),
            "x": quantity("amount", axis=axis(metric)),
        },
        "layer": [
            {"mark": {"type": "bar", "height": {"band": 0.65}, "color": ROTATION[0]}},
            layer(LABEL, {"calculate": FIGURE.format("amount"), "as": "figure"}, text=nominal("figure")),
        ],
    }
