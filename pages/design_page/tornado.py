"""The uncertainty of the estimate by its constants.

A chart shows the constants that move a result most, and the band of all constants together.
"""

from functools import cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from engine.analysis.uncertainty import Swing, bands, tornado
from engine.core.figures import count, exact, figure
from engine.insight.running_costs import price_unit
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from pages.answers import later
from pages.graphics import chart, charts
from pages.graphics.charts import layer, nominal, quantity, rule_mark, tooltip_fields
from pages.ui import downloads
from pages.ui.numbers import label
from pages.ui.numbers import unit as metric_unit

COST = "Capital cost [USD]"
METRICS = ("Step time [ms]", "Energy per batch [J]", COST)
MAX_CONSTANTS = 10
TABLE = {
    "name": "Constant",
    "at_low": "Result at its low end",
    "at_high": "Result at its high end",
    "value": "Value",
    "ends": "Range",
    "confidence": "Confidence",
    "source": "Source",
}


def draw(scenario: Scenario, result: Result) -> None:
    """Draw the tornado of one result, with its band in the title."""
    metrics = [name for name in METRICS if result.results[name] is not None]
    metric = st.segmented_control("Result", metrics, default=metrics[0], required=True, key="tornado of")
    draw_known = partial(_draw_swings, scenario, result, metric)
    later.draw_when_known("Drawing all constants from their ranges", draw_known, bands_and_swings, scenario, metric)


def bands_and_swings(scenario: Scenario, metric: str) -> tuple[tuple[float, float], tuple[Swing, ...]]:
    """Return the band of a result under all constants, and the swing of each constant, the widest first."""
    return bands(scenario)[metric], tornado(scenario, metric)


def _draw_swings(
    scenario: Scenario, result: Result, metric: str, band_and_swings: tuple[tuple[float, float], tuple[Swing, ...]]
) -> None:
    estimate = result.results[metric] or 0.0
    year = f", {price_unit(scenario)}" if metric == COST else ""
    (low, high), swings = band_and_swings
    kind, name = metric_unit(metric), label(metric)
    band = f"{figure(low, kind)} to {figure(high, kind)} in 9 of 10 draws of all constants from their ranges"
    if not swings:
        st.caption("No constant with a range changes this result.")
        return
    frame = rows(swings[:MAX_CONSTANTS], estimate)
    chart.draw(
        frame,
        spec(metric),
        key="tornado",
        title=f"{name}: {figure(estimate, kind)}{year}, and {band}",
        subtitle=f"{metric} at each constant's lowest and highest value; the {count(len(frame), 'constant')} that change it most",
    )
    downloads.show(frame[list(TABLE)].rename(columns=TABLE))


def rows(swings: tuple[Swing, ...], estimate: float) -> pd.DataFrame:
    """Return a row for each constant.

    A row has the result at both ends of the constant's range, the range, confidence and source.
    """
    return pd.DataFrame(
        [
            {
                "name": swing.name,
                "at_low": swing.at_low,
                "at_high": swing.at_high,
                "own": estimate,
                "ends": f"{exact(swing.constant.low)} to {exact(swing.constant.high, swing.constant.unit)}",
                "value": swing.constant.value,
                "confidence": swing.constant.confidence,
                "source": swing.constant.source,
            }
            for swing in swings
        ]
    )


@cache
def spec(metric: str) -> dict[str, Any]:
    """Return a chart with a bar for each constant.

    A bar goes from the result at the range's low end to that at its high end; a rule marks the estimate.
    """
    bar = layer(
        {"type": "bar", "height": {"band": 0.65}, "color": "#5b7bb4"},
        y=nominal("name", sort=None, axis=charts.axis("Constant", labelLimit=260)),
        x=quantity("at_low", axis=charts.axis(metric), scale={"zero": False}),
        x2={"field": "at_high"},
        tooltip=tooltip_fields(
            ("name", "Constant"),
            ("ends", "Range"),
            ("at_low", "At its low end", ",.4~r"),
            ("at_high", "At its high end", ",.4~r"),
            ("confidence", "Confidence"),
            ("source", "Source"),
        ),
    )
    rule = layer(rule_mark(strokeWidth=2, color="#d9622b"), x=quantity("own"))
    return {**charts.rows(26), "layer": [bar, rule]}
