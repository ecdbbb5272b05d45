"""The chart of Runs: a metric of the points of several requests, on one scale."""

from functools import lru_cache

from pages.graphics.charts import Spec, axis, legend_below, nominal, quantity
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
