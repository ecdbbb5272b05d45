"""A sweep as a table, a row per point: its place on the axes, its results; filters over it, and the finding it holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.objective import Constraint
from engine.core.arithmetic import mixed
from engine.core.figures import exact, figure
from engine.insight.running_costs import swept_dollars
from engine.scenario import knobs
from engine.scenario.scenario import KNOBS
from engine.store.columns import Columns
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep
from pages.ui import numbers, palette

SIGNS = {"<=": "≤", ">=": "≥"}
POINT, OUTCOME, NOTE = "point", "Outcome", "note"
COST = "Capital cost [USD]"


@dataclass(frozen=True)
class Words:
    """A filter that keeps the rows whose column `name` is one of `words`."""

    name: str
    words: tuple[str, ...]


def said(limit: Constraint | Words) -> str:
    """Return a filter as it is read on the page."""
    if isinstance(limit, Words):
        return f"{title(limit.name)}: {', '.join(limit.words) or 'none'}"
    return f"{title(limit.name)} {SIGNS.get(limit.sign, limit.sign)} {figure(limit.bound)}"


def title(name: str) -> str:
    """Return the title of a column: a knob's with its unit, or a metric's name, which has it already."""
    return KNOBS[name].title if name in KNOBS else name


def money(sweep: Sweep) -> str:
    """Return the unit of prices over a sweep's points, with their year."""
    return swept_dollars(sweep.base, [axis.path for axis in sweep.axes], sweep.settings)


def unit(name: str, sweep: Sweep) -> str:
    """Return the unit of a result; dollars say their year."""
    return money(sweep) if name == COST else numbers.unit(name)


def numeric(axis: Axis) -> bool:
    """Whether an axis is a scale of numbers; one with "auto" or values per table among them is a list of words."""
    return KNOBS[axis.path].kind in ("float", "int") and not any(one is None or isinstance(one, tuple) for one in axis.values)


def of_all(sweep: Sweep) -> pd.DataFrame:
    """Return where each point of a sweep lies."""
    return places(sweep.axes, [sweep.place(at) for at in range(len(sweep))])


def places(axes: Sequence[Axis], points: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return where each point lies: numbers on numeric axes, elsewhere words in the order of the axis."""
    frame = pd.DataFrame({POINT: np.arange(len(points))})
    for axis in axes:
        found = [place[axis.path] for place in points]
        if numeric(axis):
            frame[axis.path] = np.array(found, float)
        else:
            words = {value: knobs.write(KNOBS[axis.path], value) for value in (*axis.values, *found)}
            frame[axis.path] = pd.Categorical(
                [words[value] for value in found], list(dict.fromkeys(words.values())), ordered=True
            )
    return frame


def joined(where: pd.DataFrame, found: Columns) -> pd.DataFrame:
    """Return the finished points with their places, results and outcome, in the order of the sweep, and a note about all."""
    done = np.flatnonzero(found.state)
    why = {OUTCOME: [found.reasons.get(at, "") for at in done.tolist()]}
    known = {name: held[done] for name, held in found.metrics.items()}
    frame = pd.concat([where.iloc[done], pd.DataFrame({**known, **why}, index=where.index[done])], axis=1)
    frame.attrs[NOTE] = mixed(found.kernels)
    return frame


def metric_names(frame: pd.DataFrame) -> list[str]:
    """Return the metrics that any row has, in the order in which results list them."""
    return [name for name in frame.columns if name not in KNOBS and name not in (POINT, OUTCOME)]


def differing(frame: pd.DataFrame) -> list[str]:
    """Return the metrics that are not the same everywhere."""
    return [name for name in metric_names(frame) if frame[name].nunique() > 1]


def kept(frame: pd.DataFrame, limits: Sequence[Constraint | Words]) -> pd.DataFrame:
    """Return the rows that meet every filter; a row without the number meets none."""
    for limit in limits:
        if isinstance(limit, Words):
            frame = frame[frame[limit.name].astype(str).isin(limit.words)] if limit.name in frame else frame
        elif limit.name in frame:
            frame = frame[limit.holds({limit.name: frame[limit.name].to_numpy()})]
        else:
            frame = frame.iloc[:0]
    return frame


def ranked(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows that have the metric, best first, the cheapest of equals first, then in the order of the sweep."""
    if metric not in frame:
        return frame.iloc[:0]
    sign = -1.0 if numbers.better(metric) == "higher" else 1.0
    costs = [frame[COST].to_numpy()] if COST in frame else []  # none where no point has a price
    order = np.lexsort([frame[POINT].to_numpy(), *costs, sign * frame[metric].to_numpy()])
    return frame.iloc[order].dropna(subset=[metric])


def best(frame: pd.DataFrame, metric: str) -> pd.Series | None:
    """Return the best row, or None where none has the metric."""
    found = ranked(frame, metric)
    return None if found.empty else found.iloc[0]


def where(row: pd.Series, axes: Sequence[Axis]) -> str:
    """Return a point's place in words, numbers in at most five digits: CXL bandwidth [GB/s] = 8, Training system = CXL."""
    return ", ".join(f"{KNOBS[axis.path].title} = {shown(row[axis.path], axis.path)}" for axis in axes)


def shown(value: object, path: str = "") -> str:
    """Return the value of the knob at `path` as a sentence says it."""
    if path == "system":
        return palette.system_titles().get(str(value), str(value))
    return exact(float(f"{value:.5g}")) if isinstance(value, float) else str(value)
