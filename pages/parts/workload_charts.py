"""Charts of how the data is accessed, as values: lines over a logarithmic axis, one colour a name."""

from functools import cache

from pages.parts import palette
from pages.parts.charts import INK, Spec, axis


@cache
def lines(x: str, y: str, names: tuple[str, ...], log_y: bool = False) -> Spec:
    """Lines over a logarithmic axis; needs x, y, name; rows named "" mark the value of x that is asked for."""
    tip = [
        {"field": "name", "title": "What"},
        {"field": "x", "title": x, "type": "quantitative", "format": ".4~g"},
        {"field": "y", "title": y, "type": "quantitative", "format": ".4~g"},
    ]
    scale = {"type": "log", "nice": False} if log_y else {"domain": [0, 100]}
    colour = {"field": "name", "type": "nominal", "scale": palette.colours(names), "title": None}
    return {
        "height": 300,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "encoding": {
            "x": {
                "field": "x",
                "type": "quantitative",
                "scale": {"type": "log", "nice": False},
                "axis": axis(x, format=".4~r", labelOverlap=True, tickCount=6),
            }
        },
        "layer": [
            {
                "transform": [{"filter": "datum.name !== ''"}],
                "mark": {"type": "line", "point": {"size": 28}},
                "encoding": {
                    "y": {"field": "y", "type": "quantitative", "axis": axis(y, format=".4~r", tickCount=6), "scale": scale},
                    "color": colour,
                    "tooltip": tip,
                },
            },
            {"transform": [{"filter": "datum.name === ''"}], "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]}},
        ],
        "config": {"legend": {"orient": "top", "columns": 1, "labelLimit": 320}},
    }
