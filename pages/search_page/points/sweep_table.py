"""The table of a sweep with a row for each point, and its filters.

A row has the point's values on the axes, its results and its outcome.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.objective import Constraint
from engine.core.arithmetic import mixed_kernels_note
from engine.core.figures import exact, figure
from engine.insight.running_costs import swept_price_unit
from engine.scenario import knobs
from engine.scenario.scenario import KNOBS
from engine.store.metric_columns import Columns
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep
from pages.ui import numbers, palette

SIGNS = {"<=": "≤", ">=": "≥"}
POINT, OUTCOME, NOTE = "point", "Outcome", "note"
COST = "Capital cost [USD]"


@dataclass(frozen=True)
class FilterWords:
    """A filter that keeps the rows whose column `name` is one of `words`."""

    name: str
    words: tuple[str, ...]


def filter_text(limit: Constraint | FilterWords) -> str:
    """Return a filter as text for the page."""
    if isinstance(limit, FilterWords):
        return f"{title(limit.name)}: {', '.join(limit.words) or 'none'}"
    return f"{title(limit.name)} {SIGNS.get(limit.sign, limit.sign)} {figure(limit.bound)}"


def title(name: str) -> str:
    """Return a column's title with its unit: a knob's title, or a metric's name."""
    return KNOBS[name].title if name in KNOBS else name


def money(sweep: Sweep) -> str:
    """Return the unit of prices over a sweep's points, with the year of the dollars."""
    return swept_price_unit(sweep.base, [axis.path for axis in sweep.axes], sweep.settings)


def unit(name: str, sweep: Sweep) -> str:
    """Return the unit of a result, for prices with the year of the dollars."""
    return money(sweep) if name == COST else numbers.unit(name)


def numeric(axis: Axis) -> bool:
    """Return whether an axis is a scale of numbers.

    An axis that includes "auto", or values per table, is a list of words.
    """
    return KNOBS[axis.path].kind in ("float", "int") and not any(
        axis_value is None or isinstance(axis_value, tuple) for axis_value in axis.values
    )


def sweep_places(sweep: Sweep) -> pd.DataFrame:
    """Return the values of each point of a sweep on its axes."""
    return places(sweep.axes, [sweep.place(point) for point in range(len(sweep))])


def places(axes: Sequence[Axis], points: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return each point's values on the axes: numbers, or words in the order of the axis."""
    frame = pd.DataFrame({POINT: np.arange(len(points))})
    for axis in axes:
        axis_values = [place[axis.path] for place in points]
        if numeric(axis):
            frame[axis.path] = np.array(axis_values, float)
        else:
            words = {axis_value: knobs.write(KNOBS[axis.path], axis_value) for axis_value in (*axis.values, *axis_values)}
            frame[axis.path] = pd.Categorical(
                [words[axis_value] for axis_value in axis_values], list(dict.fromkeys(words.values())), ordered=True
            )
    return frame


def finished_table(point_places: pd.DataFrame, finished_columns: Columns) -> pd.DataFrame:
    """Return the finished points in the order of the sweep.

    Columns are the axes, results and outcome; the note is in `attrs`.
    """
    finished_points = np.flatnonzero(finished_columns.state)
    outcomes = {OUTCOME: [finished_columns.reasons.get(point, "") for point in finished_points.tolist()]}
    metrics = {name: metric_values[finished_points] for name, metric_values in finished_columns.metrics.items()}
    frame = pd.concat(
        [point_places.iloc[finished_points], pd.DataFrame({**metrics, **outcomes}, index=point_places.index[finished_points])],
        axis=1,
    )
    frame.attrs[NOTE] = mixed_kernels_note(finished_columns.kernels)
    return frame


def metric_names(frame: pd.DataFrame) -> list[str]:
    """Return the metrics that any row has, in the order of results."""
    return [name for name in frame.columns if name not in KNOBS and name not in (POINT, OUTCOME)]


def differing_metrics(frame: pd.DataFrame) -> list[str]:
    """Return the metrics that differ between rows."""
    return [name for name in metric_names(frame) if frame[name].nunique() > 1]


def filtered_rows(frame: pd.DataFrame, limits: Sequence[Constraint | FilterWords]) -> pd.DataFrame:
    """Return the rows that meet every filter.

    A row without a number meets no bound on that number.
    """
    for limit in limits:
        if isinstance(limit, FilterWords):
            frame = frame[frame[limit.name].astype(str).isin(limit.words)] if limit.name in frame else frame
        elif limit.name in frame:
            frame = frame[limit.holds({limit.name: frame[limit.name].to_numpy()})]
        else:
            frame = frame.iloc[:0]
    return frame


def rank_rows(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows that have the metric, the best first.

    Equal rows are ordered by cost, then by their order in the sweep.
    """
    if metric not in frame:
        return frame.iloc[:0]
    sign = -1.0 if numbers.better_direction(metric) == "higher" else 1.0
    costs = [frame[COST].to_numpy()] if COST in frame else []  # empty if no point has a price
    order = np.lexsort([frame[POINT].to_numpy(), *costs, sign * frame[metric].to_numpy()])
    return frame.iloc[order].dropna(subset=[metric])


def best_row(frame: pd.DataFrame, metric: str) -> pd.Series | None:
    """Return the best row, None if no row has the metric."""
    ranked_rows = rank_rows(frame, metric)
    return None if ranked_rows.empty else ranked_rows.iloc[0]


def place_text(row: pd.Series, axes: Sequence[Axis]) -> str:
    """Return a point's values on the axes as text.

    An example is "CXL bandwidth [GB/s] = 8, Training system = CXL"; numbers have at most five digits.
    """
    return ", ".join(f"{KNOBS[axis.path].title} = {value_text(row[axis.path], axis.path)}" for axis in axes)


def value_text(knob_value: object, path: str = "") -> str:
    """Return a knob's value as text; numbers have at most five digits."""
    if path == "system":
        return palette.system_titles().get(str(knob_value), str(knob_value))
    return exact(float(f"{knob_value:.5g}")) if isinstance(knob_value, float) else str(knob_value)
