"""A heat map as a value: a number over two axes, a cell each, and what charts beside it share with it."""

from functools import lru_cache
from typing import Any

from pages.graphics.charts import FIGURE, Spec, axis, layer, nominal, quantity, rows, when

PALE, STRONG = "#fdf1e3", "#e08a58"  # dark figures stay readable on all of it
SHADES = {"range": [PALE, STRONG]}
FRONT = "#c23b3b"
MOST_FIGURES = 12  # columns whose cells are wide enough for a number
PICK = {"name": "pick", "select": {"type": "point", "fields": ["point"], "on": "click", "clear": False, "toggle": False}}
NUMBER = "isNumber(datum.value) ? format(datum.value, abs(datum.value) < 1e4 ? '.4~g' : '.3~s') : datum.value"
SPREAD = (("low", "Lowest there"), ("high", "Highest there"), ("count", "Points there"))


def tips(*names: tuple[str, str]) -> list[Spec]:
    """Return the tooltips: numbers in five digits, whatever else as it is."""
    return [
        {"field": field, "title": title, **({"format": ",.5~r"} if field in ("metric", "low", "high") else {})}
        for field, title in names
    ]


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
    tip = tips(("first", first), ("second", second), ("metric", metric), *(SPREAD if spread else ()))
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
