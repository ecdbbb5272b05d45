"""The charts of the page Why: a waterfall, and lines over bandwidths, as specifications without data."""

from functools import cache

from pages.common import palette
from pages.common.charts import FIGURE, INK, Spec, axis, rows
from pages.why.why_tables import ENDS, UNITS

COSTS = "#c23b3b"
SYSTEM = {"field": "system", "type": "nominal", "scale": palette.colours(palette.systems())}
LOG = {"type": "log", "nice": False}
TOP = {"orient": "top", "title": None}


@cache
def waterfall(of: str) -> Spec:
    """A bar a change, from what a batch cost to what it costs then; needs the frame of why_tables.waterfall."""
    unit = UNITS[of]
    tip = [
        {"field": "name", "title": "Change"},
        {"field": "system", "title": "Leads to"},
        {"field": "says", "title": "What changes"},
        {"field": "label", "title": of},
    ]
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.72}, "strokeWidth": 2},
        "encoding": {
            "x": {"field": "low", "type": "quantitative", "axis": axis(f"{of} of a batch [{unit}]", grid=False)},
            "x2": {"field": "high"},
            "color": {**SYSTEM, "legend": None},
            "stroke": {"condition": {"test": "datum.costs", "value": COSTS}, "value": None},
            "tooltip": tip,
        },
    }
    text = {
        "mark": {"type": "text", "align": "left", "dx": 5, "fontWeight": 600, "color": INK},
        "encoding": {"x": {"field": "high", "type": "quantitative"}, "text": {"field": "label"}},
    }
    names = {"field": "name", "type": "nominal", "sort": None, "axis": axis("Change", labelFontSize=13, labelLimit=170)}
    return {**rows(30), "encoding": {"y": names}, "layer": [bar, text]}


@cache
def staleness() -> Spec:
    """Needed staleness over log bandwidth, log-log, with this machine and its bound marked."""
    x = {"field": "rate", "type": "quantitative", "scale": LOG, "axis": _ticks("Log bandwidth [GB/s]")}
    y = {"field": "needed", "type": "quantitative", "scale": {"type": "log"}, "axis": _ticks("Staleness needed [batches]")}
    curves = {"domain": list(ENDS.values()), "range": [palette.OTHERS[1], palette.OTHERS[2]]}
    tip = _tip(("curve", "Curve"), ("rate", "Log bandwidth [GB/s]"), ("needed", "Staleness needed [batches]"))
    colour = {"field": "curve", "type": "nominal", "scale": curves, "legend": TOP}
    line = {
        "mark": {"type": "line", "aria": False, "point": {"aria": False}},
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": tip},
    }
    bound = {
        "transform": [{"filter": "datum.bound > 0"}, {"aggregate": [{"op": "max", "field": "bound", "as": "needed"}]}],
        "mark": {"type": "rule", "aria": False, "strokeDash": [4, 3], "color": INK},
        "encoding": {"y": y},
    }
    said = {**bound, "mark": {"type": "text", "align": "left", "x": 4, "dy": -7, "color": INK}}
    said["encoding"] = {"y": y, "text": {"value": "the bound asked for"}}
    here = {"transform": [{"filter": "datum.now && datum.needed > 0"}], **_here(x, y, "this machine")}
    return {"height": 280, "layer": [{"transform": [{"filter": "!datum.now"}], **line}, bound, said, here]}


@cache
def strict_and_relaxed() -> Spec:
    """Step time of cxl over log bandwidth, strict (dashed) and with the bound asked for."""
    x = {"field": "rate", "type": "quantitative", "scale": LOG, "axis": _ticks("Log bandwidth [GB/s]")}
    y = {"field": "step", "type": "quantitative", "scale": {"type": "log"}, "axis": _ticks("Step time [ms]")}
    line = {
        "transform": [{"filter": "!datum.now"}],
        "mark": {"type": "line", "color": palette.SYSTEMS["cxl"]},
        "encoding": {
            "x": x,
            "y": y,
            "detail": {"field": "how"},
            "strokeDash": {"field": "how", "type": "nominal", "sort": None, "scale": {"range": [[5, 4], [1, 0]]}, "legend": TOP},
            "tooltip": _tip(("how", "MLP log"), ("rate", "Log bandwidth [GB/s]"), ("step", "Step time [ms]")),
        },
    }
    here = {"transform": [{"filter": "datum.now"}], **_here(x, y, "")}
    return {"height": 280, "layer": [line, here]}


@cache
def links() -> Spec:
    """Step time over CXL bandwidth, a line a system, its saturation as a dot, this machine as a dashed line."""
    x = {"field": "bandwidth", "type": "quantitative", "scale": LOG, "axis": _ticks("CXL bandwidth [GB/s]")}
    y = {"field": "step", "type": "quantitative", "scale": {"type": "log"}, "axis": _ticks("Step time [ms]")}
    systems = ("cxl-d", "cxl-b", "cxl")
    colour = {**SYSTEM, "scale": palette.colours(systems), "legend": {**TOP, "symbolType": "stroke"}}
    tip = _tip(("system", "Training system"), ("bandwidth", "CXL bandwidth [GB/s]"), ("step", "Step time [ms]"))
    both = {"x": x, "y": y, "color": colour, "tooltip": tip}
    line = {"transform": [{"filter": "!datum.enough"}], "mark": {"type": "line"}, "encoding": both}
    dot = {
        "transform": [{"filter": "datum.enough"}],
        "mark": {"type": "point", "aria": False, "filled": True, "size": 110},
        "encoding": both,
    }
    # Two saturations are often close: the slowest system's label stands above its dot, the others' below.
    above, below = (
        _saturates(both, test, dy) for test, dy in (("datum.system === 'cxl-d'", -13), ("datum.system !== 'cxl-d'", 15))
    )
    now = {
        "transform": [{"aggregate": [{"op": "max", "field": "present", "as": "bandwidth"}]}],
        "mark": {"type": "rule", "aria": False, "strokeDash": [4, 3], "color": INK},
        "encoding": {"x": x},
    }
    return {"height": 320, "layer": [line, now, dot, above, below]}


def _saturates(both: Spec, test: str, dy: int) -> Spec:
    label = {"calculate": FIGURE.format("bandwidth") + " + ' GB/s'", "as": "label"}
    return {
        "transform": [{"filter": f"datum.enough && {test}"}, label],
        "mark": {"type": "text", "dy": dy, "fontWeight": 600},
        "encoding": {**both, "text": {"field": "label"}},
    }


def _ticks(title: str) -> Spec:
    """An axis in decades, as plain numbers."""
    return axis(title, format="~g", labelOverlap=True, tickCount=6, grid=False)


def _tip(name: tuple[str, str], *numbers: tuple[str, str]) -> list[Spec]:
    figures = [{"field": field, "title": title, "type": "quantitative", "format": ".4~g"} for field, title in numbers]
    return [{"field": name[0], "title": name[1]}, *figures]


def _here(x: Spec, y: Spec, label: str) -> Spec:
    """A marked point, for this machine."""
    point = {
        "mark": {"type": "point", "aria": False, "filled": True, "size": 130, "color": palette.SYSTEMS["cxl"]},
        "encoding": {"x": x, "y": y},
    }
    text = {
        "mark": {"type": "text", "dy": -14, "fontWeight": 600, "color": INK},
        "encoding": {"x": x, "y": y, "text": {"value": label}},
    }
    return {"layer": [point, text]}
