"""The charts of the page Failures, as specifications without data."""

from functools import cache

from engine.campaign.accounts import BUCKETS
from engine.campaign.reference_points import YARDSTICKS
from pages.failures_page.fault_tables import RECOVERS
from pages.graphics.charts import INK, LOG, Spec, axis, hover, layer, nominal, quantity, rows, ruled, scale_of, when

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
TOP = {"orient": "top", "title": None, "columns": 3}


@cache
def spent(of: str) -> Spec:
    """A bar a protection under its label, stacked by bucket; needs protection, label, nth, part, share, chosen."""
    bar = layer(
        {"type": "bar", "height": {"band": 0.5}},
        x=quantity("share", scale={"domain": [0, 100]}, axis=axis(f"Share of the campaign's {of.lower()} [%]", grid=False)),
        color=nominal("part", scale=scale_of(COLOURS), legend=TOP),
        order=quantity("rank"),
        opacity=when("datum.chosen", 1, 0.62),
        tooltip=hover(("protection", "Protection"), ("part", "Went into"), ("share", "Share [%]", ".4~g")),
    )
    # As labels of the axis they have the theme's colour for text; they stand over their bars, on a narrow screen too.
    over = {"labelAlign": "left", "labelPadding": 0, "labelOffset": -19, "labelLimit": 0, "labelFontSize": 13, "ticks": False}
    bar["encoding"]["y"] = nominal("label", sort={"field": "nth", "op": "min"}, axis=axis("", domain=False, **over))
    ranked = {"calculate": f"indexof({list(COLOURS)}, datum.part)", "as": "rank"}
    return {**rows(46), "transform": [ranked], **bar}


PERIOD = quantity(
    "period",
    scale=LOG,
    axis=axis("Training between two checkpoints [min]", format="~g", labelOverlap=True, tickCount=6, grid=False),
)
ONCE: Spec = {"values": [{}]}  # a mark that is drawn once, not once a row


@cache
def periods(best: tuple[tuple[str, float], ...], low: float) -> Spec:
    """Time that is not useful over the checkpoint period, both logarithmic; needs period, gone, how.

    `best` are the names and minutes of the best periods by formula, `low` is the least share drawn.
    """
    scale = {"type": "log", "nice": False, "domain": [low, 100], "clamp": True}
    y = quantity("gone", scale=scale, axis=axis("Time not useful [%]", format="~g", tickCount=4))
    how = {"domain": ["closed form", "simulated"], "range": ["#3f8fd0", "#c2557f"]}
    colour = nominal("how", scale=how, legend=TOP)
    tip = hover(("how", "Known by"), ("period", "Period [min]", ".4~g"), ("gone", "Time not useful [%]", ".4~g"))
    both = {"x": PERIOD, "y": y, "color": colour, "tooltip": tip}
    line = layer({"type": "line"}, {"filter": "datum.how === 'closed form'"}, **both)
    dots = layer({"type": "point", "filled": True, "size": 45, "opacity": 1}, {"filter": "datum.how === 'simulated'"}, **both)
    known = [_yardstick(one.name, 100 * (1 - one.low), scale) for one in YARDSTICKS if 100 * (1 - one.low) > low]
    size = {"height": 320, "autosize": {"type": "fit-x", "contains": "padding"}}
    return {**size, "layer": [line, dots, *known, *(_best(*one, n) for n, one in enumerate(best))]}


def _yardstick(name: str, gone: float, scale: Spec) -> Spec:
    at = {"y": {"datum": gone, "type": "quantitative", "scale": scale}}
    rule = layer(ruled(strokeDash=[2, 3], color=INK), **at)
    label = {"type": "text", "align": "left", "x": 6, "dy": -6, "color": INK, "fontSize": 11}
    text = layer(label, **at, text={"value": f"{name}: {gone:.3g} %"})
    return {"data": ONCE, "layer": [rule, text]}


def _best(name: str, minutes: float, n: int) -> Spec:
    """A rule at a best period by formula; two are often close, so that their names stand on either side."""
    at = {"x": {"datum": minutes, "type": "quantitative", "scale": LOG}}
    rule = layer(ruled(color=INK), **at)
    side = {"align": "left", "dx": 4} if n else {"align": "right", "dx": -4}
    text = layer({"type": "text", "y": 310, "color": INK, **side}, **at, text={"value": name})
    return {"data": ONCE, "layer": [rule, text]}


@cache
def around() -> Spec:
    """What happens around one fault, a lane each; needs lane, what, start, end in seconds from the fault."""
    bars = layer(
        {"type": "bar", "height": {"band": 0.7}, "clip": True},
        x=quantity("start", axis=axis("Seconds from the fault"), scale={"nice": False}),
        x2={"field": "end"},
        color=nominal("what", scale=scale_of(AROUND), legend=TOP),
        tooltip=hover(("what", "What"), ("start", "From [s]", ".5~g"), ("end", "To [s]", ".5~g")),
    )
    fault = layer(ruled(color="#c23b3b", strokeWidth=2), x={"datum": 0.0})
    lanes = nominal("lane", sort=["Checkpoint", "Training", "Recovery"], axis=axis("", labelFontSize=13))
    return {**rows(34), "encoding": {"y": lanes}, "layer": [bars, fault]}
