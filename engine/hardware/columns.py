"""Many devices of one kind as one: what they cost is computed for all at once, machines side by side, to the bit.

A cost is a function of work that closes over the numbers of its device. Where devices differ in numbers alone, one function
that closes over columns of these answers for all of them, (R, P), the same operations in the same order; for what does not
depend on these numbers there is one column. Functions that branch on a number that differs, or know no arrays, are asked device
by device.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from itertools import repeat
from operator import attrgetter, eq, is_, itemgetter
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ..core.arrays import Floats
from ..core.work import Work


class Apart(Exception):
    """Devices differ in more than numbers."""


def together(costs: Sequence[Any], kinds: int) -> Callable[[Work], Floats]:
    """Return what each of P costs says of work in batches of so many kinds, (kinds, P), or (kinds, 1) if all say the same."""
    if not any(costs):
        return lambda work: np.zeros((kinds, 1))

    same = _all(is_, costs, costs[0])

    def alone(work: Work) -> Floats:
        return _alone(costs[:1] if same else costs, work, kinds)

    if same:
        return alone
    try:
        joint = _together(costs)
    except (Apart, ValueError):
        return alone

    def at_once(work: Work) -> Floats:
        try:
            found = np.asarray(joint(_upright(work, kinds)), dtype=np.float64)
            whole = np.broadcast_to(found, (kinds, found.shape[-1] if found.ndim else 1))
            if np.array_equal(whole[:, [0, -1]], _alone((costs[0], costs[-1]), work, kinds)):
                return whole
        except (ValueError, TypeError, AttributeError):
            pass
        return alone(work)

    return at_once


def _alone(costs: Sequence[Any], work: Work, kinds: int) -> Floats:
    found = np.empty((kinds, len(costs)))
    for column, cost in enumerate(costs):
        found[:, column] = 0.0 if cost is None else cost(work)
    return found


def _upright(work: Work, kinds: int) -> Work:
    """Return work with a row for each kind of batch, where it has a value for each."""
    each = {name: value for name, value in vars(work).items() if isinstance(value, np.ndarray) and value.shape == (kinds,)}
    return replace(work, **{name: value[:, None] for name, value in each.items()}) if each else work


def _all(test: Callable[[Any, Any], bool], values: Iterable[Any], first: Any) -> bool:
    return all(map(test, values, repeat(first)))


def _together(values: Sequence[Any]) -> Any:
    """Return one value that stands for all: the same, columns of numbers, or a function or record of such; raises Apart."""
    first, kind = values[0], type(values[0])
    if _all(is_, values, first):
        return first
    if len({*map(type, values)}) > 1:
        raise Apart
    if kind is FunctionType:
        return _function(values)
    if is_dataclass(kind):
        found = copy(first)
        for name in [field.name for field in fields(kind)]:
            object.__setattr__(found, name, _together([*map(attrgetter(name), values)]))
        return found
    if _all(eq, values, first):
        return first
    if kind is float:
        return np.array(values)
    raise Apart


def _function(functions: Sequence[FunctionType]) -> FunctionType:
    first = functions[0]
    code, given, closures = first.__code__, first.__defaults__, [*map(attrgetter("__closure__"), functions)]
    same = _all(is_, map(attrgetter("__code__"), functions), code) and not code.co_kwonlyargcount
    if not same or (code.co_argcount > 1 and not _all(eq, map(attrgetter("__defaults__"), functions), given)):
        raise Apart  # the only argument, if there is one, is always given
    cells = (map(itemgetter(i), closures) for i in range(len(code.co_freevars)))
    closed = tuple([CellType(_together([*map(attrgetter("cell_contents"), column)])) for column in cells])
    return FunctionType(code, first.__globals__, first.__name__, given, closed)
