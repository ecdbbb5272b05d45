"""Charts of Decide: cost by family, and the map of winners."""

from functools import lru_cache
from typing import Any

from engine.analysis.verdict import families
from engine.analysis.verdict.outlook.territory import Territory
from engine.insight.quantities import THROUGHPUT
from pages.graphics.charts import (
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
    only_rows,
    quantity,
    rule_mark,
    scale_of,
    tooltip_fields,
)
from pages.graphics.log_axes import log_axis

COLOURS = {
    families.HBM: "#c44e52",
    families.CACHED_DRAM: "#1f7f8c",
    families.HOST: "#4a9fd8",
    families.CXL: "#c2a02b",
    families.PERSISTENT: "#d9622b",
    families.DRIVES: "#8c8c8c",
    families.SERVERS: "#9467bd",
}
NO_FAMILY = "no machine can be built"
# Of a machine with its protection; Design's price is that of the machine alone.
PRICE, RATE = "Machine and protection [USD]", THROUGHPUT
TO_BE_WRITTEN = "software would have to be written"
PARTS = {"capital": "#5b7bb4", "electricity": "#e8b04a", "lost to failures": "#c23b3b", TO_BE_WRITTEN: "#9aa1ab"}
MAP_HEIGHT = 300
BAR, HALF_BAR = 0.5, 0.75  # of the height of a bar's lane, or of its half of the lane


@lru_cache(maxsize=16)
def family_bars(unit: str, order: tuple[str, ...], parts: tuple[str, ...]) -> Spec:
    """Return a chart with a bar for each family: the cost of its best machine by part.

    A machine whose software would have to be written has a pale, dashed bar in the lower half of its family's lane.

    unit: the unit of the cost. order: the families from top to bottom. parts: the parts of the cost.
    Needs family, part, amount, total, meets, low, high, drawn (how much of the range up to high is drawn), machine, software,
    says, rank, exists (whether the software exists).
    """
    bar = HALF_BAR if TO_BE_WRITTEN in parts else BAR
    lane: Spec = {"y": nominal("family", sort=list(order), axis=axis("", labelFontSize=12, labelLimit=170, domain=False))}
    if TO_BE_WRITTEN in parts:
        lane["yOffset"] = nominal("exists", scale={"domain": [True, False]})
    colours = scale_of({part: PARTS[part] for part in parts})
    channels: dict[str, Any] = {
        "x": quantity("amount", stack="zero", axis=axis(unit, grid=False), scale=bar_scale("1,230 (not met)")),
        "color": nominal("part", scale=colours, legend=legend_below(max(parts, key=len), title=None)),
        "order": quantity("rank"),
        "tooltip": tooltip_fields(
            ("family", "Rows are held in"),
            ("machine", "Machine"),
            ("software", "Software"),
            ("part", "Part"),
            ("amount", unit, ",.4~r"),
            ("says", "Requirement"),
        ),
    }
    opacity = conditional("datum.meets", 1, 0.35)
    stack = layer({"type": "bar", "height": {"band": bar}}, {"filter": "datum.exists"}, opacity=opacity, **channels)
    pale = {"fillOpacity": 0.2, "stroke": INK, "strokeDash": [4, 3], "strokeWidth": 1.2}
    unwritten = layer({"type": "bar", "height": {"band": bar}, **pale}, {"filter": "!datum.exists"}, **channels)
    has_range = only_rows("isValid(datum.low) && datum.rank === 0")
    ends = {"x": quantity("low", title=unit), "x2": {"field": "drawn"}}
    tip = tooltip_fields(("low", "9 of 10 draws, from", ",.4~r"), ("high", "to", ",.4~r"))
    whisker = {**has_range, "layer": [layer(rule_mark(strokeWidth=1.5, color=INK), **ends, tooltip=tip)]}
    total = layer(
        {**LABEL, "dy": {"expr": "datum.exists ? -8 : 0"}, "fontSize": 11},
        {"filter": "datum.rank === 0"},
        {"calculate": "format(datum.total, ',.3~r') + (datum.meets ? '' : ' (not met)')", "as": "label"},
        x=quantity("total"),
        text={"field": "label"},
    )
    bars = [stack, unwritten, whisker, total] if TO_BE_WRITTEN in parts else [stack, whisker, total]
    height = {"step": 52, "for": "position"} if TO_BE_WRITTEN in parts else {"step": 34}
    return {**FIT_WIDTH, "height": height, "encoding": lane, "layer": bars}


@lru_cache(maxsize=32)
def winners_map(x_title: str, y_title: str, log_across: bool, log_up: bool, families: tuple[str, ...], cost_title: str) -> Spec:
    """Return a map with a rectangle for each cell, coloured by its winning family.

    cost_title: the title of the cells' costs.
    Needs x, y, x0, x1, y0, y1, family, system, software, cost, price, rate; and a row with the question's position as here_x and
    here_y.
    """
    scale = {True: {"type": "log", "nice": False}, False: {"zero": False, "nice": False}}
    x = quantity("x0", scale=scale[log_across], axis=_map_axis(x_title, "x", log_across))
    y = quantity("y0", scale=scale[log_up], axis=_map_axis(y_title, "y", log_up))
    domain = {name: colour for name, colour in {**COLOURS, NO_FAMILY: "#d9d9d9"}.items() if name in families}
    legend = legend_below(max(families, key=len), title=None, symbolType="square", symbolSize=120)
    tip = tooltip_fields(
        ("x", x_title, ",.4~r"),
        ("y", y_title, ",.4~r"),
        ("family", "Rows are held in"),
        ("system", "System"),
        ("software", "Software"),
        ("cost", cost_title, ",.3~r"),
        ("price", PRICE, ",.0f"),
        ("rate", RATE, ",.3~r"),
    )
    cells = layer(
        {"type": "rect"},
        {"filter": "isValid(datum.family)"},
        x=x,
        x2={"field": "x1"},
        y=y,
        y2={"field": "y1"},
        color=nominal("family", scale=scale_of(domain), legend=legend),
        tooltip=tip,
    )
    question_channels, is_question = {"x": quantity("here_x"), "y": quantity("here_y")}, {"filter": "isValid(datum.here_x)"}
    point = layer(
        {"type": "point", "size": 130, "filled": True, "color": "#111418", "stroke": "white", "opacity": 1},
        is_question,
        **question_channels,
    )
    text = {"type": "text", "dy": -13, "fontWeight": 700, "fontSize": 12, "color": "#111418"}
    halo = layer(
        {**text, "stroke": "white", "strokeWidth": 3, "strokeOpacity": 0.85},
        is_question,
        **question_channels,
        text={"value": "you are here"},
    )
    return {
        **FIT_WIDTH,
        "height": MAP_HEIGHT,
        "layer": [cells, point, halo, layer(text, is_question, **question_channels, text={"value": "you are here"})],
    }


def _map_axis(title: str, channel: str, log: bool) -> Spec:
    return log_axis(title, channel, grid=False) if log else axis(title, grid=False)


def known_families(territory: Territory) -> tuple[str, ...]:
    """Return the families that win a known cell of a map, in the order of their colours."""
    won = {cell.winner.family or NO_FAMILY for cell in territory.cells.values()}
    return tuple(name for name in (*COLOURS, NO_FAMILY) if name in won)
