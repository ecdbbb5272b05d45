"""The choice of a point: the cheapest of the points that meet all bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.figures import count, exact
from .objective import Array, Columns, Constraint, Objective, error_at, float_column, number_text, short_name, unit_of

COST = "Capital cost [USD]"


@dataclass(frozen=True)
class Choice:
    """The chosen point and the answer as a sentence.

    index: the point's index in the columns; None if no point keeps the bounds.
    """

    index: int | None
    sentence: str


def keeps_bounds(columns: Columns, constraints: Sequence[Constraint]) -> Array:
    """Return for each point whether it keeps every bound; True without bounds."""
    size = len(next(iter(columns.values()), ()))
    feasible: Array = np.logical_and.reduce(
        [np.ones(size, dtype=bool), *(constraint.holds(columns) for constraint in constraints)]
    )
    return feasible


def cheapest(columns: Columns, constraints: Sequence[Constraint], cost: str = COST) -> Choice:
    """Return the cheapest point that keeps every bound.

    Of equally cheap points, the one that is best in the first bound's column is chosen, then in the second's, and so on.
    """
    feasible = keeps_bounds(columns, constraints) & np.isfinite(float_column(columns, cost))
    num_points = len(feasible)
    if not feasible.any():
        return Choice(None, _no_choice_sentence(columns, constraints, num_points))
    losses = [Objective(constraint.name, ">" in constraint.sign).losses(columns) for constraint in constraints]
    order = np.lexsort([*reversed(losses), float_column(columns, cost)])
    cheapest_point = int(order[feasible[order]][0])
    bounds_text = ", ".join(_bound_text(constraint) for constraint in constraints) or f"a {short_name(cost).lower()}"
    price = number_text(cost, float(float_column(columns, cost)[cheapest_point]))
    unpriced = int((keeps_bounds(columns, constraints) & ~np.isfinite(float_column(columns, cost))).sum())
    unpriced_note = f" {count(unpriced)} more have no price and are left out." if unpriced else ""
    return Choice(
        cheapest_point,
        f"{count(int(feasible.sum()))} of {count(num_points, 'point')} have {bounds_text}; the cheapest costs "
        f"{price}.{unpriced_note}",
    )


def _no_choice_sentence(columns: Columns, constraints: Sequence[Constraint], num_points: int) -> str:
    """Return a sentence on a bound that no point keeps, or on all bounds together."""
    for constraint in constraints:
        column_numbers = float_column(columns, constraint.name)
        if not np.isfinite(column_numbers).any():
            return (
                f"None of {count(num_points, 'point')} has a value of {short_name(constraint.name).lower()}, so none can "
                f"meet the bound {constraint}."
            )
        if not constraint.holds(columns).any():
            nearest_point = int(np.nanargmin(constraint.excess(columns)))
            number = number_text(
                constraint.name, float(column_numbers[nearest_point]), error_at(columns, constraint.name, nearest_point)
            )
            return f"None of {count(num_points, 'point')} has {_bound_text(constraint)}: the nearest has {number}."
    bounds_text = ", ".join(_bound_text(constraint) for constraint in constraints)
    return f"None of {count(num_points, 'point')} has {bounds_text} together; each of these bounds alone can be met."


def _bound_text(constraint: Constraint) -> str:
    return f"{short_name(constraint.name)} {constraint.sign} {exact(constraint.bound, unit_of(constraint.name))}"
