"""The charts of the page Failures, as specifications without data."""

from functools import cache
from math import log, sqrt

from engine.campaign.accounts import BUCKETS
from engine.campaign.reference_points import YARDSTICKS
from engine.core.figures import percent
from pages.failures_page.fault_tables import RECOVERS, Marked
from pages.graphics.charts import INK, LOG, Spec, axis, below, hover, layer, nominal, quantity, rows, ruled, scale_of, when
from pages.graphics.log_axes import log_axis, log_ticks

# useful, checkpoint, lost, replay, slow, detect, restart, restore
PARTS = ("#4fa64a", "#3f8fd0", "#c23b3b", "#e8904a", "#9467bd", "#b9b2a6", "#8c8c8c", "#5a6c7d")
COLOURS = dict(zip(BUCKETS, PARTS, strict=True))
AROUND = {
    "counts": COLOURS["useful"],
    "lost": COLOURS["lost"],
    "replayed": COLOURS["replay"],
    "checkpoint": COLOURS["checkpoint"],
    **{name: COLOURS[name] for name in RECOVERS},
}
LOST_BY = ("the protection itself", "failures")
FORMULA, SIMULATED, OWN = "#3f8fd0", "#c2557f", "#d9622b"
HEIGHT, LINE = 320, 14  # pixels of the chart of periods, and from one line of labels to the next


@cache
def lost(limit: float) -> Spec:
    """A bar a protection under its label, hours from 0 to `limit`; needs protection, label, nth, part, hours, chosen."""
    colours = dict(zip(LOST_BY, (COLOURS["checkpoint"], COLOURS["lost"]), strict=True))
    scale = {"domain": [0, limit], "nice": False}
    bar = layer(
        {"type": "bar", "height": {"band": 0.45}, "clip": True},
        x=quantity("hours", scale=scale, axis=axis("Lost [h a month]", grid=False, labelFlush=True)),
        color=nominal("part", scale=scale_of(colours), legend=None),
        order=quantity("rank"),
        opacity=when("datum.chosen", 1, 0.62),
        tooltip=hover(("protection", "Protection"), ("part", "Lost by"), ("hours", "Hours a month", ".3~g")),
    )
    # As labels of the axis they have the theme's colour for text; they stand over their bars, on a narrow screen too.
    over = {"labelAlign": "left", "labelPadding": 0, "labelOffset": -17, "labelLimit": 0, "labelFontSize": 12, "ticks": False}
    bar["encoding"]["y"] = nominal("label", sort={"field": "nth", "op": "min"}, axis=axis("", domain=False, **over))
    ranked = {"calculate": f"indexof({list(LOST_BY)}, datum.part)", "as": "rank"}
    return {**rows(40), "transform": [ranked], **bar}


ONCE: Spec = {"values": [{}]}  # a mark that is drawn once, not once a row


@cache
def periods(marked: tuple[Marked, ...], low: float, first: float, last: float) -> Spec:
    """Time that is lost over the checkpoint period, both logarithmic; needs period, gone, how.

    `marked` are periods with a name: the best by formula, the lowest, one's own; `low` is the least
    percentage drawn, `first` and `last` are the shortest and the longest period in minutes.
    """
    scale = {"type": "log", "nice": False, "domain": [low, 100], "clamp": True}
    y = quantity("gone", scale=scale, axis=log_axis("Time lost [%]", "y", values=[*log_ticks((low, 100))]))
    minutes = log_axis("Training between two checkpoints [min]", "x", values=[*log_ticks((first, last))], grid=False)
    x = quantity("period", scale=LOG, axis=minutes)
    tip = hover(("how", "Known by"), ("period", "Period [min]", ".4~g"), ("gone", "Time lost [%]", ".4~g"))
    both = {"x": x, "y": y, "tooltip": tip}
    line = layer({"type": "line", "color": FORMULA}, {"filter": "datum.how === 'closed form'"}, **both)
    dots = layer(
        {"type": "point", "filled": True, "size": 40, "opacity": 1, "color": SIMULATED},
        {"filter": "datum.how === 'simulated'"},
        **both,
    )
    known = [(one.name, 100 * (1 - one.low)) for one in YARDSTICKS if 100 * (1 - one.low) > low]
    bottom = [float(HEIGHT) - 8 - LINE * n for n in range(len(marked))]
    beside = apart([pixel(gone, low) - 7 for _, gone in known], bottom)
    yardsticks = [_yardstick(*one, y_label, scale) for one, y_label in zip(known, beside, strict=True)]
    rules = [_marked(one, y_label, scale, one.minutes > sqrt(first * last)) for one, y_label in zip(marked, bottom, strict=True)]
    size = {"height": HEIGHT, "autosize": {"type": "fit-x", "contains": "padding"}}
    return {**size, "layer": [line, dots, *yardsticks, *rules]}


def pixel(gone: float, low: float) -> float:
    """Return how far below the top a percentage is drawn."""
    return HEIGHT * log(100 / gone) / log(100 / low)


def apart(wanted: list[float], taken: list[float]) -> list[float]:
    """Return a row of pixels for each label, near where it is wanted, LINE from every other label at least."""
    held, found = list(taken), []
    for y in wanted:
        tries = (y + side * step for step in range(HEIGHT) for side in (-1, 1))
        free = (one for one in tries if LINE / 2 <= one <= HEIGHT and all(abs(one - other) >= LINE for other in held))
        place = next(free, y)
        held.append(place)
        found.append(place)
    return found


def _yardstick(name: str, gone: float, y_label: float, scale: Spec) -> Spec:
    rule = layer(ruled(strokeDash=[2, 3], color=INK), y={"datum": gone, "type": "quantitative", "scale": scale})
    label = {"type": "text", "align": "left", "x": 6, "y": y_label, "color": INK, "fontSize": 11}
    return {"data": ONCE, "layer": [rule, layer(label, text={"value": f"{name}: {percent(gone / 100)}"})]}


def _marked(one: Marked, y_label: float, scale: Spec, late: bool) -> Spec:
    """A rule or a point at a period, its name in a row of its own at the bottom."""
    at = {"x": {"datum": one.minutes, "type": "quantitative", "scale": LOG}}
    point = {"type": "point", "aria": False, "filled": True, "size": 130, "shape": "diamond", "color": OWN, "opacity": 1}
    mark = layer(ruled(color=INK, strokeDash=[6, 3] if one.gone is None else [1, 0], opacity=0.7), **at)
    text = {"type": "text", "y": y_label, "color": INK, "align": "right" if late else "left", "dx": -6 if late else 6}
    label = layer(text, **at, text={"value": one.name})
    held = layer(point, **at, y={"datum": one.gone, "type": "quantitative", "scale": scale})
    return {"data": ONCE, "layer": [mark, label, *([held] if one.gone is not None else [])]}


@cache
def around() -> Spec:
    """What happens around one fault, a lane each; needs lane, what, start, end in seconds from the fault."""
    bars = layer(
        {"type": "bar", "height": {"band": 0.7}, "clip": True},
        x=quantity("start", axis=axis("Seconds from the fault"), scale={"nice": False}),
        x2={"field": "end"},
        color=nominal("what", scale=scale_of(AROUND), legend=below(max(AROUND, key=len), title=None)),
        tooltip=hover(("what", "What"), ("start", "From [s]", ".5~g"), ("end", "To [s]", ".5~g")),
    )
    fault = layer(ruled(color="#c23b3b", strokeWidth=2), x={"datum": 0.0})
    lanes = nominal("lane", sort=["Checkpoint", "Training", "Recovery"], axis=axis("", labelFontSize=13))
    return {**rows(34), "encoding": {"y": lanes}, "layer": [bars, fault]}
