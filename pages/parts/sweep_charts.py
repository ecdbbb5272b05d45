"""Charts of a sweep as values: a line for one axis, a heat map for two."""

from functools import cache

from pages.parts.charts import FIGURE, Spec, axis, rows

SHADES = {"range": ["#fdf1e3", "#e08a58"]}  # dark figures stay readable on all of it


@cache
def line(axis_title: str, metric: str, numeric: bool, log: bool) -> Spec:
    """The metric over one axis; needs first, metric, outcome."""
    kind = "quantitative" if numeric else "nominal"
    scale = {"type": "log", "nice": False} if log else {"zero": False}
    first = {"field": "first", "type": kind, "sort": None, "axis": axis(axis_title), **({"scale": scale} if numeric else {})}
    return {
        "height": 340,
        "mark": {"type": "line", "point": {"color": "#d9622b"}, "color": "#d9622b"},
        "encoding": {
            "x": first,
            "y": {"field": "metric", "type": "quantitative", "axis": axis(metric), "scale": {"zero": False}},
            "tooltip": [{"field": "first", "title": axis_title}, {"field": "metric", "title": metric, "format": ".5s"}],
        },
    }


def _labels(name: str) -> Spec:
    """Return an axis whose numbers are short and whose words stay."""
    return axis(name, labelAngle=0, labelExpr="isNumber(datum.value) ? format(datum.value, '.4~g') : datum.value")


@cache
def heat_map(first: str, second: str, metric: str) -> Spec:
    """The metric over two axes; needs first, second, metric, each axis in its own order."""
    encoding = {
        "x": {"field": "first", "type": "ordinal", "sort": None, "axis": _labels(first)},
        "y": {"field": "second", "type": "ordinal", "sort": None, "axis": _labels(second)},
    }
    tip = [
        {"field": "first", "title": first},
        {"field": "second", "title": second},
        {"field": "metric", "title": metric, "type": "quantitative", "format": ".5s"},
    ]
    colour = {"field": "metric", "type": "quantitative", "scale": SHADES, "title": metric}
    figure = {"field": "figure", "type": "nominal"}
    return {
        **rows(52),
        "encoding": encoding,
        "transform": [{"calculate": FIGURE.format("metric"), "as": "figure"}],
        "layer": [
            {"mark": {"type": "rect", "stroke": "white"}, "encoding": {"color": colour, "tooltip": tip}},
            {"mark": {"type": "text", "fontWeight": 600, "color": "#26221f"}, "encoding": {"text": figure}},
        ],
    }
