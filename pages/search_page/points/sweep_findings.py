"""What a sweep says in a sentence: its best point, what that point gains and costs, and which knob matters."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import pandas as pd

from engine.analysis import importance
from engine.analysis.importance import Share
from engine.core.figures import count
from engine.results.metrics import error_of
from engine.results.result import Result
from engine.scenario.scenario import KNOBS
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep
from pages.search_page.points import sweep_table
from pages.search_page.points.sweep_table import COST, POINT
from pages.ui import numbers

LEVEL = 0.01  # of the best: a smaller difference is no reason to buy more


def finding(rows: pd.DataFrame, axes: Sequence[Axis], metric: str, base: Result | None) -> str:
    """Return the best point in a sentence, with its change against the scenario in the sidebar where that is known."""
    found = sweep_table.ranked(rows, metric)
    if found.empty:
        return "No point that passes the filters has this result." if len(rows) else "No point passes the filters."
    best = found.iloc[0]
    equal = int((found[metric] == best[metric]).sum()) - 1
    word = "Lowest" if numbers.better(metric) == "neither" else "Best"
    others = f", and at {count(equal)} more" if equal else ""
    value = numbers.readable(best[metric], numbers.unit(metric), error_of(metric, best.to_dict()))
    return f"{word} {numbers.label(metric)}: {value} at {sweep_table.where(best, axes)}{others}{_against(best, metric, base)}."


def plateaus(rows: pd.DataFrame, axes: Sequence[Axis], metric: str) -> str:
    """Return from which to which value of each number the metric stays within 1 % of its best, the other knobs at theirs.

    "" where it leaves that range with every step.
    """
    best = sweep_table.best(rows, metric)
    if best is None:
        return ""
    ranges = []
    for axis in axes:
        line = rows
        for other in axes:
            line = line if other is axis else line[line[other.path] == best[other.path]]
        if not pd.api.types.is_numeric_dtype(rows[axis.path]) or rows[axis.path].dtype == bool:
            continue
        line = line.dropna(subset=[metric]).sort_values(axis.path)
        level = (line[metric] - best[metric]).abs() <= LEVEL * abs(best[metric])
        place = int((line[axis.path] == best[axis.path]).to_numpy().argmax())
        first, last = place, place
        while first > 0 and level.iloc[first - 1]:
            first -= 1
        while last + 1 < len(line) and level.iloc[last + 1]:
            last += 1
        if first < last:
            low, high = (sweep_table.shown(line[axis.path].iloc[at], axis.path) for at in (first, last))
            ranges.append(f"{KNOBS[axis.path].title} from {low} to {high}")
    return f"Within 1 % of it: {'; '.join(ranges)}." if ranges else ""


def _against(best: "pd.Series", metric: str, base: Result | None) -> str:
    if base is None or not base.ran:
        return ""
    gain = numbers.change(float(best[metric]), base.results.get(metric))
    paid = numbers.change(float(best[COST]), base.results.get(COST)) if COST in best and metric != COST else ""
    at_cost = {"": "", "same": ", for the same capital cost"}.get(paid, f", for {paid} capital cost")
    return f" ({'the same as' if gain == 'same' else gain + ' against'} the scenario in the bar{at_cost})" if gain else ""


@dataclass(frozen=True)
class Known:
    """A metric at each point of a sweep, NaN where it is not known or left out; equal if all their bytes have one digest."""

    digest: bytes
    values: np.ndarray = field(compare=False, repr=False)


def shares(sweep: Sweep, rows: pd.DataFrame, metric: str) -> tuple[Share, ...]:
    """Return how much of a metric's variance each axis explains, the most first, over these rows."""
    if metric not in rows:
        return ()
    values = np.full(len(sweep), np.nan)
    values[rows[POINT].to_numpy()] = rows[metric].to_numpy()
    return _shares(sweep, metric, Known(blake2b(values.tobytes(), digest_size=16).digest(), values))


def among(rows: pd.DataFrame, table: pd.DataFrame) -> str:
    """Return over which rows something is said where filters leave some out; "" over all."""
    return f"among the {count(len(rows))} points that pass the filters" if len(rows) < len(table) else ""


@lru_cache(maxsize=16)
def _shares(sweep: Sweep, metric: str, known: Known) -> tuple[Share, ...]:
    return importance.shares(sweep, known.values)
