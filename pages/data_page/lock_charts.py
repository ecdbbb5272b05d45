"""The chart of rows that a cache with locked sets refuses, by the cache's size."""

from functools import partial

import pandas as pd
import streamlit as st

from engine.insight.memory.cache_locks import LockPoint, finding, has_locked_sets, lock_curve
from engine.scenario.scenario import Scenario
from pages.answers import later
from pages.data_page import workload_charts
from pages.graphics import chart
from pages.graphics.log_axes import log_ticks

SIZE, SHARE = "Cache size [GB]", "Share of a batch's unique rows [%]"
MISSING_ROWS, REFUSED_ROWS = "missing", "refused"


def draw(scenario: Scenario) -> None:
    """Draw the chart if the system locks rows of its cache."""
    if has_locked_sets(scenario):
        later.draw_when_known("Computing which rows find their set locked", partial(_draw_points, scenario), lock_curve, scenario)


def _draw_points(scenario: Scenario, points: tuple[LockPoint, ...]) -> None:
    frame = rows(scenario, points)
    chart.draw(
        frame,
        workload_charts.lines(SIZE, SHARE, (MISSING_ROWS, REFUSED_ROWS), ticks=log_ticks(frame["x"])),
        key="locks",
        title=finding(scenario, points),
        subtitle=f"{SHARE} by cache size; dashed: this cache. Rows of the batch in training and of the next batch are locked",
        columns={"x": SIZE, "y": SHARE, "name": "Rows"},
    )
    st.caption("A refused row stays in host memory: its lookup reads it there, and its update reads and writes it there.")


def rows(scenario: Scenario, points: tuple[LockPoint, ...]) -> pd.DataFrame:
    """Return the rows to draw: missing and refused by size, and the scenario's size."""
    shares = [(MISSING_ROWS, point.gigabytes, 100 * point.missed) for point in points]
    shares += [(REFUSED_ROWS, point.gigabytes, 100 * point.refused) for point in points]
    scenario_size = scenario.policy.cache_load_factor * points[0].gigabytes / points[0].share
    low, high = points[0].gigabytes, points[-1].gigabytes
    shares += [("", scenario_size, 0.0)] if low <= scenario_size <= high else []
    return pd.DataFrame(
        [{"name": name, "x": x, "y": y, "share": None} for name, x, y in shares], columns=["name", "x", "y", "share"]
    )
