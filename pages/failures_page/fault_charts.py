"""The charts of the page Failures, as specifications without data."""

from functools import cache, lru_cache
from math import log, sqrt

from engine.campaign.accounts import BUCKETS
from engine.campaign.reference_points import YARDSTICKS
from engine.core.figures import percent
from pages.failures_page.fault_tables import OUTAGE_PHASES, NamedPeriod
from pages.graphics.charts import (
    INK,
    LOG,
    Spec,
    axis,
    conditional,
    layer,
    legend_below,
    nominal,
    quantity,
    rows,
    rule_mark,
    scale_of,
    tooltip_fields,
)
from pages.graphics.log_axes import log_axis, log_ticks

# useful, checkpoint, lost, replay, slow, detect, restart, restore
BUCKET_COLOURS = ("#4fa64a", "#3f8fd0", "#c23b3b", "#e8904a", "#9467bd", "#b9b2a6", "#8c8c8c", "#5a6c7d")
COLOURS = dict(zip(BUCKETS, BUCKET_COLOURS, strict=True))
TIMELINE_COLOURS = {
    "counts": COLOURS["useful"],
    "lost": COLOURS["lost"],
    "replayed": COLOURS["replay"],
    "checkpoint": COLOURS["checkpoint"],
    **{name: COLOURS[name] for name in OUTAGE_PHASES},
}
LOSS_PARTS = ("the protection itself", "failures")
FORMULA_COLOUR, SIMULATED_COLOUR, CHOSEN_COLOUR = "#3f8fd0", "#c2557f", "#d9622b"
HEIGHT, LINE = 320, 14  # pixels of the chart of periods, and from one line of labels to the next


@lru_cache(maxsize=64)
def loss_bars(limit: float) -> Spec:
    """Return a chart with a bar for each protection under its label.

    The axis has hours from 0 to `limit`. Needs protection, label, nth, part, hours, chosen.
    """
    colours = dict(zip(LOSS_PARTS, (COLOURS["checkpoint"], COLOURS["lost"]), strict=True))
    scale = {"domain": [0, limit], "nice": False}
    bar = layer(
        {"type": "bar", "height": {"band": 0.45}, "clip": True},
        x=quantity("hours", scale=scale, axis=axis("Lost [h a month]", grid=False, labelFlush=True)),
        color=nominal("part", scale=scale_of(colours), legend=None),
        order=quantity("rank"),
        opacity=conditional("datum.chosen", 1, 0.62),
        tooltip=tooltip_fields(("protection", "Protection"), ("part", "Lost by"), ("hours", "Hours a month", ".3~g")),
    )
    # Labels of the axis have the theme's colour for text; these stand over their bars, on a narrow screen too.
    label_style = {
        "labelAlign": "left",
        "labelPadding": 0,
        "labelOffset": -17,
        "labelLimit": 0,
        "labelFontSize": 12,
        "ticks": False,
    }
    bar["encoding"]["y"] = nominal("label", sort={"field": "nth", "op": "min"}, axis=axis("", domain=False, **label_style))
    ranked = {"calculate": f"indexof({list(LOSS_PARTS)}, datum.part)", "as": "rank"}
    return {**rows(40), "transform": [ranked], **bar}


ONE_ROW: Spec = {"values": [{}]}  # data of one row, for a mark that is drawn once


@lru_cache(maxsize=64)
def period_chart(marked: tuple[NamedPeriod, ...], low: float, shortest: float, longest: float) -> Spec:
    """Return a chart of lost time over the checkpoint period, both logarithmic.

    The chart needs period, gone (lost time [%]), how.
    marked: named periods, such as the best by formula, the lowest loss, and the user's own.
    low: the least percentage drawn.
    shortest, longest: the range of periods [min].
    """
    scale = {"type": "log", "nice": False, "domain": [low, 100], "clamp": True}
    y = quantity("gone", scale=scale, axis=log_axis("Time lost [%]", "y", values=[*log_ticks((low, 100))]))
    minutes = log_axis("Training between two checkpoints [min]", "x", values=[*log_ticks((shortest, longest))], grid=False)
    x = quantity("period", scale=LOG, axis=minutes)
    tip = tooltip_fields(("how", "Known by"), ("period", "Period [min]", ".4~g"), ("gone", "Time lost [%]", ".4~g"))
    encoding = {"x": x, "y": y, "tooltip": tip}
    line = layer({"type": "line", "color": FORMULA_COLOUR}, {"filter": "datum.how === 'closed form'"}, **encoding)
    dots = layer(
        {"type": "point", "filled": True, "size": 40, "opacity": 1, "color": SIMULATED_COLOUR},
        {"filter": "datum.how === 'simulated'"},
        **encoding,
    )
    yardstick_losses = [
        (yardstick.name, 100 * (1 - yardstick.low)) for yardstick in YARDSTICKS if 100 * (1 - yardstick.low) > low
    ]
    bottom = [float(HEIGHT) - 8 - LINE * n for n in range(len(marked))]
    label_pixels = spread_labels([pixel(lost_percent, low) - 7 for _, lost_percent in yardstick_losses], bottom)
    yardsticks = [
        _yardstick(*yardstick_loss, y_label, scale)
        for yardstick_loss, y_label in zip(yardstick_losses, label_pixels, strict=True)
    ]
    rules = [
        _period_mark(period, y_label, scale, period.minutes > sqrt(shortest * longest))
        for period, y_label in zip(marked, bottom, strict=True)
    ]
    size = {"height": HEIGHT, "autosize": {"type": "fit-x", "contains": "padding"}}
    return {**size, "layer": [line, dots, *yardsticks, *rules]}


def pixel(lost_percent: float, low: float) -> float:
    """Return the distance [pixels] of a percentage from the chart's top."""
    return HEIGHT * log(100 / lost_percent) / log(100 / low)


def spread_labels(ideal_pixels: list[float], used_pixels: list[float]) -> list[float]:
    """Return a pixel row for each label, near its ideal row.

    A label is at least LINE pixels from every other label and from `used_pixels`.
    """
    occupied_pixels, label_pixels = list(used_pixels), []
    for y in ideal_pixels:
        tries = (y + side * step for step in range(HEIGHT) for side in (-1, 1))
        free_pixels = (
            candidate
            for candidate in tries
            if LINE / 2 <= candidate <= HEIGHT and all(abs(candidate - pixel_row) >= LINE for pixel_row in occupied_pixels)
        )
        place = next(free_pixels, y)
        occupied_pixels.append(place)
        label_pixels.append(place)
    return label_pixels


def _yardstick(name: str, lost_percent: float, y_label: float, scale: Spec) -> Spec:
    rule = layer(rule_mark(strokeDash=[2, 3], color=INK), y={"datum": lost_percent, "type": "quantitative", "scale": scale})
    label = {"type": "text", "align": "left", "x": 6, "y": y_label, "color": INK, "fontSize": 11}
    return {"data": ONE_ROW, "layer": [rule, layer(label, text={"value": f"{name}: {percent(lost_percent / 100)}"})]}


def _period_mark(period: NamedPeriod, y_label: float, scale: Spec, label_on_left: bool) -> Spec:
    """Return a rule or a point at a named period.

    Its name stands in a row of its own at the bottom.
    """
    x_encoding = {"x": {"datum": period.minutes, "type": "quantitative", "scale": LOG}}
    point = {
        "type": "point",
        "aria": False,
        "filled": True,
        "size": 130,
        "shape": "diamond",
        "color": CHOSEN_COLOUR,
        "opacity": 1,
    }
    mark = layer(rule_mark(color=INK, strokeDash=[6, 3] if period.lost_percent is None else [1, 0], opacity=0.7), **x_encoding)
    text = {
        "type": "text",
        "y": y_label,
        "color": INK,
        "align": "right" if label_on_left else "left",
        "dx": -6 if label_on_left else 6,
    }
    label = layer(text, **x_encoding, text={"value": period.name})
    point_layer = layer(point, **x_encoding, y={"datum": period.lost_percent, "type": "quantitative", "scale": scale})
    return {"data": ONE_ROW, "layer": [mark, label, *([point_layer] if period.lost_percent is not None else [])]}


@cache
def fault_timeline() -> Spec:
    """Return a chart of the phases around one fault.

    The chart needs lane, what, start, end [s from the fault].
    """
    bars = layer(
        {"type": "bar", "height": {"band": 0.7}, "clip": True},
        x=quantity("start", axis=axis("Time from the fault [s]"), scale={"nice": False}),
        x2={"field": "end"},
        color=nominal("what", scale=scale_of(TIMELINE_COLOURS), legend=legend_below(max(TIMELINE_COLOURS, key=len), title=None)),
        tooltip=tooltip_fields(("what", "Phase"), ("start", "From [s]", ".5~g"), ("end", "To [s]", ".5~g")),
    )
    fault = layer(rule_mark(color="#c23b3b", strokeWidth=2), x={"datum": 0.0})
    lanes = nominal("lane", sort=["Checkpoint", "Training", "Recovery"], axis=axis("", labelFontSize=13))
    return {**rows(34), "encoding": {"y": lanes}, "layer": [bars, fault]}
