"""Figures of a sweep: what a view draws as one value, so that the page, a picture and the report show the same."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from engine.analysis.importance import Share
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

TRADED = (COST, "Energy per batch [J]", "Step time [ms]")  # what most often is wanted less of
FEW = 500  # points that can each be a large dot


@dataclass(frozen=True, eq=False)
class Figure:
    """A specification, the rows it draws, what it shows in words, and what to know about it."""

    spec: Spec
    marks: pd.DataFrame
    alt: str
    note: str = ""


def heat_map(rows: pd.DataFrame, axes: tuple[Axis, Axis], metric: str, how: str, spread: bool) -> Figure:
    """The metric over two axes, other knobs reduced."""
    first, second = axes
    found = sweep_marks.grid(rows, (first.path, second.path), metric, how)
    log = wants_log(found["metric"])
    spec = heat_maps.heat_map(
        title(first.path),
        title(second.path),
        metric,
        low_is_good=lower_is_better(metric),
        log=log,
        columns=found["first"].nunique() if len(found) else 1,
        spread=spread,
        orders=(tuple(dict.fromkeys(found["first"])), tuple(dict.fromkeys(found["second"]))) if len(found) else ((), ()),
    )
    note = "The frame marks the best cell; a strong colour is a good one."
    note += " Empty cells have no finished point with this result." if found["metric"].isna().any() else ""
    return Figure(spec, found, f"{metric} over {title(first.path)} and {title(second.path)}", note)


def lines(rows: pd.DataFrame, axes: Sequence[Axis], metric: str, how: str) -> Figure:
    """The metric over one axis, a line for each value of a second one if there is one, other knobs reduced."""
    first, *rest = axes
    found, many = sweep_marks.reduced(rows, [axis.path for axis in axes], metric, how), 0
    series: tuple[str, ...] = ()
    if rest and len(found):
        found, many = sweep_marks.few_lines(found)
        series = sweep_marks.series(found["second"])
        found = found.assign(second=found["second"].map(sweep_table.shown).astype(str))
    numeric = sweep_table.numeric(first)
    named = title(rest[0].path) if rest else ""
    log = wants_log(found["metric"])
    words = () if numeric else tuple(map(str, dict.fromkeys(found["first"])))
    log_x = numeric and KNOBS[first.path].log and wants_log(found["first"])
    spec = sweep_charts.lines(title(first.path), metric, numeric, log_x, named, series, log, words)
    thinned = f"{len(series)} of {many} lines, evenly chosen; all are in the table and the files. " if many > len(series) else ""
    band = "Bands reach from the lowest to the highest point of the other knobs." if found["count"].max() > 1 else ""
    return Figure(spec, found, f"{metric} over {title(first.path)}", thinned + band)


def pareto(rows: pd.DataFrame, x: str, y: str, colour: str) -> Figure:
    """Two metrics against each other, the front drawn."""
    logs = (wants_log(rows[x]), wants_log(rows[y]))
    marks = sweep_marks.scatter(rows, x, y, colour, logs)
    series = sweep_marks.series(sweep_marks.steps(rows[colour], KNOBS[colour].log)) if colour else ()
    painted = title(colour) if colour else ""
    known = int(rows[[x, y]].notna().all(axis=1).sum())
    dense = len(marks) < known
    spec = sweep_charts.scatter(x, y, logs, painted, series, len(marks) <= FEW, lower_is_better(x), dense)
    places = "one mark for each place that the eye can tell, darker for more points"
    thinned = f"All {count(known)} points as {count(len(marks))} marks: {places}, and the whole front."
    return Figure(spec, marks, f"{y} against {x}, the Pareto front drawn", thinned if dense else "")


def traded(rows: pd.DataFrame, metric: str) -> tuple[str, str] | None:
    """Return the two results whose front is worth looking at first, or None where fewer than two differ."""
    names = sweep_table.differing(rows)
    if len(names) < 2:
        return None
    first = metric if metric in names else names[0]
    return first, next((name for name in TRADED if name in names and name != first), next(n for n in names if n != first))


def parallel(rows: pd.DataFrame, names: Sequence[str], metric: str) -> tuple[Figure, list[Scale]]:
    """Every named column as a vertical scale; also returns the scales, to read a box over them."""
    scales = [sweep_parallel.scale(rows, name) for name in names]
    marks = sweep_parallel.marks(rows, scales, metric)
    spec = sweep_parallel.spec(tuple(title(name) for name in names), metric, sweep_parallel.first_length(marks))
    best = min(sweep_parallel.MOST_LINES, len(rows))
    note = f"Grey: where all {count(len(rows))} points run, wider for more. Lines: the best {best}, darkest first."
    return Figure(spec, marks, "Where the points run between knobs and results", note), scales


def matters(shares: Sequence[Share], metric: str) -> Figure:
    """How much of the metric's variance each knob explains."""
    bars = pd.DataFrame(
        [
            {"name": title(one.path), "share": 100 * one.alone, "low": 100 * one.low, "high": 100 * (one.total or one.high)}
            for one in shares
        ]
    )
    whole = all(one.total is not None for one in shares)
    lines = "reach to what it explains together with others" if whole else "hold it in 95 of 100 samples"
    spec = sweep_charts.matters(f"Share of the variance of {numbers.label(metric).lower()} [%]")
    return Figure(
        spec, bars, "How much of the differences each knob explains", f"Bars: what a knob explains alone. Lines {lines}."
    )
