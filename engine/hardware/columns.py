"""Many devices of one kind as one: what they cost is computed for all at once, machines side by side, to the bit.

A cost is a function of work that closes over the numbers of its device. Where devices differ in numbers alone, one function
that closes over columns of these answers for all of them, (R, P), the same operations in the same order. Functions that
branch on a number that differs, or know no arrays, are asked device by device.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ..core.arrays import Floats
from ..core.work import Work


class Apart(Exception):
    """Devices differ in more than numbers."""


def costs_of(costs: Sequence[Any], work: Work, kinds: int) -> Floats:
    """Return what each of P costs says of work in batches of so many kinds, (kinds, P); nothing for none."""
    if not any(costs):
        return np.zeros((kinds, len(costs)))
    try:
        found = np.asarray(_together(costs)(_upright(work, kinds)), dtype=np.float64)
        first, last = (_alone(cost, work, kinds) for cost in (costs[0], costs[-1]))
        whole = np.broadcast_to(found, (kinds, len(costs)))
        if np.array_equal(whole[:, 0], first) and np.array_equal(whole[:, -1], last):
            return whole
    except (Apart, ValueError, TypeError, AttributeError):
        pass
    return np.stack([_alone(cost, work, kinds) for cost in costs], axis=1)


def _alone(cost: Any, work: Work, kinds: int) -> Floats:
    return np.broadcast_to(np.asarray(0.0 if cost is None else cost(work), dtype=np.float64), kinds)


def _upright(work: Work, kinds: int) -> Work:
    """Return work with a row for each kind of batch, where it has a value for each."""
    each = {name: value for name, value in vars(work).items() if isinstance(value, np.ndarray) and value.shape == (kinds,)}
    return replace(work, **{name: value[:, None] for name, value in each.items()}) if each else work


def _together(values: Sequence[Any]) -> Any:
    """Return one value that stands for all: the same, columns of numbers, or a function or record of such; raises Apart."""
    first = values[0]
    if all(value is first for value in values):
        return first
    if len(kinds := set(map(type, values))) > 1:
        raise Apart
    if kinds == {float}:
        return np.array(values)
    if isinstance(first, FunctionType):
        return _function(values)
    if is_dataclass(first) and not isinstance(first, type):
        found = copy(first)
        for field in fields(first):
            object.__setattr__(found, field.name, _together([getattr(value, field.name) for value in values]))
        return found
    if all(value == first for value in values):
        return first
    raise Apart


def _function(functions: Sequence[FunctionType]) -> FunctionType:
    first = functions[0]
    code, given = first.__code__, first.__defaults__
    if any(one.__code__ is not code or one.__defaults__ != given for one in functions) or first.__kwdefaults__:
        raise Apart
    cells = zip(*[one.__closure__ or () for one in functions], strict=True)
    closed = tuple(CellType(_together([cell.cell_contents for cell in column])) for column in cells)
    return FunctionType(first.__code__, first.__globals__, first.__name__, first.__defaults__, closed)
