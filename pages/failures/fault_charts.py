"""The charts of the page Failures, as specifications without data."""

from functools import cache

from engine.campaign.accounts import BUCKETS
from engine.campaign.reference_points import YARDSTICKS
from pages.common.charts import INK, Spec, axis, rows
from pages.failures.fault_tables import RECOVERS

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
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.5}},
        "encoding": {
            "x": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, 100]},
                "axis": axis(f"Share of the campaign's {of.lower()} [%]", grid=False),
            },
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": list(COLOURS), "range": list(COLOURS.values())},
                "legend": TOP,
            },
            "order": {"field": "rank", "type": "quantitative"},
            "opacity": {"condition": {"test": "datum.chosen", "value": 1}, "value": 0.62},
            "tooltip": [
                {"field": "protection", "title": "Protection"},
                {"field": "part", "title": "Went into"},
                {"field": "share", "title": "Share [%]", "type": "quantitative", "format": ".4~g"},
            ],
        },
    }
    # As labels of the axis they have the theme's colour for text; they stand over their bars, on a narrow screen too.
    over = {"labelAlign": "left", "labelPadding": 0, "labelOffset": -19, "labelLimit": 0, "labelFontSize": 13, "ticks": False}
    bar["encoding"]["y"] = {
        "field": "label",
        "type": "nominal",
        "sort": {"field": "nth", "op": "min"},
        "axis": axis("", domain=False, **over),
    }
    ranked = {"calculate": f"indexof({list(COLOURS)}, datum.part)", "as": "rank"}
    return {**rows(46), "transform": [ranked], **bar}


PERIOD = {
    "field": "period",
    "type": "quantitative",
    "scale": {"type": "log", "nice": False},
    "axis": axis("Training between two checkpoints [min]", format="~g", labelOverlap=True, tickCount=6, grid=False),
}
ONCE = {"values": [{}]}  # a mark that is drawn once, not once a row


@cache
def periods(best: tuple[tuple[str, float], ...], low: float) -> Spec:
    """Time that is not useful over the checkpoint period, both logarithmic; needs period, gone, how.

    `best` are the names and minutes of the best periods by formula, `low` is the least share drawn.
    """
    scale = {"type": "log", "nice": False, "domain": [low, 100], "clamp": True}
    y = {"field": "gone", "type": "quantitative", "scale": scale, "axis": axis("Time not useful [%]", format="~g", tickCount=4)}
    how = {"domain": ["closed form", "simulated"], "range": ["#3f8fd0", "#c2557f"]}
    colour = {"field": "how", "type": "nominal", "scale": how, "legend": TOP}
    tip = [
        {"field": "how", "title": "Known by"},
        {"field": "period", "title": "Period [min]", "type": "quantitative", "format": ".4~g"},
        {"field": "gone", "title": "Time not useful [%]", "type": "quantitative", "format": ".4~g"},
    ]
    both = {"x": PERIOD, "y": y, "color": colour, "tooltip": tip}
    line = {"transform": [{"filter": "datum.how === 'closed form'"}], "mark": {"type": "line"}, "encoding": both}
    dots = {
        "transform": [{"filter": "datum.how === 'simulated'"}],
        "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
        "encoding": both,
    }
    known = [_yardstick(one.name, 100 * (1 - one.low), scale) for one in YARDSTICKS if 100 * (1 - one.low) > low]
    size = {"height": 320, "autosize": {"type": "fit-x", "contains": "padding"}}
    return {**size, "layer": [line, dots, *known, *(_best(*one, n) for n, one in enumerate(best))]}


def _yardstick(name: str, gone: float, scale: Spec) -> Spec:
    at = {"y": {"datum": gone, "type": "quantitative", "scale": scale}}
    rule = {"mark": {"type": "rule", "aria": False, "strokeDash": [2, 3], "color": INK}, "encoding": at}
    label = {"type": "text", "align": "left", "x": 6, "dy": -6, "color": INK, "fontSize": 11}
    text = {"mark": label, "encoding": {**at, "text": {"value": f"{name}: {gone:.3g} %"}}}
    return {"data": ONCE, "layer": [rule, text]}


def _best(name: str, minutes: float, n: int) -> Spec:
    """A rule at a best period by formula; two are often close, so that their names stand on either side."""
    at = {"x": {"datum": minutes, "type": "quantitative", "scale": {"type": "log", "nice": False}}}
    rule = {"mark": {"type": "rule", "aria": False, "color": INK}, "encoding": at}
    side = {"align": "left", "dx": 4} if n else {"align": "right", "dx": -4}
    text = {"mark": {"type": "text", "y": 310, "color": INK, **side}, "encoding": {**at, "text": {"value": name}}}
    return {"data": ONCE, "layer": [rule, text]}


@cache
def around() -> Spec:
    """What happens around one fault, a lane each; needs lane, what, start, end in seconds from the fault."""
    bars = {
        "mark": {"type": "bar", "height": {"band": 0.7}, "clip": True},
        "encoding": {
            "x": {"field": "start", "type": "quantitative", "axis": axis("Seconds from the fault"), "scale": {"nice": False}},
            "x2": {"field": "end"},
            "color": {
                "field": "what",
                "type": "nominal",
                "scale": {"domain": list(AROUND), "range": list(AROUND.values())},
                "legend": TOP,
            },
            "tooltip": [
                {"field": "what", "title": "What"},
                {"field": "start", "title": "From [s]", "type": "quantitative", "format": ".5~g"},
                {"field": "end", "title": "To [s]", "type": "quantitative", "format": ".5~g"},
            ],
        },
    }
    fault = {"mark": {"type": "rule", "aria": False, "color": "#c23b3b", "strokeWidth": 2}, "encoding": {"x": {"datum": 0.0}}}
    lanes = {
        "field": "lane",
        "type": "nominal",
        "sort": ["Checkpoint", "Training", "Recovery"],
        "axis": axis("", labelFontSize=13),
    }
    return {**rows(34), "encoding": {"y": lanes}, "layer": [bars, fault]}
