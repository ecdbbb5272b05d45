"""A heat map as a value: a number over two axes, one cell for each pair of values.

Charts next to it use the same colours and formats.
"""

from functools import lru_cache
from math import ceil
from typing import Any

from engine.core.figures import figure
from pages.graphics.charts import FIGURE, Spec, axis, conditional, gradient, layer, nominal, quantity, rows, turned_labels

PALE, STRONG = "#fdf1e3", "#e08a58"  # dark figures stay readable on all of it
SHADES = {"range": [PALE, STRONG]}
FRONT = "#c23b3b"
MOST_FIGURES = 12  # columns whose cells are wide enough for a number
LEAST_HEIGHT = 132  # pixels of a map of few rows
SMALLEST, LARGEST = 8, 11  # pixels of a figure's letters, which shrink with the cells and vanish below the smallest
FITTING = "(bandwidth('x') - 4) / (0.58 * length(datum.figure))"
PICK = {"name": "pick", "select": {"type": "point", "fields": ["point"], "on": "click", "clear": False, "toggle": False}}
NUMBER = "isNumber(datum.value) ? format(datum.value, abs(datum.value) < 1e4 ? '.4~g' : '.3~s') : datum.value"
SPREAD = (("low", "Lowest there"), ("high", "Highest there"), ("count", "Points there"))


def tips(*names: tuple[str, str]) -> list[Spec]:
    """Return the tooltips: numbers in five digits, other fields as they are."""
    return [
        {"field": field, "title": title, **({"format": ",.5~r"} if field in ("metric", "low", "high") else {})}
        for field, title in names
    ]


def _labels(name: str, order: tuple[Any, ...], is_x_axis: bool) -> Spec:
    """Return an axis whose numbers are short and whose words stay."""
    words = [figure(coordinate) if isinstance(coordinate, int | float) else str(coordinate) for coordinate in order]
    side = turned_labels(words) if is_x_axis and words else {"labelAngle": 0, "labelLimit": 180}
    return axis(name, labelExpr=NUMBER, labelOverlap=True, **side)


@lru_cache(maxsize=64)
def heat_map(
    x_title: str,
    y_title: str,
    metric: str,
    *,
    low_is_good: bool = False,
    log: bool = False,
    columns: int = 0,
    spread: bool = False,
    orders: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ()),
) -> Spec:
    """Return a heat map of the metric over two axes; needs first, second, metric.

    Each axis has its own order, or one of the `orders`. `columns` is the number of columns if cells can be clicked; the frame
    then needs point and best, and the cell with `best` is framed. With `spread` the frame needs low, high, count. With
    `low_is_good` low numbers have the strong colour.
    """
    encoding = {
        name: {"field": field, "type": "ordinal", "sort": list(order) or None, "axis": _labels(title, order, name == "x")}
        for name, field, order, title in zip("xy", ("first", "second"), orders, (x_title, y_title), strict=True)
    }
    tip = tips(("first", x_title), ("second", y_title), ("metric", metric), *(SPREAD if spread else ()))
    scale: Spec = {"range": [STRONG, PALE] if low_is_good else [PALE, STRONG], **({"type": "log"} if log else {})}
    colour = quantity("metric", scale=scale, title=metric)
    if columns:
        colour["legend"] = gradient(metric, labelExpr=NUMBER)
    cells: Spec = layer({"type": "rect", "stroke": "white"}, color=colour, tooltip=tip)
    layers = [{**cells, "params": [PICK]}, BEST_CELL] if columns else [cells]
    has_figures = columns <= MOST_FIGURES
    return {
        **rows(row_height(52 if has_figures else 22, len(orders[1]))),
        "encoding": encoding,
        "layer": [*layers, *([IN_CELL] if has_figures else [])],
    }


def row_height(pixels: int, number: int) -> int:
    """Return the height of a row: `pixels`, or more in a map of few rows.

    A map must be high enough for the title of its axis.
    """
    return max(pixels, ceil(LEAST_HEIGHT / number)) if number else pixels


BEST_CELL: Spec = layer(  # a filter would change the order of the axes
    {"type": "rect", "filled": False, "stroke": FRONT, "strokeWidth": 3}, strokeOpacity=conditional("datum.best", 1, 0)
)
IN_CELL: Spec = layer(
    {
        "type": "text",
        "fontWeight": 600,
        "color": "#26221f",
        "fontSize": {"expr": f"min({LARGEST}, {FITTING})"},
        "opacity": {"expr": f"{FITTING} < {SMALLEST} ? 0 : 1"},
    },
    {"calculate": f"isValid(datum.metric) ? {FIGURE.format('metric')} : ''", "as": "figure"},
    text=nominal("figure"),
)
