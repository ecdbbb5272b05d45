"""The step time over each knob that acts here, a lane each, those that change it most first; a dot is the value in force."""

from functools import cache
from math import inf, nan

import numpy as np
import pandas as pd
import streamlit as st

from engine.core.figures import factor, figure
from engine.insight.knob_strips import Strip
from engine.scenario.scenario import KNOBS, Scenario
from pages.answers import later, question
from pages.design_page import questions, strips
from pages.graphics import chart
from pages.graphics.charts import CURVE, FIT, GAP, INK, Spec, axis, ending, hover, layer, nominal, quantity, when

SHOWN, TELLING, LANE = 20, 1.005, 40  # knobs; times by which one must change the step to be drawn; pixels of each


def draw(scenario: Scenario) -> None:
    """Draw a lane for each knob that changes the step time, at most SHOWN of them."""
    every, acting = later.cached_result(questions.every_knob, scenario, question.baseline_scenario(scenario))
    found = sorted(every, key=reach, reverse=True)
    telling = [strip for strip in found if reach(strip) > TELLING][:SHOWN]
    if not telling:
        st.caption("No knob changes the step time here.")
        return
    most = telling[0]
    chart.draw(
        rows(telling),
        spec(),
        key="every knob",
        title=f"{KNOBS[most.path].label} changes the step most: its longest is {factor(reach(most))} its shortest",
        subtitle=f"Step time over each knob [ms], {len(telling)} of {acting} that act; a dot is your value",
    )


def reach(strip: Strip) -> float:
    """Return how many times as long the longest step over a knob is as the shortest."""
    steps = np.array([stop.seconds for stop in strip.stops] or [nan])
    return float(np.nanmax(steps) / np.nanmin(steps)) if np.isfinite(steps).any() else -inf


def rows(found: list[Strip]) -> pd.DataFrame:
    """Return one row a stop of each strip: knob, nth, level and says, then the columns of `strips.curve`, `place` from 0 to 1."""
    curves = [(strip, strips.curve(strip)) for strip in found]
    frames = [
        frame[frame["product"] == ""].assign(knob=KNOBS[strip.path].label, nth=nth) for nth, (strip, frame) in enumerate(curves)
    ]
    placed = pd.concat([frame.assign(place=frame["place"] / max(len(frame) - 1, 1)) for frame in frames], ignore_index=True)
    most = placed.groupby("knob")["step"].transform("max")
    says = [f"up to {figure(ms, 'ms')}" if at == 1.0 else "" for ms, at in zip(most, placed["place"], strict=True)]
    return placed.assign(level=placed["step"] / most, says=says)


@cache
def spec() -> Spec:
    """A lane a knob, its step time as a line on a scale of its own from zero; needs the columns of `rows`."""
    lane = nominal("knob", sort={"field": "nth", "op": "min"}, axis=axis("", labelFontSize=12, labelLimit=150, domain=False))
    x = quantity("place", axis=None, scale=ending("up to 0.123 ms", 11))
    y = quantity("level", scale={"domain": [0, 1], "range": [LANE - 6, 6]})
    tip = hover(("knob", "Knob"), ("value", "Value"), ("step", "Step time [ms]", ",.4~r"), ("refused", "Cannot run"))
    line = layer({"type": "line", "color": strips.LINE, "strokeWidth": 2}, x=x, yOffset=y, detail=nominal("knob"))
    here = {"size": when("datum.here", 90, 15), "color": when("datum.here", CURVE, strips.LINE)}
    dots = layer({"type": "point", "aria": False, "filled": True, "opacity": 1}, x=x, yOffset=y, tooltip=tip, **here)
    last = {"filter": "datum.says !== ''"}
    text = layer({"type": "text", "align": "left", "dx": GAP, "color": INK}, last, x=x, text={"field": "says"})
    return {**FIT, "height": {"step": LANE, "for": "position"}, "encoding": {"y": lane}, "layer": [line, dots, text]}
