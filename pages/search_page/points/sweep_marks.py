"""The rows that a chart draws of a sweep's table.

A chart has few marks: points are reduced, binned or thinned. `count` is the number of points in a mark.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.scenario.scenario import KNOBS
from pages.search_page.points.sweep_table import POINT, rank_rows, value_text
from pages.ui import numbers

MOST_STEPS = 24  # values of an axis up to which each is drawn; more are put into BINS
BINS = 16
MOST_LINES = 8
MOST_MARKS = 2000
CELLS = (84, 48)  # columns and rows of a scatter's cells; each cell keeps one point a colour
BEST_POINT, MEDIAN = "best", "median"


def steps_of_axis(axis_values: pd.Series, log: bool) -> pd.Series:
    """Return an axis's values, or the middles of bins if there are too many to draw."""
    if not pd.api.types.is_numeric_dtype(axis_values) or axis_values.nunique() <= MOST_STEPS:
        return axis_values
    scaled = np.log(axis_values) if log and axis_values.min() > 0 else axis_values
    edges = np.linspace(scaled.min(), scaled.max(), BINS + 1)
    middle = (edges[:-1] + edges[1:]) / 2
    bin_values = middle[np.clip(np.searchsorted(edges, scaled, side="right") - 1, 0, BINS - 1)]
    axis_steps = np.exp(bin_values) if scaled is not axis_values else bin_values
    rounded = {step: float(f"{step:.3g}") for step in np.unique(axis_steps)}
    return pd.Series([rounded[step] for step in axis_steps.tolist()], index=axis_values.index)


def reduced_places(frame: pd.DataFrame, axis_paths: Sequence[str], metric: str, reduction: str) -> pd.DataFrame:
    """Return one row for each combination of values on one or two axes.

    A row has the metric's best or median, its spread and its count. For either reduction `point` is the best point.
    """
    keys = {name: steps_of_axis(frame[name], KNOBS[name].log) for name in axis_paths}
    order = rank_rows(frame, metric).assign(**keys)
    groups = order.groupby(list(axis_paths), observed=True, sort=True)
    places = groups.agg(
        metric=(metric, "first" if reduction == BEST_POINT else "median"),
        low=(metric, "min"),
        high=(metric, "max"),
        count=(metric, "size"),
        point=(POINT, "first"),
    ).reset_index()
    return places.rename(columns=dict(zip(axis_paths, ("first", "second"), strict=False)))


def heat_map_cells(frame: pd.DataFrame, axis_paths: tuple[str, str], metric: str, reduction: str) -> pd.DataFrame:
    """Return the rows of `reduced_places` for each cell of two axes, in the axes' order.

    Empty cells have rows, too; `best` marks the best cell.
    """
    places = reduced_places(frame, axis_paths, metric, reduction)
    if places.empty:
        return places
    swept = [steps_of_axis(frame[name], KNOBS[name].log) for name in axis_paths]
    ordered_steps = [sorted(axis_steps.unique(), key=_sort_key(axis_steps)) for axis_steps in swept]
    cells = (
        places.set_index(["first", "second"])
        .reindex(pd.MultiIndex.from_product(ordered_steps, names=["first", "second"]))
        .reset_index()
    )
    best_cell = cells["metric"].idxmin() if lower_is_better(metric) else cells["metric"].idxmax()
    return cells.assign(best=cells.index == best_cell).astype({"first": object, "second": object})


def _sort_key(column: pd.Series) -> Callable[[Any], Any]:
    """Return the sort key of a column's values.

    Words have the axis's order, numbers their size.
    """
    return list(column.cat.categories).index if isinstance(column.dtype, pd.CategoricalDtype) else lambda number: number


def limited_lines(line_points: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the rows of at most MOST_LINES values of the second axis, and their full number.

    The values are spread evenly over all values.
    """
    values = sorted(line_points["second"].unique(), key=_sort_key(line_points["second"]))
    if len(values) <= MOST_LINES:
        return line_points, len(values)
    drawn_values = [values[round(position)] for position in np.linspace(0, len(values) - 1, MOST_LINES)]
    return line_points[line_points["second"].isin(drawn_values)], len(values)


def pareto_mask(x: np.ndarray, y: np.ndarray, lower: tuple[bool, bool]) -> np.ndarray:
    """Return a mask of the points that no other point beats in both metrics.

    Equal points are all on the front.
    """
    a, b = (metric_values if low else -metric_values for metric_values, low in zip((x, y), lower, strict=True))
    order = np.lexsort((b, a))
    best_so_far = np.minimum.accumulate(b[order])
    best_before = np.concatenate(([np.inf], best_so_far[:-1]))
    equal_to_previous = np.concatenate(([False], (np.diff(a[order]) == 0) & (np.diff(b[order]) == 0)))
    on_front = b[order] < best_before
    for index in np.flatnonzero(equal_to_previous):
        on_front[index] = on_front[index - 1]
    front_mask = np.zeros(len(a), bool)
    front_mask[order] = on_front
    return front_mask


def lower_is_better(metric: str) -> bool:
    """Return whether a lower value of a metric is better.

    True also for a metric without a better direction.
    """
    return numbers.better_direction(metric) != "higher"


def scatter(frame: pd.DataFrame, x: str, y: str, colour: str, logs: tuple[bool, bool]) -> pd.DataFrame:
    """Return the points of a scatter with the front marked.

    These are all points, or one for each small cell of the chart if there are many.
    The front and both metrics' extremes are always included. `count` is the number of points in a mark's cell.
    """
    known_rows = frame.dropna(subset=[x, y])
    marks = pd.DataFrame({POINT: known_rows[POINT], "x": known_rows[x], "y": known_rows[y]})
    marks["colour"] = steps_of_axis(known_rows[colour], KNOBS[colour].log).map(value_text).astype(str) if colour else ""
    marks["front"] = pareto_mask(marks.x.to_numpy(), marks.y.to_numpy(), (lower_is_better(x), lower_is_better(y)))
    if len(marks) <= MOST_MARKS:
        return marks.assign(count=1)
    room = np.sqrt(marks["colour"].nunique())  # keeps the number of marks, however many colours share a cell
    cells = [_cell_numbers(marks[name].to_numpy(), log, size / room) for name, log, size in zip("xy", logs, CELLS, strict=True)]
    place = marks.groupby([*cells, "colour"], sort=False)["x"]
    marks["count"], is_first = place.transform("size"), place.cumcount().to_numpy() == 0
    ends = [index for name in "xy" for index in (marks[name].idxmin(), marks[name].idxmax())]
    return marks[is_first | marks.front.to_numpy() | marks.index.isin(ends)].reset_index(drop=True)


def colour_words(column: pd.Series) -> tuple[str, ...]:
    """Return the values of a chart's colour column as sorted words."""
    return tuple(value_text(series_value) for series_value in sorted(column.unique(), key=_sort_key(column)))


def _cell_numbers(metric_values: np.ndarray, log: bool, size: float) -> np.ndarray:
    scaled = np.log(metric_values) if log else metric_values
    low, high = scaled.min(), scaled.max()
    cells: np.ndarray = ((scaled - low) / ((high - low) or 1.0) * size).astype(int)
    return cells
