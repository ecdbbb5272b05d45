"""The results of a sweep: the metric over one axis as a line, over two as a heat map, and as a table."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine import knobs
from engine.axes import Axis
from engine.keys import How
from engine.result import Result
from engine.scenario import KNOBS, Scenario, values
from pages.parts import downloads, numbers, sweep_charts

FIRST_METRIC = "Step time [ms]"


def draw(points: Sequence[Scenario], results: Sequence[Result | None], axes: tuple[Axis, ...], how: How) -> None:
    """Draw what is finished of a sweep."""
    done = [result for result in results if result]
    if not done:
        st.caption("No point is finished yet.")
        return
    names = list(dict.fromkeys(name for result in done for name in result.results)) or [FIRST_METRIC]
    metric = st.selectbox("Metric", names, index=names.index(FIRST_METRIC) if FIRST_METRIC in names else 0, key="metric")
    frame = table(points, results, axes)
    shown = _slice(frame, axes[2:])
    st.markdown(f"**{_finding(shown, axes, metric)}**")
    _chart(shown, axes, metric)
    downloads.show(frame)
    downloads.csv(done, how, f"emberpool-sweep-{how}")


def table(points: Sequence[Scenario], results: Sequence[Result | None], axes: tuple[Axis, ...]) -> pd.DataFrame:
    """Return one row a finished point: its place on the axes under their titles, its results, its outcome."""
    rows = []
    for point, result in zip(points, results, strict=True):
        if result:
            place = {title(axis): _place(axis, values(point)[axis.path]) for axis in axes}
            rows.append({**place, **result.results, "Outcome": result.outcome})
    return pd.DataFrame(rows)


def title(axis: Axis) -> str:
    """Return an axis's title, with the knob's unit."""
    return KNOBS[axis.path].title


def _place(axis: Axis, value: object) -> object:
    return value if numeric(axis) else knobs.write(KNOBS[axis.path], value)


def numeric(axis: Axis) -> bool:
    """Whether an axis is a scale of numbers; one with "auto" among them is a list of words."""
    return KNOBS[axis.path].kind in ("float", "int") and None not in axis.values


def _slice(frame: pd.DataFrame, rest: tuple[Axis, ...]) -> pd.DataFrame:
    """Let the visitor fix the third and fourth axis, and return the rows there."""
    for axis in rest:
        name = title(axis)
        options = list(dict.fromkeys(frame[name]))
        at = st.select_slider(f"At {name}", options, key=f"at {axis.path}") if len(options) > 1 else options[0]
        frame = frame[frame[name] == at]
    return frame


def _finding(frame: pd.DataFrame, axes: tuple[Axis, ...], metric: str) -> str:
    known = frame.dropna(subset=[metric]) if metric in frame else frame.iloc[:0]
    if known.empty:
        return "No finished point has this metric."
    best = known[metric].astype(float).idxmin() if numbers.better(metric) != "higher" else known[metric].astype(float).idxmax()
    place = ", ".join(f"{title(axis)} = {known.loc[best, title(axis)]}" for axis in axes)
    equal = int((known[metric] == known.loc[best, metric]).sum()) - 1
    others = f", and at {equal} more" if equal else ""
    word = "Lowest" if numbers.better(metric) == "neither" else "Best"
    return f"{word} {numbers.label(metric)}: {numbers.readable(known.loc[best, metric], numbers.unit(metric))} at {place}{others}"


def _chart(frame: pd.DataFrame, axes: tuple[Axis, ...], metric: str) -> None:
    columns = {title(axis): name for axis, name in zip(axes[:2], ("first", "second"), strict=False)}
    if metric not in frame:
        return
    marks = frame[[*columns, metric]].rename(columns={**columns, metric: "metric"}).astype({"metric": float})
    if len(axes) == 1:
        log = numeric(axes[0]) and KNOBS[axes[0].path].log
        spec = sweep_charts.line(title(axes[0]), metric, numeric(axes[0]), log)
    else:
        spec = sweep_charts.heat_map(title(axes[0]), title(axes[1]), metric)
    st.vega_lite_chart(marks, spec, key="sweep", alt=f"{metric} over {' and '.join(columns)}")
