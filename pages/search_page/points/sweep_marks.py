"""From the table of a sweep to the few rows that a chart draws: reduced, binned or thinned, and saying so."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.scenario.scenario import KNOBS
from pages.search_page.points.sweep_table import POINT, ranked, shown
from pages.ui import numbers

MOST_STEPS = 24  # values of an axis that are drawn singly; more are put into BINS
BINS = 16
MOST_LINES = 8
MOST_MARKS = 2000
CELLS = (84, 48)  # places of a scatter that can be told apart; each keeps one point of each colour
BEST, MEDIAN = "best", "median"


def steps(held: pd.Series, log: bool) -> pd.Series:
    """Return an axis's values, or the middles of bins where there are too many to draw."""
    if not pd.api.types.is_numeric_dtype(held) or held.nunique() <= MOST_STEPS:
        return held
    scaled = np.log(held) if log and held.min() > 0 else held
    edges = np.linspace(scaled.min(), scaled.max(), BINS + 1)
    middle = (edges[:-1] + edges[1:]) / 2
    found = middle[np.clip(np.searchsorted(edges, scaled, side="right") - 1, 0, BINS - 1)]
    shown = np.exp(found) if scaled is not held else found
    rounded = {one: float(f"{one:.3g}") for one in np.unique(shown)}
    return pd.Series([rounded[one] for one in shown.tolist()], index=held.index)


def reduced(frame: pd.DataFrame, by: Sequence[str], metric: str, how: str) -> pd.DataFrame:
    """Return one row for each place on the axes `by`: the metric at its best or its median, its spread and count.

    `point` is the best point of the place, whichever way the metric was reduced. Needs at most two axes.
    """
    keys = {name: steps(frame[name], KNOBS[name].log) for name in by}
    order = ranked(frame, metric).assign(**keys)
    groups = order.groupby(list(by), observed=True, sort=True)
    found = groups.agg(
        metric=(metric, "first" if how == BEST else "median"),
        low=(metric, "min"),
        high=(metric, "max"),
        count=(metric, "size"),
        point=(POINT, "first"),
    ).reset_index()
    return found.rename(columns=dict(zip(by, ("first", "second"), strict=False)))


def grid(frame: pd.DataFrame, by: tuple[str, str], metric: str, how: str) -> pd.DataFrame:
    """Return `reduced` with a row for each cell, empty ones too so that both axes keep their order; `best` marks the best."""
    found = reduced(frame, by, metric, how)
    if found.empty:
        return found
    swept = [steps(frame[name], KNOBS[name].log) for name in by]
    every = [sorted(held.unique(), key=_order(held)) for held in swept]
    whole = (
        found.set_index(["first", "second"]).reindex(pd.MultiIndex.from_product(every, names=["first", "second"])).reset_index()
    )
    at = whole["metric"].idxmin() if lower_is_better(metric) else whole["metric"].idxmax()
    return whole.assign(best=whole.index == at).astype({"first": object, "second": object})


def _order(held: pd.Series) -> Callable[[Any], Any]:
    """Return the order of a column's values: that of its axis for words, by size for numbers."""
    return list(held.cat.categories).index if isinstance(held.dtype, pd.CategoricalDtype) else lambda value: value


def few_lines(found: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Keep at most MOST_LINES values of the second axis, evenly chosen, and return how many there were."""
    values = sorted(found["second"].unique(), key=_order(found["second"]))
    if len(values) <= MOST_LINES:
        return found, len(values)
    chosen = [values[round(at)] for at in np.linspace(0, len(values) - 1, MOST_LINES)]
    return found[found["second"].isin(chosen)], len(values)


def front(x: np.ndarray, y: np.ndarray, lower: tuple[bool, bool]) -> np.ndarray:
    """Return which points no other beats in both; of points that are equal in both, each is on the front."""
    a, b = (held if low else -held for held, low in zip((x, y), lower, strict=True))
    order = np.lexsort((b, a))
    best = np.minimum.accumulate(b[order])
    before = np.concatenate(([np.inf], best[:-1]))
    same = np.concatenate(([False], (np.diff(a[order]) == 0) & (np.diff(b[order]) == 0)))
    on = b[order] < before
    for at in np.flatnonzero(same):
        on[at] = on[at - 1]
    found = np.zeros(len(a), bool)
    found[order] = on
    return found


def lower_is_better(metric: str) -> bool:
    """Whether less of a metric is better; of one that is neither, less is taken to be."""
    return numbers.better(metric) != "higher"


def scatter(frame: pd.DataFrame, x: str, y: str, colour: str, logs: tuple[bool, bool]) -> pd.DataFrame:
    """Return the points of a scatter with the front marked: all of them, or one for each place that the eye can tell.

    The front and the lowest and highest of both metrics are never left out. `count` is how many a place stands for.
    """
    known = frame.dropna(subset=[x, y])
    marks = pd.DataFrame({POINT: known[POINT], "x": known[x], "y": known[y]})
    marks["colour"] = steps(known[colour], KNOBS[colour].log).map(shown).astype(str) if colour else ""
    marks["front"] = front(marks.x.to_numpy(), marks.y.to_numpy(), (lower_is_better(x), lower_is_better(y)))
    if len(marks) <= MOST_MARKS:
        return marks.assign(count=1)
    room = np.sqrt(marks["colour"].nunique())  # as many marks in all, however many colours share a place
    cells = [_cell(marks[name].to_numpy(), log, size / room) for name, log, size in zip("xy", logs, CELLS, strict=True)]
    place = marks.groupby([*cells, "colour"], sort=False)["x"]
    marks["count"], first = place.transform("size"), place.cumcount().to_numpy() == 0
    ends = [at for name in "xy" for at in (marks[name].idxmin(), marks[name].idxmax())]
    return marks[first | marks.front.to_numpy() | marks.index.isin(ends)].reset_index(drop=True)


def series(held: pd.Series) -> tuple[str, ...]:
    """Return the values of a column that gives a chart its colours, as words in their own order."""
    return tuple(shown(value) for value in sorted(held.unique(), key=_order(held)))


def _cell(held: np.ndarray, log: bool, size: float) -> np.ndarray:
    scaled = np.log(held) if log else held
    low, high = scaled.min(), scaled.max()
    cells: np.ndarray = ((scaled - low) / ((high - low) or 1.0) * size).astype(int)
    return cells
