"""A value of each of P design points that formulas use like one value.

Formulas are written for one design point. With `PerPoint` values in place of numbers, the same formulas compute all P points in
NumPy columns. Each operation gives each point the very bits that the point alone would get. Where a formula needs one answer for
all points, such as the truth of a comparison, the points must agree; if they do not, `Differ` says which points belong together.
An operation that has no columns raises `NotTogether`. The points are then computed one by one.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from .parts import Points, Values, each_point, fields_of_instance, is_record, number_of_points, record

EXACT_INT, MAX_INT = 2**53, 2**62  # limits: integers that floats hold exactly, and integers that columns may reach
FLOATS = np.float64


class Differ(Exception):
    """Design points do not agree; `group` numbers the group of each point, (P,)."""

    def __init__(self, group: NDArray[np.int64]) -> None:
        super().__init__("design points do not agree.")
        self.group = group


class NotTogether(TypeError):
    """An operation has no columns, so the design points must be computed one by one."""


def agreed(values: Values) -> Any:
    """Return the value that all points have, from (P, ...); raises Differ."""
    rows = values.reshape(len(values), -1)
    if (rows == rows[:1]).all():
        return values[0]
    _, group = np.unique(rows, axis=0, return_inverse=True)
    raise Differ(group.reshape(-1))


class PerPoint(Points, NDArrayOperatorsMixin):
    """A number or an array of each of P design points, used like one."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # equal numbers must have equal hashes, which columns cannot have

    @property
    def ndim(self) -> int:
        """The dimensions of one point's value."""
        return self.values.ndim - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one point's value."""
        return self.values.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.values.dtype

    @property
    def T(self) -> "PerPoint":  # the name of an array's transpose
        """The transpose of each point's array."""
        return PerPoint(self.values.transpose(0, *range(self.values.ndim - 1, 0, -1)))

    @property
    def flags(self) -> Any:
        """The flags of the array of values, such as `writeable`."""
        return self.values.flags

    def astype(self, dtype: Any) -> "PerPoint":
        """Return the values in another type."""
        return PerPoint(self.values.astype(dtype))

    def reduced(self, name: str, axis: int | None = None, **options: Any) -> "PerPoint":
        """Return the result of an array method such as `sum` on each point's array."""
        values = np.ascontiguousarray(self.values)  # sums round by the layout in memory
        if axis is None:
            return PerPoint(getattr(values.reshape(len(values), -1), name)(axis=1, **options))
        return PerPoint(getattr(values, name)(axis=axis + 1 if axis >= 0 else axis, **options))

    def sum(self, axis: int | None = None) -> "PerPoint":
        """Return the sum of each point's array."""
        return self.reduced("sum", axis)

    def mean(self, axis: int | None = None) -> "PerPoint":
        """Return the mean of each point's array."""
        return self.reduced("mean", axis)

    def min(self, axis: int | None = None) -> "PerPoint":
        """Return the least number of each point's array."""
        return self.reduced("min", axis)

    def max(self, axis: int | None = None) -> "PerPoint":
        """Return the largest number of each point's array."""
        return self.reduced("max", axis)

    def any(self) -> bool:
        """Return whether any number is not 0; all points must agree."""
        return bool(self.reduced("any"))

    def all(self) -> bool:
        """Return whether no number is 0; all points must agree."""
        return bool(self.reduced("all"))

    def __getitem__(self, index: Any) -> "PerPoint":
        places = index if isinstance(index, tuple) else (index,)
        if self.is_number and any(place is not None for place in places):
            raise TypeError("a number has no items.")
        return PerPoint(self.values[(slice(None), *places)])

    def __len__(self) -> int:
        if self.is_number:
            raise TypeError("a number has no length.")
        return int(self.values.shape[1])

    def __iter__(self) -> Iterator["PerPoint"]:
        return (self[place] for place in range(len(self)))

    def __bool__(self) -> bool:
        if not self.is_number:
            raise NotTogether("the truth of an array.")
        return bool(agreed(self.values != 0))

    def __float__(self) -> float:
        return float(agreed(self._numbers()))

    def __int__(self) -> int:
        return int(agreed(self._numbers()))

    def __index__(self) -> int:
        if self.values.dtype.kind != "i":
            raise TypeError("an index must be an integer.")
        return int(agreed(self._numbers()))

    def __ceil__(self) -> "PerPoint":
        return self._each(ceil)

    def __floor__(self) -> "PerPoint":
        return self._each(floor)

    def __round__(self, digits: int | None = None) -> "PerPoint":
        return self._each(lambda number: round(number, digits))

    def __repr__(self) -> str:
        raise NotTogether("the text of a number.")

    def __format__(self, spec: str) -> str:
        raise NotTogether("the text of a number.")

    def __array__(self, *arguments: Any, **options: Any) -> Values:
        raise NotTogether("an array of one design point.")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        in_place = out is not None and not (out[0] is inputs[0] and isinstance(out[0], PerPoint) and out[0].is_number)
        if method == "at" or in_place:
            raise NotTogether("a change of an array in place.")
        if method != "__call__" or options or ufunc.signature:
            return at_each_point(getattr(ufunc, method), inputs, options)
        return operate(ufunc, *inputs) if len(inputs) == 2 else PerPoint(ufunc(self.values))

    def __array_function__(self, function: Callable[..., Any], types: Any, arguments: Any, options: Any) -> Any:
        if function in CHANGE_ARRAYS or "out" in options:
            raise NotTogether("a change of an array in place.")
        if function in COLUMN_FUNCTIONS:
            return COLUMN_FUNCTIONS[function](*arguments, **options)
        return at_each_point(function, arguments, options)

    def _numbers(self) -> Values:
        if not self.is_number:
            raise TypeError("an array is no number.")
        return self.values

    def _each(self, function: Callable[[Any], Any]) -> "PerPoint":
        return PerPoint(np.array([function(number) for number in self._numbers().tolist()]))


def operate(ufunc: np.ufunc, left: Any, right: Any) -> Any:
    """Return an operation of two values, of which at least one is PerPoint.

    Return NotImplemented for an operand that is neither a number nor an array; such an operand equals no number.
    """
    operands = [_values_of(operand) for operand in (left, right)]
    if any(operand is None for operand in operands):
        return ufunc is np.not_equal if ufunc in (np.equal, np.not_equal) else NotImplemented
    depth = max(array.ndim - has_points for array, has_points in operands)
    first, second = (_with_depth(array, has_points, depth) for array, has_points in operands)
    if depth:
        return PerPoint(ufunc(first, second))
    if ufunc is np.power:  # NumPy's columns may round otherwise than Python
        return at_each_point(operator.pow, (left, right), {})
    _check_exact(ufunc, first, second)
    with np.errstate(all="ignore"):  # Python's numbers overflow without a warning
        return PerPoint(ufunc(first, second))


def _values_of(operand: Any) -> Any:
    """Return the operand's values, and whether they have a row for each point; None for another kind of operand."""
    if isinstance(operand, PerPoint):
        values = operand.values
        return (values.astype(np.int64) if values.dtype == np.bool_ else values), True
    if isinstance(operand, bool | int | float | np.generic | np.ndarray):
        values = np.asarray(operand)
        if values.dtype.kind not in "iufb":
            raise NotTogether("a number beyond 64 bits.")
        return values, False
    return None


def _with_depth(array: Values, has_points: bool, depth: int) -> Values:
    """Return values that broadcast with values of `depth` dimensions for each point."""
    missing = depth - (array.ndim - has_points)
    return array.reshape(array.shape[:1] + (1,) * missing + array.shape[1:]) if has_points and missing else array


def _check_exact(ufunc: np.ufunc, first: Values, second: Values) -> None:
    """Raise NotTogether where columns could give other numbers than Python does."""
    ints = [array for array in (first, second) if array.dtype.kind in "iub"]
    reached = [float(np.abs(array, dtype=FLOATS).max()) for array in ints]
    if len(ints) == 2 and ufunc in (np.add, np.subtract, np.multiply):
        together = reached[0] * reached[1] if ufunc is np.multiply else reached[0] + reached[1]
        if together >= MAX_INT:
            raise NotTogether("an integer beyond 62 bits.")
    elif (len(ints) == 1 or ufunc is np.true_divide) and max(reached, default=0.0) > EXACT_INT:
        raise NotTogether("an integer that no float holds exactly.")
    if ufunc in (np.true_divide, np.floor_divide, np.remainder) and not np.all(second):
        raise NotTogether("a division by 0.")


def at_each_point(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return the results of a function for each point, as values of all points."""
    points = number_of_points((*arguments, *options.values()))
    if not points:
        return function(*arguments, **options)
    calls = zip(each_point(tuple(arguments), points), each_point(dict(options), points), strict=True)
    return together([function(*own_arguments, **own_options) for own_arguments, own_options in calls])


def together(values: Sequence[Any]) -> Any:
    """Return the values of P points as one value; raises NotTogether for unlike kinds.

    Points that all have the same value share it. Of tuples, mappings and dataclasses each part becomes such a value.
    """
    first = values[0]
    if all(value is first for value in values):
        return first
    kinds = {_kind_of_number(type(value)) for value in values}
    if len(kinds) > 1:
        raise NotTogether("values of several kinds.")
    if isinstance(first, tuple | Mapping) or is_record(first):
        return _parts_together(values)
    if isinstance(first, np.ndarray):
        if len({(value.shape, value.dtype) for value in values}) > 1:
            raise NotTogether("arrays of several shapes.")
        is_same = all(value.tobytes() == first.tobytes() for value in values)
        return first if is_same else PerPoint(np.stack(values))
    if kinds <= {int, float}:
        return _numbers_together(values)
    if all(value == first for value in values):
        return first
    raise NotTogether("values that are no numbers.")


def _kind_of_number(kind: type) -> type:
    """Return `int` or `float` for Python's and NumPy's numbers, else the type itself."""
    if issubclass(kind, np.integer):
        return int
    return float if issubclass(kind, np.floating) else kind


def _parts_together(values: Sequence[Any]) -> Any:
    """Return tuples, mappings or dataclasses of P points as one, with values of all points as parts."""
    kind = type(values[0])
    if isinstance(values[0], tuple):
        if len({len(value) for value in values}) > 1:
            raise NotTogether("lists of several lengths.")
        parts = [together(column) for column in zip(*values, strict=True)]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    rows = values if isinstance(values[0], Mapping) else [fields_of_instance(value) for value in values]
    if any(row.keys() != rows[0].keys() for row in rows):
        raise NotTogether("mappings of several keys.")
    columns = {name: together([row[name] for row in rows]) for name in rows[0]}
    return columns if isinstance(values[0], Mapping) else record(kind, columns)


def _numbers_together(values: Sequence[Any]) -> Any:
    array = np.array(values)
    if array.dtype not in (np.int64, np.float64):
        raise NotTogether("a number beyond 64 bits.")
    is_same = (array == array[0]).all() and not (array == 0).any()
    return values[0] if is_same else PerPoint(array)


def _where(condition: Any, yes: Any, no: Any) -> PerPoint:
    operands = [_values_of(operand) for operand in (condition, yes, no)]
    if any(operand is None for operand in operands):
        raise NotTogether("a choice between other things than numbers.")
    depth = max(array.ndim - has_points for array, has_points in operands)
    return PerPoint(np.where(*(_with_depth(array, has_points, depth) for array, has_points in operands)))


def _append(array: Any, value: Any) -> Any:
    if not isinstance(array, PerPoint) or array.ndim != 1 or not isinstance(value, float):
        return at_each_point(np.append, (array, value), {})
    return PerPoint(np.concatenate([array.values, np.full((len(array.values), 1), value)], axis=1))


def _repeat(array: Any, repeats: Any, axis: int | None = None) -> Any:
    if axis is None or axis < 0 or isinstance(repeats, PerPoint):
        return at_each_point(np.repeat, (array, repeats), {"axis": axis})
    return PerPoint(np.repeat(array.values, repeats, axis=axis + 1))


CHANGE_ARRAYS = {np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask}
COLUMN_FUNCTIONS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    np.append: _append,
    np.mean: lambda array, axis=None: array.reduced("mean", axis),
    np.ndim: lambda array: array.ndim,
    np.ones_like: lambda array: np.ones(array.shape, array.dtype),
    np.repeat: _repeat,
    np.sum: lambda array, axis=None: array.reduced("sum", axis),
    np.where: _where,
    np.zeros_like: lambda array: np.zeros(array.shape, array.dtype),
}
