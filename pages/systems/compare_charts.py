"""Charts of compared systems: steady batches on one time axis, and bytes by device."""

from functools import cache

from engine.core.graph import STAGES
from pages.graphics.charts import (
    CURVE_AXES,
    FIGURE,
    FIT_WIDTH,
    INK,
    LABEL,
    Spec,
    axis,
    bar_scale,
    conditional,
    layer,
    legend_below,
    nominal,
    quantity,
    rows,
    tooltip_fields,
    turned_labels,
)
from pages.graphics.heat_maps import heat_map
from pages.graphics.log_axes import fitted_scale, log_axis
from pages.ui import palette

MOST_NAMED = 3
OWN_LANE = "indexof(datum.{0}, '|') < 0"


TIP = tooltip_fields(
    ("system", "Training system"),
    ("task", "Task"),
    ("part", "Stage"),
    ("moves", "Bytes in a batch"),
    ("start", "Start [ms]", ".4f"),
    ("end", "End [ms]", ".4f"),
    ("batch", "Batch"),
)


def _stage_legend(stages: tuple[str, ...]) -> Spec:
    """Return the legend of a chart of tasks."""
    return legend_below(max(stages, key=len), title="Stage", values=list(stages))


@cache
def timelines(legend_stages: tuple[str, ...] = STAGES) -> Spec:
    """Return a chart with a lane for each system, as long as its step, and its devices below.

    Each device has a lane. The legend names `legend_stages`. Needs the columns of compare_tables.LANES.
    """
    words = f"{OWN_LANE.format('value')} ? '' : split(datum.value, '|')[1]"
    lane = axis("", labelExpr=words, labelFontSize=12, labelLimit=150, ticks=False, domain=False)
    time = axis("Time since the end of the batch before [ms]")
    colours = palette.colours((*STAGES, *palette.systems()))
    pale = [{"test": OWN_LANE.format("lane"), "value": 0.22}, {"test": "datum.background", "value": 0.55}]
    bar = layer(
        {"type": "bar", "height": {"band": 0.82}},
        x2={"field": "end"},
        color=nominal("part", scale=colours, legend=_stage_legend(legend_stages)),
        opacity={"condition": pale, "value": 1},
        tooltip=TIP,
    )
    name = layer(
        {"type": "text", "align": "left", "dx": 4, "fontWeight": 700, "fontSize": 13, "color": INK}, text={"field": "says"}
    )
    return {
        **rows(19),
        "encoding": {"y": nominal("lane", sort=None, axis=lane), "x": quantity("start", axis=time)},
        "layer": [bar, name],
    }


@cache
def timeline(legend_stages: tuple[str, ...] = STAGES) -> Spec:
    """Return a chart with a lane for each device and a bar for each task; drag and wheel zoom.

    The legend names `legend_stages`. Needs device, task, stage, batch, start, end, background.
    """
    return {
        **rows(34),
        "params": [{"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}],
        "mark": {"type": "bar", "height": {"band": 0.8}, "stroke": "#80808080", "strokeWidth": 0.5, "clip": True},
        "encoding": {
            "y": nominal("device", sort=None, axis=axis("Device", labelFontSize=13)),
            "x": quantity("start", axis=axis("Time in steady state [ms]"), scale={"nice": False}),
            "x2": {"field": "end"},
            "color": nominal(
                "stage",
                scale=palette.colours(STAGES),
                legend=_stage_legend(legend_stages),
            ),
            "opacity": conditional("datum.background", 0.55, 1),
            "tooltip": tooltip_fields(
                ("task", "Task"),
                ("stage", "Stage"),
                ("batch", "Batch"),
                ("start", "Start [ms]", ".4f"),
                ("end", "End [ms]", ".4f"),
                ("background", "Background task"),
            ),
        },
    }


@cache
def utilisation() -> Spec:
    """Return a chart of the busy share of each device; needs device, busy, note."""
    return {
        **rows(26),
        "mark": {"type": "bar", "height": {"band": 0.7}, "color": "#5b7bb4"},
        "encoding": {
            "y": nominal("device", sort="-x", axis=axis("Device", labelFontSize=13)),
            "x": quantity("busy", axis=axis("Busy [%]"), scale={"domain": [0, 100]}),
            "tooltip": tooltip_fields(("device", "Device"), ("busy", "Busy [%]", ".1f"), ("note", "Note")),
        },
    }


@cache
def bytes_moved() -> Spec:
    """Return a heat map of a batch's bytes by system and place; needs first, second, metric."""
    spec = heat_map("Training system", "Device and direction", "Bytes per batch [B]")
    x_channel = {
        **spec["encoding"]["x"],
        "axis": axis("Training system", **turned_labels(palette.systems())),
        "sort": list(palette.systems()),
    }
    y_channel = {**spec["encoding"]["y"], "axis": axis("Device and direction", labelLimit=150)}
    cells, figures = spec["layer"]
    encoding = {**cells["encoding"], "color": {**cells["encoding"]["color"], "legend": None}}  # each cell says its figure
    layers = [{**cells, "encoding": encoding}, figures]
    return {**spec, **rows(30), "encoding": {"x": x_channel, "y": y_channel}, "layer": layers}


@cache
def curves(field: str, title: str, x_field: str, names: tuple[str, ...]) -> Spec:
    """Return a chart of each system's loss or AUC over one of AGAINST.

    A triangle marks each power loss. Needs full_runs.CURVES.
    """
    colour = nominal("system", scale=palette.colours(names), legend=_legend(names))
    time = quantity(x_field, axis=axis(CURVE_AXES[x_field]))
    tip = tooltip_fields(("system", "Training system"), ("batch", "Batch"), ("elapsed", "Simulated time [s]", ",.4~r"))
    y_channel = quantity(field, axis=axis(title), scale={"zero": False})
    line = layer(
        {"type": "line", "strokeWidth": 1.5, "point": {"size": 24} if field == "auc" else False},
        {"filter": f"isValid(datum.{field})"},
        x=time,
        y=y_channel,
        order={"field": "elapsed"},
        tooltip=[*tip, *tooltip_fields((field, title, ".6f"))],
    )
    fault = layer(
        {"type": "point", "shape": "triangle-down", "filled": True, "size": 90, "y": 6},
        {"filter": "isValid(datum.kind)"},
        x=time,
        tooltip=[*tip, *tooltip_fields(("what", "What happened"))],
    )
    layers = [line, fault, *_name_labels(colour, names, x_field, field)]
    return {**FIT_WIDTH, "height": 220, "encoding": {"color": colour}, "layer": layers}


def _legend(names: tuple[str, ...]) -> Spec:
    return legend_below(max(names, key=len, default=""), title=None)


def _name_labels(colour: Spec, names: tuple[str, ...], x: str, y: str) -> list[Spec]:
    """Return the names of few lines in their colours, in place of a legend.

    They stand where there is room, in the order in which the lines end.
    """
    if len(names) > MOST_NAMED:
        return []
    colour["legend"] = None
    transform: list[Spec] = [
        {"filter": f"isValid(datum.{y})"},
        {"aggregate": [{"op": "argmax", "field": x, "as": "last"}], "groupby": ["system"]},
        {"calculate": f"datum.last['{y}']", "as": "end"},
        {"window": [{"op": "row_number", "as": "place"}], "sort": [{"field": "end", "order": "descending"}]},
    ]
    y_expression = "14 * datum.place" if y == "loss" else "height - 60 + 14 * datum.place"
    text = {"type": "text", "align": "right", "fontWeight": 600, "x": {"expr": "width - 6"}, "y": {"expr": y_expression}}
    return [layer(text, *transform, text={"field": "system"})]


@cache
def lost_batches_chart(names: tuple[str, ...]) -> Spec:
    """Return a chart of batches run again after power losses, a bar for each system.

    Needs system, amount.
    """
    amount = quantity("amount")
    bar = layer(
        {"type": "bar", "height": {"band": 0.72}},
        x={**amount, "axis": axis("Lost batches"), "scale": bar_scale("12.3k")},
        color=nominal("system", scale=palette.colours(names), legend=None),
        tooltip=[{"field": "system", "title": "Training system"}, {**amount, "title": "Lost batches", "format": ",.0f"}],
    )
    figure = layer(LABEL, {"calculate": FIGURE.format("amount"), "as": "label"}, x=amount, text={"field": "label"})
    system = nominal("system", sort=list(names), axis=axis("Training system", labelLimit=150))
    return {**rows(26), "encoding": {"y": system}, "layer": [bar, figure]}


@cache
def nodes(names: tuple[str, ...]) -> Spec:
    """Return a chart of nodes over the requested throughput, a line for each system.

    Needs target, system, nodes.
    """
    tip = tooltip_fields(("system", "Training system"), ("target", "Target throughput [samples/s]", ",.3~r"), ("nodes", "Nodes"))
    colour = nominal("system", scale=palette.colours(names), legend=_legend(names))
    line = layer(
        {"type": "line", "point": {"size": 40}},
        x=quantity("target", scale=fitted_scale(True), axis=log_axis("Target throughput [samples/s]", "x")),
        y=quantity("nodes", scale=fitted_scale(True), axis=log_axis("Nodes", "y")),
        tooltip=tip,
    )
    layers = [line, *_name_labels(colour, names, "target", "nodes")]
    return {**FIT_WIDTH, "height": 220, "encoding": {"color": colour}, "layer": layers}
