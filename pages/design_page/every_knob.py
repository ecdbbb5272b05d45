"""Small multiples: the step time over each knob that acts here, those that change it most first; a dot is the value in force."""

from functools import cache
from math import inf, nan

import numpy as np
import pandas as pd
import streamlit as st

from engine.core.figures import factor
from engine.insight.knob_strips import Strip
from engine.scenario.scenario import KNOBS, Scenario
from pages.answers import later, question
from pages.design_page import questions, strips
from pages.graphics import chart
from pages.graphics.charts import Spec, hover, nominal, quantity

SHOWN, COLUMNS, TELLING = 20, 5, 1.005  # charts; times by which a knob must change the step to be drawn


def draw(scenario: Scenario) -> None:
    """Draw a chart for each knob that changes the step time, at most SHOWN of them."""
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
    """Return one row a stop of each strip: knob, nth, then the columns of `strips.curve`, `place` from 0 to 1."""
    curves = [(strip, strips.curve(strip)) for strip in found]
    frames = [
        frame[frame["product"] == ""].assign(knob=KNOBS[strip.path].label, nth=nth) for nth, (strip, frame) in enumerate(curves)
    ]
    return pd.concat([frame.assign(place=frame["place"] / max(len(frame) - 1, 1)) for frame in frames], ignore_index=True)


@cache
def spec() -> Spec:
    """A small chart a knob, each on a scale of its own from zero, in their order; needs the columns of `rows`."""
    x = quantity("place", axis=None)
    y = quantity("step", axis={"title": None, "tickCount": 3}, scale={"zero": True})
    tip = hover(("knob", "Knob"), ("value", "Value"), ("step", "Step time [ms]", ",.4~r"), ("refused", "Cannot run"))
    facet = nominal("knob", sort={"field": "nth", "op": "min"}, header={"title": None, "labelFontSize": 12})
    own = {"resolve": {"scale": {"y": "independent"}}}  # one knob may take a thousand times as long as all others
    return {
        **own,
        "facet": facet,
        "columns": COLUMNS,
        "spec": {"width": 190, "height": 90, "layer": [*strips.marked(x, y, tip, 90)]},
    }
