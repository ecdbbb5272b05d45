"""The choice of a point: those that keep all bounds, the best of them, and the cheapest machine that meets a target."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.figures import count, exact
from .objective import Array, Columns, Constraint, Objective, error_at, formatted, numbers, short, unit_of

COST = "Capital cost [USD]"


@dataclass(frozen=True)
class Choice:
    """The chosen point by index, or None, and the answer as a sentence."""

    index: int | None
    sentence: str


def kept(columns: Columns, constraints: Sequence[Constraint]) -> Array:
    """Return for each point whether it keeps every bound; without bounds all do."""
    size = len(next(iter(columns.values()), ()))
    every: Array = np.logical_and.reduce([np.ones(size, dtype=bool), *(one.holds(columns) for one in constraints)])
    return every


def cheapest(columns: Columns, constraints: Sequence[Constraint], cost: str = COST) -> Choice:
    """Return the point of least cost that keeps every bound; of equally cheap ones the best by the bounds, in their order."""
    keeps = kept(columns, constraints) & np.isfinite(numbers(columns, cost))
    many = len(keeps)
    if not keeps.any():
        return Choice(None, _none(columns, constraints, many))
    ways = [Objective(one.name, ">" in one.sign).losses(columns) for one in constraints]
    order = np.lexsort([*reversed(ways), numbers(columns, cost)])
    best = int(order[keeps[order]][0])
    asked = ", ".join(_asked(one) for one in constraints) or f"a {short(cost).lower()}"
    price = formatted(cost, float(numbers(columns, cost)[best]))
    unpriced = int((kept(columns, constraints) & ~np.isfinite(numbers(columns, cost))).sum())
    left = f" {count(unpriced)} more have no price and are left out." if unpriced else ""
    return Choice(best, f"{count(int(keeps.sum()))} of {count(many, 'point')} have {asked}; the cheapest costs {price}.{left}")


def _none(columns: Columns, constraints: Sequence[Constraint], many: int) -> str:
    """Say which bound no point keeps and how near the nearest comes, or that only all bounds together are too much."""
    for one in constraints:
        found = numbers(columns, one.name)
        if not np.isfinite(found).any():
            return f"None of {count(many, 'point')} has a {short(one.name).lower()}, so none keeps {one}."
        if not one.holds(columns).any():
            nearest = int(np.nanargmin(one.excess(columns)))
            number = formatted(one.name, float(found[nearest]), error_at(columns, one.name, nearest))
            return f"None of {count(many, 'point')} has {_asked(one)}: the nearest has {number}."
    return f"None of {count(many, 'point')} has {', '.join(_asked(one) for one in constraints)} at once; each alone can be had."


def _asked(one: Constraint) -> str:
    return f"{short(one.name)} {one.sign} {exact(one.bound, unit_of(one.name))}"
