"""The picture of a knob strip: step time, energy and price over the stops of one knob, a lane each."""

from bisect import bisect_left
from functools import cache
from math import isnan, log
from operator import itemgetter

import pandas as pd

from engine.core.figures import figure
from engine.insight.knobs.moves import QUANTITIES
from engine.insight.knobs.strips import Strip
from engine.scenario.scenario import KNOBS
from engine.units import MS
from pages.graphics.charts import (
    CURVE,
    FIT_WIDTH,
    GAP,
    INK,
    Spec,
    bar_scale,
    conditional,
    layer,
    nominal,
    quantity,
    rule_mark,
    tooltip_fields,
)

LANE, MARKS = 22, 18  # pixels of a lane, and of the products below the lanes
COLOURS = {"Step": "#5b7bb4", "Energy": "#4f8a4a", "Price": "#8b6f9c"}
LONGEST_EXTENT = "54.6 to 72.2 k USD"
LABEL_SPACING = 0.16  # of a strip: labels closer than this would overlap
COLUMNS = {
    "value": "Value",
    "step": "Step time [ms]",
    "joules": "Energy per batch [J]",
    "dollars": "Capital cost [USD]",
    "refused": "Cannot run",
    "not_sold": "Not sold",
}
THOUSAND, MILLION = 1e3, 1e6


def extent(quantity_name: str, least: float, most: float) -> str:
    """Return the least and the largest value of a quantity with its unit; "" where it is unknown."""
    if isnan(least) or isnan(most):
        return ""
    scale, unit = {"Step": (MS, "ms"), "Energy": (1.0, "J")}.get(quantity_name, (THOUSAND, "k USD"))
    if unit == "k USD" and most >= MILLION:
        scale, unit = MILLION, "M USD"
    low, high = figure(least / scale), figure(most / scale)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def stop_rows(strip: Strip) -> pd.DataFrame:
    """Return a row for each stop of a strip: place, value, step [ms], joules, dollars, here, refused, not_sold."""
    unit = KNOBS[strip.path].unit
    return pd.DataFrame(
        [
            {
                "place": place,
                "value": f"{stop.text} {unit}".strip(),
                "step": stop.seconds / MS,
                "joules": stop.joules,
                "dollars": stop.dollars,
                "here": place == strip.own_index,
                "refused": stop.refused,
                "not_sold": stop.not_sold,
            }
            for place, stop in enumerate(strip.stops)
        ]
    )


def lane_rows(strip: Strip) -> pd.DataFrame:
    """Return a row for each stop and quantity, and for each product.

    Columns: those of `stop_rows`, quantity, level (of the quantity's largest value), says (least and largest value, at the last
    stop), product, label.
    """
    stops, frames = stop_rows(strip), []
    for name, field in QUANTITIES.items():
        numbers = pd.Series([getattr(stop, field) for stop in strip.stops], dtype=float)
        says = extent(name, numbers.min(), numbers.max())
        most = numbers.max() or 1.0
        frames.append(
            stops.assign(quantity=name, level=numbers / most, says=[""] * (len(stops) - 1) + [says], product="", label="")
        )
    return pd.concat([*frames, _product_rows(strip)], ignore_index=True)


def _product_rows(strip: Strip) -> pd.DataFrame:
    """Return the place, name and label of each product within a strip; a label only where it has room."""
    numbers = [stop.knob_value for stop in strip.stops]
    placed = ((mark.text, place) for mark in strip.marks if (place := place_among(mark.knob_value, numbers)) is not None)
    rows: list[dict[str, object]] = []
    last_label_place = -1.0
    for text, place in sorted(placed, key=itemgetter(1)):
        has_room = place - last_label_place > LABEL_SPACING * len(numbers)
        last_label_place = place if has_room else last_label_place
        rows.append({"place": place, "product": text, "label": text.partition(",")[0] * has_room})
    return pd.DataFrame(rows, columns=["place", "product", "label"])


def place_among(value: float, stops: list[float]) -> float | None:
    """Return the place of a value among evenly spaced stops, None outside them."""
    if not stops[0] <= value <= stops[-1]:
        return None
    upper = max(bisect_left(stops, value), 1)
    low, high = stops[upper - 1], stops[min(upper, len(stops) - 1)]
    if high == low:
        return float(upper - 1)
    part = log(value / low) / log(high / low) if low > 0 else (value - low) / (high - low)
    return upper - 1 + part


@cache
def strip_chart(is_ordered: bool, has_products: bool) -> Spec:
    """Return a chart of three lanes over evenly spaced stops, each with its own scale from zero and its least and largest value.

    The value in force is marked; a stop that no product has is pale. Needs the columns of `lane_rows`. The number of stops is in
    the data only: a changed specification would make the browser rebuild the chart, which is slower.
    """
    lane = nominal("quantity", sort=[*QUANTITIES], axis=None)
    x = quantity("place", axis=None, scale={"zero": False, "nice": False, **_range(LONGEST_EXTENT)})
    level = quantity("level", scale={"domain": [0, 1], "range": [LANE - 4, 4]})
    colour = nominal("quantity", scale={"domain": [*COLOURS], "range": [*COLOURS.values()]}, legend=None)
    tip = tooltip_fields(
        ("value", "Value"),
        ("step", "Step time [ms]", ",.4~r"),
        ("joules", "Energy per batch [J]", ",.4~r"),
        ("dollars", "Capital cost [USD]", ",.4~r"),
        ("refused", "Cannot run"),
        ("not_sold", "Not sold"),
    )
    stops, spot = {"filter": "isValid(datum.quantity)"}, {"type": "point", "aria": False, "filled": True}
    line = layer({"type": "line", "strokeWidth": 2}, stops, x=x, y=lane, yOffset=level, color=colour)
    dots = layer(
        spot,
        stops,
        {"filter": "isValid(datum.level)"},
        x=x,
        y=lane,
        yOffset=level,
        tooltip=tip,
        opacity=conditional("datum.not_sold === ''", 1, 0.35),
        size=conditional("datum.here", 80, 16),
        color={"condition": {"test": "datum.here", "value": CURVE}, **colour},
    )
    text = layer(
        {"type": "text", "align": "left", "dx": GAP, "fontSize": 11, "color": INK},
        {"filter": "isValid(datum.says) && datum.says !== ''"},
        x=x,
        y=lane,
        text={"field": "says"},
    )
    cross = layer(
        {"type": "text", "text": "×", "fontSize": 11, "color": INK},
        {"filter": "isValid(datum.refused) && datum.refused !== '' && datum.quantity === 'Step'"},
        x=x,
        y=lane,
        tooltip=tip,
    )
    layers = [cross, *([line] if is_ordered else []), dots, text, *(_product_layers(x) if has_products else [])]
    height = len(QUANTITIES) * LANE
    return {**FIT_WIDTH, "height": height, "padding": {"left": 4, "right": 2, "top": 1, "bottom": 1}, "layer": layers}


def _range(longest: str) -> Spec:
    return {"range": [6, bar_scale(longest)["range"][1]]}


def _product_layers(x: Spec) -> list[Spec]:
    """Return ticks of products below the lanes, with labels."""
    products, top = {"filter": "isValid(datum.product) && datum.product !== ''"}, len(QUANTITIES) * LANE
    tip = tooltip_fields(("product", "Product"))
    ticks = layer(rule_mark(strokeWidth=2, color=INK), products, x=x, y={"value": top}, y2={"value": top + 5}, tooltip=tip)
    text = {"type": "text", "baseline": "top", "fontSize": 10, "color": INK}
    labels = layer(
        text,
        {"filter": "isValid(datum.label) && datum.label !== ''"},
        x=x,
        y={"value": top + 6},
        text={"field": "label"},
        tooltip=tip,
    )
    return [ticks, labels]
