"""Step time over each knob that acts, in one lane for each knob.

The strongest knob is first; a dot marks the value in force.
"""

from functools import cache
from math import inf, nan

import numpy as np
import pandas as pd
import streamlit as st

from engine.core.figures import count, factor, figure
from engine.insight.knobs.strips import Strip
from engine.scenario.scenario import KNOBS, Scenario
from pages.answers import later, question
from pages.design_page import questions
from pages.graphics import chart
from pages.graphics.charts import (
    CURVE,
    FIT_WIDTH,
    GAP,
    INK,
    Spec,
    axis,
    bar_scale,
    conditional,
    layer,
    nominal,
    quantity,
    tooltip_fields,
)
from pages.knob_cards import strip_charts

MAX_LANES, LEAST_REACH, LANE = (
    20,
    1.005,
    40,
)  # lanes at most; least ratio of longest to shortest step of a drawn knob; pixels of a lane


def draw(scenario: Scenario) -> None:
    """Draw a lane for each knob that changes the step time, at most SHOWN of them."""
    baseline = question.baseline_scenario(scenario)
    later.draw_when_known("Estimating every value of every knob", _draw_lanes, questions.acting_strips, scenario, baseline)


def _draw_lanes(strips_and_number: tuple[tuple[Strip, ...], int]) -> None:
    all_strips, acting = strips_and_number
    strips_by_reach = sorted(all_strips, key=step_ratio, reverse=True)
    telling = [strip for strip in strips_by_reach if step_ratio(strip) > LEAST_REACH][:MAX_LANES]
    if not telling:
        st.caption("No knob changes the step time here.")
        return
    strongest_strip = telling[0]
    chart.draw(
        rows(telling),
        spec(),
        key="every knob",
        title=(
            f"{KNOBS[strongest_strip.path].label} changes the step time most: "
            f"the longest step is {factor(step_ratio(strongest_strip))} the shortest"
        ),
        subtitle=f"Step time over each knob [ms], {len(telling)} of {count(acting, 'knob')} that act; dot: your value",
    )


def step_ratio(strip: Strip) -> float:
    """Return the longest step time over a knob divided by its shortest.

    The ratio is -inf if no stop runs.
    """
    steps = np.array([stop.seconds for stop in strip.stops] or [nan])
    return float(np.nanmax(steps) / np.nanmin(steps)) if np.isfinite(steps).any() else -inf


def rows(knob_strips: list[Strip]) -> pd.DataFrame:
    """Return a row for each stop of each strip.

    Columns: knob, nth, level, says, and those of `strip_charts.stop_rows` with `place` scaled to 0 to 1.
    """
    frames = [
        strip_charts.stop_rows(strip).assign(knob=KNOBS[strip.path].label, nth=nth) for nth, strip in enumerate(knob_strips)
    ]
    stops = pd.concat([frame.assign(place=frame["place"] / max(len(frame) - 1, 1)) for frame in frames], ignore_index=True)
    longest_steps = stops.groupby("knob")["step"].transform("max")
    end_labels = [
        f"up to {figure(ms, 'ms')}" if place == 1.0 else "" for ms, place in zip(longest_steps, stops["place"], strict=True)
    ]
    return stops.assign(level=stops["step"] / longest_steps, says=end_labels)


@cache
def spec() -> Spec:
    """Return a chart with a lane for each knob, each with its own scale from zero.

    The chart needs the columns of `rows`.
    """
    lane = nominal("knob", sort={"field": "nth", "op": "min"}, axis=axis("", labelFontSize=12, labelLimit=150, domain=False))
    x = quantity("place", axis=None, scale=bar_scale("up to 0.123 ms", 11))
    y = quantity("level", scale={"domain": [0, 1], "range": [LANE - 6, 6]})
    tip = tooltip_fields(("knob", "Knob"), ("value", "Value"), ("step", "Step time [ms]", ",.4~r"), ("refused", "Cannot run"))
    line = layer(
        {"type": "line", "color": strip_charts.COLOURS["Step"], "strokeWidth": 2}, x=x, yOffset=y, detail=nominal("knob")
    )
    dot_style = {
        "size": conditional("datum.here", 90, 15),
        "color": conditional("datum.here", CURVE, strip_charts.COLOURS["Step"]),
    }
    dots = layer({"type": "point", "aria": False, "filled": True, "opacity": 1}, x=x, yOffset=y, tooltip=tip, **dot_style)
    end_filter = {"filter": "datum.says !== ''"}
    text = layer({"type": "text", "align": "left", "dx": GAP, "color": INK}, end_filter, x=x, text={"field": "says"})
    return {**FIT_WIDTH, "height": {"step": LANE, "for": "position"}, "encoding": {"y": lane}, "layer": [line, dots, text]}
