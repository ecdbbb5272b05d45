"""Functions of formulas for one design point or for several: numbers, and arrays of numbers.

The types are those for one design point. For several, results are `PerPoint` values, which formulas use like one value.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from .parts import Values, number_of_points
from .per_point import FLOATS, NotTogether, PerPoint

BLOCK = 8  # points whose temporary arrays stay in the processor's cache


def as_float(value: Any) -> float:
    """Return a number as a float, or the number of each point as floats."""
    return cast(float, value.astype(FLOATS)) if isinstance(value, PerPoint) else float(value)


def as_int(value: Any) -> int:
    """Return a number without its fraction as an integer, or the number of each point."""
    return cast(int, value.astype(np.int64)) if isinstance(value, PerPoint) else int(value)


def as_array(values: Sequence[Any], dtype: Any = None) -> Values:
    """Return numbers as an array, (n,), or as an array for each point."""
    try:
        return np.array(values, dtype=dtype)
    except NotTogether:
        points = number_of_points(values)
    columns = [value.values if isinstance(value, PerPoint) else np.full(points, value) for value in values]
    return cast(Values, PerPoint(np.stack(columns, axis=1).astype(dtype or columns[0].dtype)))


def one_item(value: Any) -> Values:
    """Return an array of one number, (1,), or of each point's number."""
    return cast(Values, value[None]) if isinstance(value, PerPoint) else np.array([value])


def in_columns(function: Callable[[Any], Any], values: Any) -> Any:
    """Return a function of an array whose leading axis may be design points.

    The function gets BLOCK points at a time. It returns a named tuple of arrays with the same leading axis.
    """
    if not isinstance(values, PerPoint):
        return function(values)
    blocks = [function(values.values[low : low + BLOCK]) for low in range(0, len(values.values), BLOCK)]
    return type(blocks[0])(*[PerPoint(np.concatenate(parts)) for parts in zip(*blocks, strict=True)])
