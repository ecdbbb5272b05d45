"""The charts of Runs: a metric of the points of several requests on one scale, and the curves of full runs."""

from functools import lru_cache

from pages.graphics.charts import (
    CURVE_AXES,
    FIT_WIDTH,
    PICTURE_WIDTH,
    Spec,
    axis,
    layer,
    legend_below,
    nominal,
    quantity,
    scale_of,
    tooltip_fields,
)
from pages.ui import palette


@lru_cache(maxsize=64)
def compared(metric: str, x_title: str, requests: tuple[str, ...], curve: bool) -> Spec:
    """Return a chart with a colour for each request: a curve by rank, or points over a knob.

    Needs request, place, value.
    """
    scale = {
        "domain": list(requests),
        "range": [palette.OTHER_COLOURS[n % len(palette.OTHER_COLOURS)] for n in range(len(requests))],
    }
    mark = {"type": "line", "strokeWidth": 2.5, "point": {"size": 28}} if curve else {"type": "point", "filled": True, "size": 45}
    legend = legend_below(max(requests, key=len, default=""), title="Request", labelLimit=300)
    place = quantity("place", axis=axis(x_title), scale={"zero": False, "nice": False, "padding": 12})
    return {
        "height": 320,
        "mark": mark,
        "encoding": {
            "x": place,
            "y": quantity("value", axis=axis(metric), scale={"zero": False, "padding": 12}),
            "color": nominal("request", scale=scale, legend=legend),
            "tooltip": [
                {"field": "request", "title": "Request"},
                {"field": "place", "title": x_title, "format": ".4~g"},
                {"field": "value", "title": metric, "format": ",.5~r"},
            ],
        },
    }


@lru_cache(maxsize=64)
def curves(field: str, title: str, x_field: str, names: tuple[str, ...]) -> Spec:
    """Return a chart of each run's loss or AUC over one of CURVE_AXES, a colour for each run; a triangle marks a fault.

    Needs the columns of `run_curves.SAVED`, what, and part: no line crosses an outage.
    """
    colours = {name: palette.OTHER_COLOURS[n % len(palette.OTHER_COLOURS)] for n, name in enumerate(names)}
    limit = {"expr": f"max({PICTURE_WIDTH} - 60, 100)"}
    legend = legend_below(max(names, key=len, default=""), title=None) | {"columns": 1, "labelLimit": limit}
    x = quantity(x_field, axis=axis(CURVE_AXES[x_field]))
    tip = tooltip_fields(("run", "Run"), ("batch", "Batch"), ("elapsed", "Simulated time [s]", ",.4~r"))
    line = layer(
        {"type": "line", "strokeWidth": 2, "point": {"size": 24} if field == "auc" else False},
        {"filter": f"isValid(datum.{field})"},
        x=x,
        y=quantity(field, axis=axis(title), scale={"zero": False}),
        order={"field": "elapsed"},
        detail={"field": "part"},
        tooltip=[*tip, *tooltip_fields((field, title, ".5f"))],
    )
    fault = layer(
        {"type": "point", "shape": "triangle-down", "filled": True, "size": 90, "y": 6},
        {"filter": "isValid(datum.kind)"},
        x=x,
        tooltip=[*tip, *tooltip_fields(("what", "What happened"))],
    )
    encoding = {"color": nominal("run", scale=scale_of(colours), legend=legend)}
    return {**FIT_WIDTH, "height": 220, "encoding": encoding, "layer": [line, fault]}
