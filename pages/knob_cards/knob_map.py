"""Two knobs at once: a small map of step time or energy over the stops of two cards."""

from collections.abc import Mapping
from functools import lru_cache
from math import nan
from typing import Any

import pandas as pd
import streamlit as st

from engine.core.catalog import own_folder
from engine.core.figures import figure
from engine.core.part_files.folder import PartsFolder
from engine.insight.knobs.grid import GridCell, knob_grid
from engine.insight.knobs.strips import Strip, four_digits
from engine.scenario.scenario import KNOBS, Scenario
from engine.units import MS
from pages.graphics import chart, heat_maps

SECTION, FIRST, SECOND, QUANTITY = "two knobs", "two knobs first", "two knobs second", "two knobs quantity"
FIELDS = {"Step time": ("seconds", MS, "Step time [ms]", "ms"), "Energy": ("joules", 1.0, "Energy per batch [J]", "J")}


def draw(scenario: Scenario, strips: Mapping[str, Strip]) -> None:
    """Draw the section, closed at first; its map is estimated once it is open."""
    if len(strips) < 2:
        return
    section = st.expander("Two knobs at once", key=SECTION, on_change="rerun")
    if section.open:
        with section:
            _draw_map(scenario, strips)


def _draw_map(scenario: Scenario, strips: Mapping[str, Strip]) -> None:
    first_column, second_column = st.columns(2)
    with first_column:
        first = _choose("Across", FIRST, list(strips))
    with second_column:
        second = _choose("Down", SECOND, [path for path in strips if path != first])
    name = st.segmented_control(
        "Quantity", [*FIELDS], default="Step time", required=True, key=QUANTITY, label_visibility="collapsed"
    )
    frame = cells(_cached_grid(own_folder(), scenario, strips[first], strips[second]), name)
    field_title, unit = FIELDS[name][2:]
    chart.draw(
        frame,
        heat_maps.heat_map(
            KNOBS[first].title,
            KNOBS[second].title,
            field_title,
            low_is_good=True,
            columns=frame["first"].nunique(),
            orders=(tuple(dict.fromkeys(frame["first"])), tuple(dict.fromkeys(frame["second"]))[::-1]),
        ),
        key="two knobs map",
        title=finding(frame, name, unit, KNOBS[first].label, KNOBS[second].label),
        subtitle=f"{field_title} over {KNOBS[first].label} and {KNOBS[second].label}; framed: the least",
        columns={"first": KNOBS[first].title, "second": KNOBS[second].title, "metric": field_title, "refused": "Cannot run"},
    )


def _choose(label: str, key: str, paths: list[str]) -> str:
    if st.session_state.get(key) not in paths:
        st.session_state[key] = paths[0]
    return str(st.selectbox(label, paths, key=key, format_func=lambda path: KNOBS[path].title))


@lru_cache(maxsize=16)
def _cached_grid(parts: PartsFolder, *arguments: Any) -> tuple[GridCell, ...]:
    """Return the cells, cached by the folder of the user's parts too."""
    return knob_grid(*arguments)


def cells(grid: tuple[GridCell, ...], name: str) -> pd.DataFrame:
    """Return a row for each cell: first, second (text), metric, refused, point, best (of the least metric)."""
    field, scale, *_ = FIELDS[name]
    frame = pd.DataFrame(
        [
            {
                "first": knob_text(cell.first.knob_value),
                "second": knob_text(cell.second.knob_value),
                "metric": nan if cell.both.refused else getattr(cell.both, field) / scale,
                "refused": cell.both.refused,
                "point": number,
            }
            for number, cell in enumerate(grid)
        ]
    )
    return frame.assign(best=frame["metric"] == frame["metric"].min())


def knob_text(knob_value: Any) -> str:
    """Return a knob's value as a short text for an axis."""
    if isinstance(knob_value, bool):
        return "on" if knob_value else "off"
    return four_digits(knob_value) if isinstance(knob_value, int | float) else str(knob_value)


def finding(frame: pd.DataFrame, name: str, unit: str, first: str, second: str) -> str:
    """Return the title: the least metric and where it is."""
    runnable = frame.dropna(subset=["metric"])
    if runnable.empty:
        return "No pair of these values can run"
    best_cell = runnable.loc[runnable["metric"].idxmin()]
    pair = f"{first} {best_cell['first']} and {second} {best_cell['second']}"
    return f"{name} is least, {figure(best_cell['metric'], unit)}, with {pair}"
