"""Charts of data access: lines over a logarithmic axis, and misses by table."""

from collections.abc import Sequence
from functools import lru_cache

from engine.insight.data_profile import HOTTEST_STAY, LRU, LRU_BY_TABLE
from pages.graphics.charts import (
    INK,
    LOG,
    Spec,
    axis,
    conditional,
    gradient,
    layer,
    legend_below,
    nominal,
    only_rows,
    quantity,
    rows,
    rule_mark,
    tooltip_fields,
)
from pages.graphics.heat_maps import LEAST_HEIGHT, SHADES
from pages.graphics.log_axes import log_axis
from pages.ui import palette

# A policy keeps its colour over all charts of the page; the hottest rows are those of the static one.
HOTTEST = "hottest rows"
# Every second of the shares, which are a quarter of a decade apart, is written.
HALF_DECADE = "2 * log(datum.value) / LN10"
HALF_DECADES = f"abs({HALF_DECADE} - round({HALF_DECADE})) < 0.01 ? format(datum.value, '.2~r') : ''"
PREFIX_END = ": "
MIN_ROW_PIXELS, MAX_ROW_PIXELS, DEFAULT_TABLES = 17, 44, 30  # pixels of a row at least and at most; tables drawn at most
EXACT = "format(datum.value, ',')"
COLOURS = {LRU: "#c2557f", LRU_BY_TABLE: "#3f8fd0", HOTTEST_STAY: "#9c6b3f", HOTTEST: "#9c6b3f"}


@lru_cache(maxsize=64)
def lines(
    x: str,
    y: str,
    names: tuple[str, ...],
    log_y: bool = False,
    ticks: tuple[float, ...] = (),
    rates: tuple[float, ...] = (),
    every_tick: bool = False,
) -> Spec:
    """Return a chart of lines over a logarithmic axis; needs x, y, name, share (or None).

    Rows named "" mark the scenario's value of x.
    `ticks` are the labelled values on the axis of x, `rates` those on a logarithmic axis of y. A narrow chart labels only powers
    of ten, unless `every_tick`.
    """
    tip = tooltip_fields(("name", "Curve"), ("x", x, ",.4~r"), ("y", y, ".3~r"))
    scale = LOG if log_y else {"domain": [0, 100]}
    colour = nominal("name", scale=_colours(names), legend=legend_below(max(names, key=len), title=None))
    x_axis = log_axis(x, "x", **({"values": [*ticks]} if ticks else {}), **({"labelExpr": EXACT} if every_tick else {}))
    y_axis = log_axis(y, "y", **({"values": [*rates]} if rates else {})) if log_y else axis(y, format=".4~r")
    return {
        "height": 300,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "encoding": {"x": quantity("x", scale=LOG, axis=x_axis)},
        "layer": [
            layer(
                {"type": "line", "point": {"size": 28}},
                {"filter": "datum.name !== ''"},
                y=quantity("y", axis=y_axis, scale=scale),
                color=colour,
                strokeDash=conditional(f"indexof(datum.name, '{PREFIX_END}') > 0", [5, 3], [1, 0]),
                tooltip=tip,
            ),
            {**only_rows("datum.name === ''"), "mark": rule_mark(color=INK, strokeDash=[4, 3])},
        ],
    }


def _colours(names: Sequence[str]) -> Spec:
    """Return colours of names; names alike but for their prefix share one, and are dashed."""
    base_names = [name.rpartition(PREFIX_END)[2] for name in names]
    default_colours = palette.colours(tuple(dict.fromkeys(base_names)))
    colours = dict(zip(default_colours["domain"], default_colours["range"], strict=True)) | COLOURS
    return {"domain": list(names), "range": [colours[name] for name in base_names]}


@lru_cache(maxsize=64)
def tables(number: int = DEFAULT_TABLES) -> Spec:
    """Return a heat map of misses by table and share of its rows; needs x, table, y."""
    share = axis("Share of the table's rows in the cache [%]", labelAngle=0, labelExpr=HALF_DECADES, labelOverlap=True)
    return {
        **rows(max(MIN_ROW_PIXELS, min(MAX_ROW_PIXELS, LEAST_HEIGHT // max(number, 1)))),
        "mark": {"type": "rect"},
        "encoding": {
            "x": {"field": "x", "type": "ordinal", "axis": share},
            "y": nominal("table", sort=None, axis=axis("Table, largest first", labelLimit=220, labelOverlap=False)),
            "color": quantity(
                "y",
                scale={**SHADES, "domain": [0, 100]},
                legend=gradient("Lookups that miss [%]"),
            ),
            "tooltip": tooltip_fields(
                ("table", "Table"), ("x", "Cached share of its rows [%]", ".3~r"), ("y", "Lookups that miss [%]", ".3~r")
            ),
        },
    }
