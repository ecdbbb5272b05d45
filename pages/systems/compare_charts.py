"""Charts of the page Compare as values: one batch of each training system on one time axis, and what it moves where."""

from functools import cache

from engine.core.graph import STAGES
from pages.common import palette
from pages.common.charts import AGAINST, FIGURE, FIT, INK, Spec, axis, rows
from pages.search.figures import sweep_charts

MOST_NAMED = 3
OWN_LANE = "indexof(datum.{0}, '|') < 0"


STAGE = {"orient": "top", "columns": 2, "title": "Stage", "titleFontWeight": "normal", "values": list(STAGES)}
TIP = [
    {"field": "system", "title": "Training system"},
    {"field": "task", "title": "Task"},
    {"field": "part", "title": "Stage"},
    {"field": "moves", "title": "Moves in a batch"},
    {"field": "start", "title": "Start [ms]", "type": "quantitative", "format": ".4f"},
    {"field": "end", "title": "End [ms]", "type": "quantitative", "format": ".4f"},
    {"field": "batch", "title": "Batch"},
]


@cache
def timelines() -> Spec:
    """Under each system's own lane, as long as its step, a lane a device; needs the columns of compare_tables.LANES."""
    words = f"{OWN_LANE.format('value')} ? '' : split(datum.value, '|')[1]"
    lane = axis("", labelExpr=words, labelFontSize=12, labelLimit=150, ticks=False, domain=False)
    time = axis("Time since the batch before ended [ms]")
    colours = palette.colours((*STAGES, *palette.systems()))
    pale = [{"test": OWN_LANE.format("lane"), "value": 0.22}, {"test": "datum.background", "value": 0.55}]
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.82}},
        "encoding": {
            "x2": {"field": "end"},
            "color": {"field": "part", "type": "nominal", "scale": colours, "legend": STAGE},
            "opacity": {"condition": pale, "value": 1},
            "tooltip": TIP,
        },
    }
    name = {
        "mark": {"type": "text", "align": "left", "dx": 4, "fontWeight": 700, "fontSize": 13, "color": INK},
        "encoding": {"text": {"field": "says"}},
    }
    return {
        **rows(19),
        "encoding": {
            "y": {"field": "lane", "type": "nominal", "sort": None, "axis": lane},
            "x": {"field": "start", "type": "quantitative", "axis": time},
        },
        "layer": [bar, name],
    }


@cache
def timeline() -> Spec:
    """A lane per device, a bar per task; needs device, task, stage, batch, start, end, background. Drag and wheel zoom."""
    return {
        **rows(34),
        "params": [{"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}],
        "mark": {"type": "bar", "height": {"band": 0.8}, "stroke": "#80808080", "strokeWidth": 0.5, "clip": True},
        "encoding": {
            "y": {"field": "device", "type": "nominal", "sort": None, "axis": axis("Device", labelFontSize=13)},
            "x": {"field": "start", "type": "quantitative", "axis": axis("Time in steady state [ms]"), "scale": {"nice": False}},
            "x2": {"field": "end"},
            "color": {
                "field": "stage",
                "type": "nominal",
                "scale": palette.colours(STAGES),
                "legend": {"orient": "top", "columns": 3, "title": "Stage", "titleFontWeight": "normal"},
            },
            "opacity": {"condition": {"test": "datum.background", "value": 0.55}, "value": 1},
            "tooltip": [
                {"field": "task", "title": "Task"},
                {"field": "stage", "title": "Stage"},
                {"field": "batch", "title": "Batch"},
                {"field": "start", "title": "Start [ms]", "type": "quantitative", "format": ".4f"},
                {"field": "end", "title": "End [ms]", "type": "quantitative", "format": ".4f"},
                {"field": "background", "title": "In the background"},
            ],
        },
    }


@cache
def utilisation() -> Spec:
    """How busy each device is; needs device, busy, note."""
    return {
        **rows(26),
        "mark": {"type": "bar", "height": {"band": 0.7}, "color": "#5b7bb4"},
        "encoding": {
            "y": {"field": "device", "type": "nominal", "sort": "-x", "axis": axis("Device", labelFontSize=13)},
            "x": {"field": "busy", "type": "quantitative", "axis": axis("Busy [%]"), "scale": {"domain": [0, 100]}},
            "tooltip": [
                {"field": "device", "title": "Device"},
                {"field": "busy", "title": "Busy [%]", "type": "quantitative", "format": ".1f"},
                {"field": "note", "title": "Note"},
            ],
        },
    }


@cache
def bytes_moved() -> Spec:
    """Bytes of a batch by system and place; needs first, second, metric."""
    spec = sweep_charts.heat_map("Training system", "Device and direction, or way", "Bytes per batch [B]")
    across = {**spec["encoding"]["x"], "axis": axis("Training system", labelAngle=-40), "sort": list(palette.systems())}
    up = {**spec["encoding"]["y"], "axis": axis("Device and direction, or way", labelLimit=150)}
    cells, figures = spec["layer"]
    plain = {**cells["encoding"], "color": {**cells["encoding"]["color"], "legend": None}}  # each cell says its figure
    layers = [{**cells, "encoding": plain}, figures]
    return {**spec, **rows(30), "encoding": {"x": across, "y": up}, "layer": layers}


@cache
def curves(field: str, title: str, against: str, names: tuple[str, ...]) -> Spec:
    """Loss or AUC of each system over one of AGAINST, a triangle at each power loss; needs full_runs.CURVES."""
    colour = {"field": "system", "type": "nominal", "scale": palette.colours(names), "title": None}
    time = {"field": against, "type": "quantitative", "axis": axis(AGAINST[against])}
    tip = [
        {"field": "system", "title": "Training system"},
        {"field": "batch", "title": "Batch"},
        {"field": "elapsed", "title": "Simulated time [s]", "type": "quantitative", "format": ",.4~r"},
    ]
    value = {"field": field, "type": "quantitative", "axis": axis(title), "scale": {"zero": False}}
    line = {
        "transform": [{"filter": f"isValid(datum.{field})"}],
        "mark": {"type": "line", "strokeWidth": 1.5, "point": {"size": 24} if field == "auc" else False},
        "encoding": {
            "x": time,
            "y": value,
            "order": {"field": "elapsed"},
            "tooltip": [*tip, {"field": field, "title": title, "type": "quantitative", "format": ".6f"}],
        },
    }
    fault = {
        "transform": [{"filter": "isValid(datum.kind)"}],
        "mark": {"type": "point", "shape": "triangle-down", "filled": True, "size": 90, "y": 6},
        "encoding": {"x": time, "tooltip": [*tip, {"field": "what", "title": "What happened"}]},
    }
    legend = {"legend": {"orient": "top", "columns": 4, "labelLimit": 150}}
    own = [line, fault, *_named(colour, names, against, field)]
    return {**FIT, "height": 220, "encoding": {"color": colour}, "layer": own, "config": legend}


def _named(colour: Spec, names: tuple[str, ...], x: str, y: str) -> list[Spec]:
    """Where there are few lines, their names in their colours where there is room, in the order in which they end: no legend."""
    if len(names) > MOST_NAMED:
        return []
    colour["legend"] = None
    transform: list[Spec] = [
        {"filter": f"isValid(datum.{y})"},
        {"aggregate": [{"op": "argmax", "field": x, "as": "last"}], "groupby": ["system"]},
        {"calculate": f"datum.last['{y}']", "as": "end"},
        {"window": [{"op": "row_number", "as": "place"}], "sort": [{"field": "end", "order": "descending"}]},
    ]
    at = "14 * datum.place" if y == "loss" else "height - 60 + 14 * datum.place"
    text = {"type": "text", "align": "right", "fontWeight": 600, "x": {"expr": "width - 6"}, "y": {"expr": at}}
    return [{"transform": transform, "mark": text, "encoding": {"text": {"field": "system"}}}]


@cache
def lost(names: tuple[str, ...]) -> Spec:
    """Batches run again after power losses, a bar a system; needs system, amount."""
    value = {"field": "amount", "type": "quantitative"}
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.72}},
        "encoding": {
            "x": {**value, "axis": axis("Lost batches")},
            "color": {"field": "system", "type": "nominal", "scale": palette.colours(names), "legend": None},
            "tooltip": [{"field": "system", "title": "Training system"}, {**value, "title": "Lost batches", "format": ",.0f"}],
        },
    }
    figure = {
        "transform": [{"calculate": FIGURE.format("amount"), "as": "label"}],
        "mark": {"type": "text", "align": "left", "dx": 5, "fontWeight": 600, "color": INK},
        "encoding": {"x": value, "text": {"field": "label"}},
    }
    system = {"field": "system", "type": "nominal", "sort": list(names), "axis": axis("Training system", labelLimit=150)}
    return {**rows(26), "encoding": {"y": system}, "layer": [bar, figure]}


@cache
def nodes(names: tuple[str, ...]) -> Spec:
    """Nodes over the throughput asked for, a line a system; needs target, system, nodes."""
    log = {"type": "log", "nice": False}
    tip = [
        {"field": "system", "title": "Training system"},
        {"field": "target", "title": "Asked for [samples/s]", "type": "quantitative", "format": ",.3~r"},
        {"field": "nodes", "title": "Nodes"},
    ]
    colour: Spec = {"field": "system", "type": "nominal", "scale": palette.colours(names), "title": None}
    line = {
        "mark": {"type": "line", "point": {"size": 40}},
        "encoding": {
            "x": {
                "field": "target",
                "type": "quantitative",
                "scale": log,
                "axis": axis("Throughput asked for [samples/s]", tickCount=6),
            },
            "y": {"field": "nodes", "type": "quantitative", "scale": log, "axis": axis("Nodes", format="d", tickCount=4)},
            "tooltip": tip,
        },
    }
    own = [line, *_named(colour, names, "target", "nodes")]
    return {**FIT, "height": 220, "encoding": {"color": colour}, "layer": own, "config": {"legend": {"orient": "top"}}}
