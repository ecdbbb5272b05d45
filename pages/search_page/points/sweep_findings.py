"""Findings of a sweep in sentences.

Findings name the best point, that point's gain and cost, and the knobs that matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import pandas as pd

from engine.analysis import importance
from engine.analysis.importance import VarianceShare
from engine.core.figures import count
from engine.results.metrics import error_of
from engine.results.result import Result
from engine.scenario.scenario import KNOBS
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep
from pages.search_page.points import sweep_table
from pages.search_page.points.sweep_table import COST, POINT
from pages.ui import numbers

EQUAL_SHARE = 0.01  # of the best metric: a smaller difference is no reason to buy more


def finding(rows: pd.DataFrame, axes: Sequence[Axis], metric: str, base: Result | None) -> str:
    """Return a sentence on the best point, compared with the scenario of the sidebar if known."""
    ranked_rows = sweep_table.rank_rows(rows, metric)
    if ranked_rows.empty:
        return "No point that passes the filters has this result." if len(rows) else "No point passes the filters."
    best_row = ranked_rows.iloc[0]
    equal = int((ranked_rows[metric] == best_row[metric]).sum()) - 1
    word = "Lowest" if numbers.better_direction(metric) == "neither" else "Best"
    equal_words = f", and at {count(equal, 'more point')}" if equal else ""
    number_text = numbers.result_text(best_row[metric], numbers.unit(metric), error_of(metric, best_row.to_dict()))
    place, change_words = sweep_table.place_text(best_row, axes), _change_words(best_row, metric, base)
    return f"{word} {numbers.label(metric)}: {number_text} at {place}{equal_words}{change_words}."


def plateau_sentence(rows: pd.DataFrame, axes: Sequence[Axis], metric: str) -> str:
    """Return a sentence on the axis values with which the metric stays within 1 % of its best.

    The sentence names this range of each numeric axis, while other knobs have the best point's values. It is "" if each step
    along an axis leaves the range.
    """
    best_row = sweep_table.best_row(rows, metric)
    if best_row is None:
        return ""
    ranges = []
    for axis in axes:
        line = rows
        for other_axis in axes:
            line = line if other_axis is axis else line[line[other_axis.path] == best_row[other_axis.path]]
        if not pd.api.types.is_numeric_dtype(rows[axis.path]) or rows[axis.path].dtype == bool:
            continue
        line = line.dropna(subset=[metric]).sort_values(axis.path)
        level = (line[metric] - best_row[metric]).abs() <= EQUAL_SHARE * abs(best_row[metric])
        place = int((line[axis.path] == best_row[axis.path]).to_numpy().argmax())
        low_index, high_index = place, place
        while low_index > 0 and level.iloc[low_index - 1]:
            low_index -= 1
        while high_index + 1 < len(line) and level.iloc[high_index + 1]:
            high_index += 1
        if low_index < high_index:
            low, high = (sweep_table.value_text(line[axis.path].iloc[index], axis.path) for index in (low_index, high_index))
            ranges.append(f"{KNOBS[axis.path].title} from {low} to {high}")
    return f"Within 1 % of the best: {'; '.join(ranges)}." if ranges else ""


def _change_words(best_row: "pd.Series", metric: str, base: Result | None) -> str:
    if base is None or not base.ran:
        return ""
    gain = numbers.change(float(best_row[metric]), base.results.get(metric))
    paid = numbers.change(float(best_row[COST]), base.results.get(COST)) if COST in best_row and metric != COST else ""
    at_cost = {"": "", "same": ", for the same capital cost"}.get(paid, f", for {paid} capital cost")
    return f" ({'the same as' if gain == 'same' else gain + ' against'} the scenario on top{at_cost})" if gain else ""


@dataclass(frozen=True)
class MetricValues:
    """A metric at each point of a sweep, NaN if unknown or filtered out.

    Two objects are equal if the digests of their bytes are.
    """

    digest: bytes
    numbers: np.ndarray = field(compare=False, repr=False)


def variance_shares(sweep: Sweep, rows: pd.DataFrame, metric: str) -> tuple[VarianceShare, ...]:
    """Return the share of a metric's variance over these rows that each axis explains, largest first."""
    if metric not in rows:
        return ()
    values = np.full(len(sweep), np.nan)
    values[rows[POINT].to_numpy()] = rows[metric].to_numpy()
    return _shares(sweep, metric, MetricValues(blake2b(values.tobytes(), digest_size=16).digest(), values))


def filtered_rows_words(rows: pd.DataFrame, table: pd.DataFrame) -> str:
    """Return a clause on the number of rows that pass the filters, "" if all do."""
    return f"among the {count(len(rows), 'point')} that pass the filters" if len(rows) < len(table) else ""


@lru_cache(maxsize=16)
def _shares(sweep: Sweep, metric: str, metric_values: MetricValues) -> tuple[VarianceShare, ...]:
    return importance.variance_shares(sweep, metric_values.numbers)
