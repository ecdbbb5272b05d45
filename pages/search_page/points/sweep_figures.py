"""Figures of a sweep as values.

The page, the saved picture and the report draw the same figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from engine.analysis.importance import VarianceShare
from engine.core.figures import count
from engine.scenario.scenario import KNOBS
from engine.sweep.axes import Axis
from pages.graphics import heat_maps
from pages.graphics.charts import Spec
from pages.graphics.log_axes import wants_log
from pages.search_page.points import sweep_charts, sweep_marks, sweep_parallel, sweep_table
from pages.search_page.points.sweep_marks import lower_is_better
from pages.search_page.points.sweep_parallel import Scale
from pages.search_page.points.sweep_table import COST, title
from pages.ui import numbers

TRADE_METRICS = (COST, "Energy per batch [J]", "Step time [ms]")  # the results that users most often reduce
LARGE_DOT_POINTS = 500  # points up to which each is a large dot


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of a sweep.

    spec: the chart's specification.
    marks: the rows that it draws.
    alt: the text for screen readers.
    note: a hint for the reader.
    """

    spec: Spec
    marks: pd.DataFrame
    alt: str
    note: str = ""


def heat_map(rows: pd.DataFrame, axes: tuple[Axis, Axis], metric: str, reduction: str, spread: bool) -> Figure:
    """Return a heat map of the metric over two axes.

    Points that differ in other knobs are reduced to their best or median.
    """
    first_axis, second_axis = axes
    cells = sweep_marks.heat_map_cells(rows, (first_axis.path, second_axis.path), metric, reduction)
    log = wants_log(cells["metric"])
    spec = heat_maps.heat_map(
        title(first_axis.path),
        title(second_axis.path),
        metric,
        low_is_good=lower_is_better(metric),
        log=log,
        columns=cells["first"].nunique() if len(cells) else 1,
        spread=spread,
        orders=(tuple(dict.fromkeys(cells["first"])), tuple(dict.fromkeys(cells["second"]))) if len(cells) else ((), ()),
    )
    note = "The frame marks the best cell; a stronger colour is a better result."
    note += " Empty cells have no finished point with this result." if cells["metric"].isna().any() else ""
    return Figure(spec, cells, f"{metric} over {title(first_axis.path)} and {title(second_axis.path)}", note)


def lines(rows: pd.DataFrame, axes: Sequence[Axis], metric: str, reduction: str) -> Figure:
    """Return lines of the metric over one axis, one line for each value of a second axis.

    Points that differ in other knobs are reduced to their best or median.
    """
    first_axis, *rest = axes
    line_points, line_count = sweep_marks.reduced_places(rows, [axis.path for axis in axes], metric, reduction), 0
    series: tuple[str, ...] = ()
    if rest and len(line_points):
        line_points, line_count = sweep_marks.limited_lines(line_points)
        series = sweep_marks.colour_words(line_points["second"])
        line_points = line_points.assign(second=line_points["second"].map(sweep_table.value_text).astype(str))
    numeric = sweep_table.numeric(first_axis)
    second_title = title(rest[0].path) if rest else ""
    log = wants_log(line_points["metric"])
    words = () if numeric else tuple(map(str, dict.fromkeys(line_points["first"])))
    log_x = numeric and KNOBS[first_axis.path].log and wants_log(line_points["first"])
    spec = sweep_charts.lines(title(first_axis.path), metric, numeric, log_x, second_title, series, log, words)
    thinned = (
        f"The chart has {len(series)} of {count(line_count, 'line')}, evenly chosen; the table and the files have all. "
        if line_count > len(series)
        else ""
    )
    band = "Bands reach from the lowest to the highest result over the other knobs." if line_points["count"].max() > 1 else ""
    return Figure(spec, line_points, f"{metric} over {title(first_axis.path)}", thinned + band)


def pareto(rows: pd.DataFrame, x: str, y: str, colour: str) -> Figure:
    """Return a scatter of two metrics with its Pareto front."""
    logs = (wants_log(rows[x]), wants_log(rows[y]))
    marks = sweep_marks.scatter(rows, x, y, colour, logs)
    series = sweep_marks.colour_words(sweep_marks.steps_of_axis(rows[colour], KNOBS[colour].log)) if colour else ()
    painted = title(colour) if colour else ""
    known_count = int(rows[[x, y]].notna().all(axis=1).sum())
    dense = len(marks) < known_count
    spec = sweep_charts.scatter(x, y, logs, painted, series, len(marks) <= LARGE_DOT_POINTS, lower_is_better(x), dense)
    places = "points too close to tell apart share a mark, darker for more points"
    thinned = f"{count(len(marks), 'mark')} stand for {count(known_count, 'point')}: {places}. The front is complete."
    return Figure(spec, marks, f"{y} against {x}, with the Pareto front", thinned if dense else "")


def trade_pair(rows: pd.DataFrame, metric: str) -> tuple[str, str] | None:
    """Return the two results for the first Pareto chart; None if fewer than two differ."""
    names = sweep_table.differing_metrics(rows)
    if len(names) < 2:
        return None
    first_metric = metric if metric in names else names[0]
    return first_metric, next(
        (name for name in TRADE_METRICS if name in names and name != first_metric), next(n for n in names if n != first_metric)
    )


def parallel(rows: pd.DataFrame, names: Sequence[str], metric: str) -> tuple[Figure, list[Scale]]:
    """Return parallel coordinates of the named columns, and their scales.

    The scales turn a box that the visitor drags into filters.
    """
    scales = [sweep_parallel.scale(rows, name) for name in names]
    marks = sweep_parallel.marks(rows, scales, metric)
    spec = sweep_parallel.spec(tuple(title(name) for name in names), metric, sweep_parallel.first_length(marks))
    best_count = min(sweep_parallel.MOST_LINES, len(rows))
    note = (
        f"Grey: all {count(len(rows), 'point')}, wider for more points. Lines: the best "
        f"{count(best_count, 'point')}, the best is darkest."
    )
    return Figure(spec, marks, "Paths of the points over knobs and results", note), scales


def importance_figure(shares: Sequence[VarianceShare], metric: str) -> Figure:
    """Return bars of the share of the metric's variance that each knob explains."""
    bars = pd.DataFrame(
        [
            {
                "name": title(share.path),
                "share": 100 * share.alone_share,
                "low": 100 * share.low,
                "high": 100 * (share.total or share.high),
            }
            for share in shares
        ]
    )
    totals_known = all(share.total is not None for share in shares)
    lines = "the share together with other knobs" if totals_known else "the 95 % interval of the share"
    spec = sweep_charts.importance_bars(f"Share of the variance of {numbers.label(metric).lower()} [%]")
    return Figure(
        spec, bars, "Share of the differences that each knob explains", f"Bars: the share of a knob alone. Lines: {lines}."
    )
