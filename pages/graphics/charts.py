"""Charts as values: Vega-Lite specifications without data; the page adds the table.

The module has the parts that all charts use, and the curve of a training. A chart's title is no part of its specification,
because the title is a finding and changes with the data.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from math import ceil, log10
from typing import Any

from pages.graphics.letters import length

Spec = dict[str, Any]
INK = "#797e87"  # as readable on white as on near-black
# Three digits: 0.97 stays so (970m would be read as metres), 12340 becomes 12.3k.
FIGURE = "format(datum.{0}, abs(datum.{0}) < 1000 ? '.3~g' : '.3~s')"
SHORT_LABEL = "!isNumber(datum.value) || datum.label == '' || abs(datum.value) < 1e4 ? datum.label : format(datum.value, '.4~s')"
TICKS = 6  # number of ticks requested; Vega draws a round number near it, ten at most
CURVE_AXES = {
    "elapsed": "Simulated time [s]",
    "running": "Simulated time without outages [s]",
    "broken": "Simulated time, outages shortened [s]",
    "joules": "Energy without outages [J]",
    "batch": "Batch",
}
DASHED_TITLES = {"model that clicks": "model that generated the clicks"}  # titles of lines by their column
CHOICES = {
    "elapsed": "Time",
    "broken": "Time, outages shortened",
    "running": "Time without outages",
    "batch": "Batch",
    "joules": "Energy",
}
EVENTS = {"fault": "#c23b3b", "fault in recovery": "#7a1f1f", "recovered": "#4fa64a", "other event": "#b7791f"}
HEIGHT, TOOTH_PIXELS = 240, 16  # pixels of a curve and of half a tooth of a break
EVENT_LETTERS, EVENT_ROOM, NAME_ROOM = (
    11,
    18,
    16,
)  # pixels of a letter, and of the rooms inside a curve for names of events and of a line
AGAIN = "#8a5fbf"  # of batches that are trained again
Break = tuple[float, float, float]
FIT_WIDTH: Spec = {
    "autosize": {"type": "fit-x", "contains": "padding"}
}  # the width is the page's, the height that of the plot itself
CURVE = "#d9622b"
LOG: Spec = {"type": "log", "nice": False}
LABEL: Spec = {"type": "text", "align": "left", "dx": 5, "fontWeight": 600, "color": INK}  # a label right of a bar's end
# The page's room for a picture. A plot's own width changes once its labels are laid out, too late for lines of a title; it is
# named because Vega looks again when it changes, and it stands in where there is no page.
PICTURE_WIDTH = "((width ? containerSize()[0] : 0) || width)"
# Pixels: of a plot beside labels at least, around a label, of a legend's mark and what is around it, of the axis beside a plot.
LEAST_PLOT, GAP, SYMBOL, AXIS_PIXELS = 40, 8, 36, 110
SMOOTHED_BATCHES = 20  # batches on either side of the mean loss


def axis(title: str, **options: Any) -> Spec:
    """Return an axis with a title that contains the unit, few ticks, and numbers as 12.5k."""
    return {"title": title, "titleFontWeight": "normal", "tickCount": TICKS, "labelExpr": SHORT_LABEL, **options}


def rows(pixels: int) -> Spec:
    """Return a height of `pixels` for each row; the width is the page's."""
    return {**FIT_WIDTH, "height": {"step": pixels}}


def bar_scale(longest: str, size: float = 11) -> Spec:
    """Return a scale whose bars leave room for labels to their right.

    `longest` is the longest label.
    """
    room = ceil(length(longest, size, bold=True)) + GAP
    return {"range": [0, {"expr": f"max(width - {room}, {LEAST_PLOT})"}]}


def legend_below(longest: str, **options: Any) -> Spec:
    """Return a legend under the plot, in as many columns as fit.

    `longest` is the longest name.
    """
    column = ceil(length(longest, 12)) + SYMBOL
    columns = {"expr": f"max(floor(({PICTURE_WIDTH} - {AXIS_PIXELS}) / {column}), 1)"}
    return {"orient": "bottom", "columns": columns, "titleFontWeight": "normal", "labelLimit": 0, **options}


def gradient(title: str, **options: Any) -> Spec:
    """Return the legend of a colour scale, below the map and at most as wide."""
    size_options = {
        "gradientLength": {"expr": f"clamp({PICTURE_WIDTH} - 250, 60, 200)"},
        "titleLimit": 300,
        "labelOverlap": "greedy",
    }
    return {"orient": "bottom", "title": title, "titleFontWeight": "normal", **size_options, **options}


def turned_labels(labels: Sequence[str]) -> Spec:
    """Return axis options that rotate labels of words where a chart is too narrow."""
    longest = max((ceil(length(label, 12)) for label in labels), default=0) + GAP
    slanted = f"({PICTURE_WIDTH} - {AXIS_PIXELS}) / {max(len(labels), 1)} < {longest}"
    return {
        "labelAngle": {"expr": f"{slanted} ? -40 : 0"},
        "labelAlign": {"expr": f"{slanted} ? 'right' : 'center'"},
        "labelBaseline": {"expr": f"{slanted} ? 'middle' : 'top'"},
        "labelLimit": 180,
    }


def quantity(field: str, **options: Any) -> Spec:
    """Return a channel that shows the numbers of a field."""
    return {"field": field, "type": "quantitative", **options}


def nominal(field: str, **options: Any) -> Spec:
    """Return a channel that shows the words of a field."""
    return {"field": field, "type": "nominal", **options}


def tooltip_fields(*field_titles: tuple[str, ...]) -> list[Spec]:
    """Return a mark's tooltips from pairs of field and title, or triples with a number format."""
    numbers = ({"type": "quantitative", "format": form[0]} if form else {} for _, _, *form in field_titles)
    return [
        {"field": field_title[0], "title": field_title[1], **number_format}
        for field_title, number_format in zip(field_titles, numbers, strict=True)
    ]


def only_rows(test: str) -> Spec:
    """Return the transform that keeps a layer to rows that pass a test."""
    return {"transform": [{"filter": test}]}


def layer(mark: Spec, *steps: Spec, **channels: Any) -> Spec:
    """Return a layer: a mark and its channels, of rows after the transforms `steps`."""
    return {**({"transform": [*steps]} if steps else {}), "mark": mark, "encoding": channels}


def conditional(test: str, matching: Any, otherwise: Any) -> Spec:
    """Return a channel with one value for rows that pass a test, else another."""
    return {"condition": {"test": test, "value": matching}, "value": otherwise}


def rule_mark(**options: Any) -> Spec:
    """Return the mark of a rule, hidden from screen readers, as Vega gives it no name."""
    return {"type": "rule", "aria": False, **options}


def scale_of(colours: Mapping[str, str]) -> Spec:
    """Return a scale that gives each name its colour."""
    return {"domain": list(colours), "range": list(colours.values())}


@lru_cache(maxsize=64)
def curve(field: str, title: str, x_field: str, breaks: tuple[Break, ...] = (), dashed_fields: tuple[str, ...] = ()) -> Spec:
    """Return a chart of loss or AUC over one of CURVE_AXES, with a rule at each event and a shade of batches trained again.

    Needs the frame of `tables.curve` with `run_charts.event_labels`, and its breaks. A batch's loss is noisy: it is drawn pale,
    under the mean of the batches around it. An AUC has a bar of ± one standard error, the frame's `error`. No line crosses an
    outage. One or two columns `dashed_fields`, the lower one first, are drawn dashed, each under or over its own name.
    """
    time = time_channel(x_field, breaks)
    names = NAME_ROOM if dashed_fields else 0
    # Names stand in room that no line reaches.
    y_range = [HEIGHT - names, EVENT_ROOM + names]
    point = quantity(field, axis=axis(title), scale={"zero": False, "range": y_range})
    tip = tooltip_fields(("batch", "Batch"), ("elapsed", "Simulated time [s]", ".6~g"), (field, title, ".5f"))
    again = _again_mark(time, point, tip)
    if field == "loss":
        pale, mean = _smoothed_line(time, point, tip)
        layers = [pale, again, mean]
    else:
        layers = [*_error_rules(time, point), *_auc_points(time, point, tip), again]
    dashed_layers = [
        layer for n, name in enumerate(dashed_fields) for layer in _dashed_line(name, time, point, tip, is_over=n > 0)
    ]
    return {
        **FIT_WIDTH,
        "height": HEIGHT,
        "layer": [again_shade(time), *layers, *dashed_layers, *event_layers(time, breaks)],
    }


def time_channel(x_field: str, breaks: tuple[Break, ...]) -> Spec:
    """Return the horizontal channel of a run's chart; its axis ends where the run does, so that labels can be placed."""
    labels = {"labelExpr": _elapsed_expression(breaks)} if breaks and x_field == "broken" else {}
    return quantity(x_field, axis=axis(CURVE_AXES[x_field], grid=False, **labels), scale={"zero": True, "nice": False})


def again_shade(x: Spec, height: int = HEIGHT) -> Spec:
    """Return the shade behind batches that are trained again after a fault."""
    name = x["field"]
    ends = [{"op": "min", "field": name, "as": "low"}, {"op": "max", "field": name, "as": "high"}]
    steps: list[Spec] = [{"filter": "datum.again === true"}, {"aggregate": ends, "groupby": ["part"]}]
    mark = {"type": "rect", "color": AGAIN, "opacity": 0.18, "stroke": AGAIN, "strokeWidth": 1, "aria": False}
    mark |= {"y": EVENT_ROOM, "y2": height}
    return layer(mark, *steps, x={**x, "field": "low"}, x2={"field": "high"})


def _again_mark(x: Spec, y: Spec, tip: list[Spec]) -> Spec:
    """Losses as a pale line, or AUCs as points, of batches that are trained again."""
    is_loss = y["field"] == "loss"
    line = _line(x, y, tip, {"color": AGAIN, "opacity": 0.6, "strokeWidth": 1} if is_loss else {"type": "point", "filled": True})
    mark = line["mark"] if is_loss else {**line["mark"], "color": AGAIN, "opacity": 1, "size": 36}
    return {**line, "mark": mark, "transform": [*line["transform"], {"filter": "datum.again === true"}]}


def event_layers(x: Spec, breaks: tuple[Break, ...], height: int = HEIGHT) -> list[Spec]:
    """Return the rules of a run's events with their labels, and the teeth of shortened outages."""
    teeth = [_axis_break(start, end, height) for start, end, _ in breaks] if x["field"] == "broken" else []
    return [*_event_rules(x, height), *teeth]


def _elapsed_expression(breaks: tuple[Break, ...]) -> str:
    """Return the expression of simulated time on a broken axis, empty inside a break."""
    digits = max(ceil(-log10(min(end - start for start, end, _ in breaks))), 0)
    hidden = [0.0, *accumulate(seconds - (end - start) for start, end, seconds in breaks)]
    *segments, expression = (f"format(datum.value + {shift!r}, ',.{digits}~f')" for shift in hidden)
    for (start, end, _), segment in reversed(list(zip(breaks, segments, strict=True))):
        expression = f"(datum.value <= {start!r} ? {segment} : datum.value < {end!r} ? '' : {expression})"
    return expression


def _axis_break(start: float, end: float, height: int) -> Spec:
    """A toothed line in the middle of a shortened outage."""
    middle, tooth = (start + end) / 2, (end - start) / 8
    points = [{"x": middle + tooth * (-1) ** n, "y": y} for n, y in enumerate(range(height, EVENT_ROOM, -TOOTH_PIXELS))]
    return {
        "data": {"values": points},
        "mark": {"type": "line", "color": INK, "strokeWidth": 1.5},
        "encoding": {"x": quantity("x"), "y": quantity("y", scale=None), "order": {"field": "y"}},
    }


def _line(x: Spec, y: Spec, tip: list[Spec], mark: Spec) -> Spec:
    return layer(
        {"type": "line", "color": CURVE, **mark},
        {"filter": f"isValid(datum['{y['field']}'])"},
        x=x,
        y=y,
        order={"field": "elapsed"},
        detail={"field": "part"},
        tooltip=tip,
    )


def _dashed_line(name: str, x: Spec, y: Spec, tip: list[Spec], is_over: bool) -> list[Spec]:
    """A dashed line with its name under its end, or over it."""
    y_channel = {**y, "field": name}
    title = DASHED_TITLES.get(name, name)
    line = _line(x, y_channel, [*tip[:2], {**tip[2], "field": name, "title": title}], {"color": INK, "strokeDash": [5, 4]})
    last_point = {"window": [{"op": "row_number", "as": "nth"}], "sort": [{"field": "elapsed", "order": "descending"}]}
    text_mark = {"type": "text", "align": "right", "dy": -9 if is_over else 11, "color": INK, "fontSize": 11}
    text = layer(
        text_mark, *line["transform"], last_point, {"filter": "datum.nth === 1"}, x=x, y=y_channel, text={"value": title}
    )
    return [line, text]


def _auc_points(x: Spec, y: Spec, tip: list[Spec]) -> list[Spec]:
    """A point an AUC, its standard error in the tooltip, and the line."""
    return [_line(x, y, [*tip, *tooltip_fields(("error", "± one standard error", ".2r"))], {"point": {"color": CURVE}})]


def _error_rules(x: Spec, y: Spec) -> list[Spec]:
    """A rule of ± one standard error at each AUC, where that is known."""
    has_error = {"filter": f"isValid(datum['{y['field']}']) && isValid(datum.error)"}
    ends = [
        {"calculate": f"datum['{y['field']}'] {sign} datum.error", "as": name} for sign, name in (("-", "low"), ("+", "high"))
    ]
    mark = rule_mark(color=CURVE, opacity=0.35, strokeWidth=2)
    return [layer(mark, has_error, *ends, x=x, y={**y, "field": "low"}, y2={"field": "high"})]


def _smoothed_line(x: Spec, y: Spec, tip: list[Spec]) -> list[Spec]:
    """The single values, pale, under the mean of those around each."""
    pale = _line(x, y, tip, {"opacity": 0.3, "strokeWidth": 1})
    window = {
        "window": [{"op": "mean", "field": y["field"], "as": "mean"}],
        "frame": [-SMOOTHED_BATCHES, SMOOTHED_BATCHES],
        "sort": [{"field": "elapsed"}],
        "groupby": ["part"],
    }
    mean = _line(x, {**y, "field": "mean"}, tip, {"strokeWidth": 2.5})
    return [pale, {**mean, "transform": [*pale["transform"], window]}]


def _event_rules(x: Spec, height: int) -> list[Spec]:
    """A rule at each event, and a label in the row on top at those that have one, on the side that has room."""
    colour = {"type": "nominal", "scale": scale_of(EVENTS), "legend": None}
    happened = {"field": "what", "title": "What happened"}
    tip = [{"field": "kind", "title": "Event"}, {"field": "elapsed", "title": "Simulated time [s]", "format": ".6~g"}, happened]
    steps: list[Spec] = [
        {"filter": "isValid(datum.kind)"},
        {"calculate": f"indexof({list(EVENTS)}, datum.kind) < 0 ? 'other event' : datum.kind", "as": "sort"},
    ]
    channels = {"x": x, "color": {"field": "sort", **colour}, "tooltip": tip}
    rule = layer(rule_mark(strokeWidth=2, strokeDash=[4, 3], y=EVENT_ROOM, y2=height), *steps, **channels)
    return [rule, *(_side_words(steps, channels, side) for side in ("left", "right"))]


def _side_words(steps: list[Spec], channels: Spec, side: str) -> Spec:
    """Labels left or right of their rule."""
    text: Spec = {"type": "text", "align": "left" if side == "right" else "right", "dx": 4 if side == "right" else -4}
    text |= {"fontSize": EVENT_LETTERS, "fontWeight": 600, "y": EVENT_ROOM / 2 - 1}
    on_side = {"filter": f"isValid(datum.says) && datum.side === '{side}'"}
    return layer(text, *steps, on_side, **channels, text={"field": "says"})
