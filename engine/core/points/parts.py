"""Values of many design points inside tuples, mappings and dataclasses."""

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]


class Points:
    """A number or an array of each of P design points; `per_point.PerPoint` adds its operations.

    values: the values, (P,) for numbers and (P, ...) for arrays; int64, float64 or bool.
    """

    __slots__ = ("values",)

    def __init__(self, values: Values) -> None:
        self.values = values

    @property
    def is_number(self) -> bool:
        """Whether each point has one number, not an array."""
        return self.values.ndim == 1

    def tolist(self) -> list[Any]:
        """Return the value of each point, as Python numbers or lists."""
        numbers: list[Any] = self.values.tolist()
        return numbers

    def at(self, point: int) -> Any:
        """Return the value of one point, a Python number or an array."""
        return self.values[point].item() if self.is_number else self.values[point]


def number_of_points(value: Any) -> int:
    """Return the number of points of the first `PerPoint` in a value, 0 without any."""
    if isinstance(value, Points):
        return len(value.values)
    return next((points for part in _parts_of(value) if (points := number_of_points(part))), 0)


def _parts_of(value: Any) -> Iterable[Any]:
    if isinstance(value, tuple | list):
        return value
    if isinstance(value, Mapping):
        return value.values()
    return fields_of_instance(value).values() if is_record(value) else ()


def is_record(value: Any) -> bool:
    """Return whether a value is an instance of a dataclass."""
    return hasattr(type(value), "__dataclass_fields__")


def fields_of_instance(instance: Any) -> Mapping[str, Any]:
    """Return the values of a dataclass's instance by field."""
    if hasattr(instance, "__dict__"):
        by_name: Mapping[str, Any] = vars(instance)
        return by_name
    return {name: getattr(instance, name) for name in type(instance).__dataclass_fields__}


def map_parts(kind: type, function: Callable[[Any], Any], value: Any) -> Any:
    """Return a value with the function applied to each part of a kind.

    Parts are those in tuples, mappings and dataclasses. A value without such a part is returned as it is.
    """
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, tuple | list):
        parts = [map_parts(kind, function, part) for part in value]
        if all(map(operator.is_, parts, value)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, Mapping) or is_record(value):
        old = value if isinstance(value, Mapping) else fields_of_instance(value)
        new = {name: map_parts(kind, function, part) for name, part in old.items()}
        if all(map(operator.is_, new.values(), old.values())):
            return value
        return new if isinstance(value, Mapping) else record(type(value), new)
    return value


def record(kind: type, values: Mapping[str, Any]) -> Any:
    """Return a dataclass's instance with the values of its fields, without its checks."""
    instance: Any = object.__new__(kind)
    if hasattr(instance, "__dict__"):
        vars(instance).update(values)
        return instance
    for name, value in values.items():
        object.__setattr__(instance, name, value)
    return instance


def at_point(value: Any, i: int) -> Any:
    """Return a value with the numbers of point `i` alone."""
    return map_parts(Points, lambda part: part.at(i), value)


def each_point(value: Any, points: int) -> list[Any]:
    """Return a value once for each point, with that point's numbers, (P,)."""
    if isinstance(value, Points):
        return value.tolist() if value.is_number else list(value.values)
    if not number_of_points(value):
        return [value] * points
    if isinstance(value, tuple | list):
        rows = zip(*[each_point(part, points) for part in value], strict=True)
        kind = type(value)
        return [kind(*row) for row in rows] if hasattr(value, "_fields") else [kind(row) for row in rows]
    old = value if isinstance(value, Mapping) else fields_of_instance(value)
    columns = {name: each_point(part, points) for name, part in old.items() if number_of_points(part)}
    changes = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return [{**old, **change} if isinstance(value, Mapping) else record(type(value), {**old, **change}) for change in changes]


def chosen_points(value: Any, points: NDArray[np.int64]) -> Any:
    """Return a value with the numbers of some points, by number."""
    return map_parts(Points, lambda part: type(part)(part.values[points]), value)
