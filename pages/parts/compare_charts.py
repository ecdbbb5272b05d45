"""Charts of the page Compare as values: one batch of each training system on one time axis, and what it moves where."""

from functools import cache

from engine.result import STAGES
from pages.parts import palette, sweep_charts
from pages.parts.charts import INK, Spec, axis, rows

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
def bytes_moved() -> Spec:
    """Bytes of a batch by system and place; needs first, second, metric."""
    spec = sweep_charts.heat_map("Training system", "Device and direction, or way", "Bytes per batch [B]")
    across = {**spec["encoding"]["x"], "axis": axis("Training system", labelAngle=-40), "sort": list(palette.systems())}
    up = {**spec["encoding"]["y"], "axis": axis("Device and direction, or way", labelLimit=150)}
    cells, figures = spec["layer"]
    plain = {**cells["encoding"], "color": {**cells["encoding"]["color"], "legend": None}}  # each cell says its figure
    layers = [{**cells, "encoding": plain}, figures]
    return {**spec, **rows(30), "encoding": {"x": across, "y": up}, "layer": layers}
