"""Objectives and constraints on columns of points: results, metrics over weeks, numeric knobs."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from ..core.figures import count, exact, figure, percent, with_error
from ..errors import BadInput, nearest_hint
from ..results.metrics import ERRORS, all_metrics
from ..scenario.scenario import KNOBS
from .over_weeks import CAMPAIGN_METRICS

Array = np.ndarray
Columns = Mapping[str, Sequence[float | None] | Array]  # numbers of many points by name; None and NaN are none
MAX_OBJECTIVES = 5
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
DIRECTIONS = {"min": False, "max": True}
BOUND = re.compile(r"([^<>=≤≥]*)(<=|>=|<|>|=|≤|≥)([^<>=≤≥]*)")
COUNT_UNITS = ("", "batches")  # units of results that may be whole things
NUMERIC = ("float", "int")


@dataclass(frozen=True)
class Objective:
    """A column whose number shall be as low as possible, or as high with `highest`."""

    name: str
    highest: bool = False

    def __str__(self) -> str:
        """The objective as `objective` reads it."""
        return self.name if self.highest == _highest(self.name) else f"{self.name}:{'max' if self.highest else 'min'}"

    def losses(self, columns: Columns) -> Array:
        """Return the column with a sign such that smaller is better; NaN without a number."""
        return -float_column(columns, self.name) if self.highest else float_column(columns, self.name)


@dataclass(frozen=True)
class Constraint:
    """A bound on a column, such as "Step time [ms]<=5".

    A point without a number breaks the bound.
    """

    name: str
    sign: str
    bound: float

    def __str__(self) -> str:
        """The constraint as `constraint` reads it."""
        return f"{self.name}{self.sign}{repr(self.bound).removesuffix('.0')}"

    def holds(self, columns: Columns) -> Array:
        """Return for each point whether it keeps the bound."""
        holding: Array = SIGNS[self.sign](float_column(columns, self.name), self.bound)
        return holding

    def excess(self, columns: Columns) -> Array:
        """Return the distance by which each point breaks the bound.

        The distance is 0 for a point that keeps the bound, NaN for a point without a number.
        """
        distance = (float_column(columns, self.name) - self.bound) * (-1 if ">" in self.sign else 1)
        bound_excess: Array = np.where(
            self.holds(columns), 0.0, np.maximum(np.abs(distance) if self.sign == "=" else distance, 1e-12)
        )
        return bound_excess


def read_objective(text: str) -> Objective:
    """Read an objective: a metric or knob with its direction.

    The direction is the metric's own, or given by :min or :max. Raises BadInput.
    """
    name, colon, way = text.strip().rpartition(":")
    if not colon or way not in DIRECTIONS:
        full_name = column_name(text)
        return Objective(full_name, _highest(full_name))
    return Objective(column_name(name), DIRECTIONS[way])


def read_objectives(text: str) -> tuple[Objective, ...]:
    """Read several objectives with commas between them; raises BadInput."""
    parsed_objectives = tuple(read_objective(word) for word in text[:2000].split(","))
    names = [parsed_objective.name for parsed_objective in parsed_objectives]
    if len(set(names)) < len(names) or len(names) > MAX_OBJECTIVES:
        raise BadInput(
            f"The search has {count(len(names), 'objective')} ({', '.join(names)[:200]}); name at most "
            f"{MAX_OBJECTIVES}, all different."
        )
    return parsed_objectives


def read_constraint(text: str) -> Constraint:
    """Read a constraint such as "Step time [ms]<=5"; raises BadInput with a sentence."""
    match = BOUND.fullmatch(text)
    if not match:
        raise BadInput(
            f"The constraint {text[:80]!r} cannot be read; write a result, <= or >=, and a number: 'Step time [ms]<=5'."
        )
    sign = {"≤": "<=", "≥": ">="}.get(match[2], match[2])
    try:
        bound = float(match[3])
    except ValueError:
        bound = float("nan")
    if not isfinite(bound):
        raise BadInput(f"The constraint {text[:80]!r} has the bound {match[3][:40]!r}, which is not a number; write one number.")
    return Constraint(column_name(match[1]), sign, bound)


def column_name(text: str) -> str:
    """Return the full name of a result, or the path of a numeric knob.

    The text may leave out a result's unit. Raises BadInput for an unknown name.
    """
    word = text.strip()
    names = (*(metric.name for metric in all_metrics()), *CAMPAIGN_METRICS)
    full_names = {name.split(" [")[0].lower(): name for name in names} | {name: name for name in names}
    if word in KNOBS and KNOBS[word].kind in NUMERIC:
        return word
    if word in full_names or word.lower() in full_names:
        return full_names.get(word) or full_names[word.lower()]
    hint = nearest_hint(word[:80], names)
    raise BadInput(f"{word[:80]!r} is neither a result nor a numeric knob; {hint}")


def float_column(columns: Columns, name: str) -> Array:
    """Return a column as floats, NaN without a number; an absent column is all NaN."""
    size = len(next(iter(columns.values()), ()))
    column_numbers: Array = np.asarray(columns[name], dtype=float) if name in columns else np.full(size, np.nan)
    return column_numbers


def error_at(columns: Columns, name: str, point: int) -> float | None:
    """Return the standard error of a point's result; None for results without errors.

    NaN for a point without an error.
    """
    error = ERRORS.get(name, "")
    return float(float_column(columns, error)[point]) if error in columns else None


def short_name(name: str) -> str:
    """Return a column's name for sentences: a result without its unit, or a knob's label."""
    return KNOBS[name].label if name in KNOBS else name.split(" [")[0]


def unit_of(name: str) -> str:
    """Return the unit of a result or knob; "" for a column without one."""
    return KNOBS[name].unit if name in KNOBS else name.partition("[")[2].removesuffix("]")


def number_text(name: str, number: float, error: float | None = None) -> str:
    """Return a column's number as text, with its unit or its standard error."""
    unit = unit_of(name)
    if name in ERRORS:
        return with_error(number, error)
    if unit == "%":
        return percent(number / 100)
    is_whole = unit in COUNT_UNITS and number == round(number, 0)
    return exact(number, unit) if is_whole or name in KNOBS else figure(number, unit)


def _highest(name: str) -> bool:
    if name in CAMPAIGN_METRICS:
        return CAMPAIGN_METRICS[name].highest
    return any(metric.name == name and metric.better == "higher" for metric in all_metrics())
