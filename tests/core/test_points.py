"""Do values of many design points compute what each point alone computes, or refuse?"""

import math
import operator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.points.numbers import as_array, as_float, as_int, in_columns, one_item
from engine.core.points.parts import at_point, chosen_points, each_point, number_of_points
from engine.core.points.per_point import Differ, NotTogether, PerPoint, at_each_point, together
from tests.cases import each, examples

INTEGERS = st.integers(-(10**9), 10**9)
FLOATS = st.floats(-1e12, 1e12, allow_subnormal=False)
NUMBERS = st.lists(INTEGERS, min_size=4, max_size=4) | st.lists(FLOATS, min_size=4, max_size=4)
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def values_of(value, points=4):
    """Return the value of each point, the same for a value that all share."""
    return value.tolist() if isinstance(value, PerPoint) else [value] * points


@given(operation=st.sampled_from(ARITHMETIC), left=NUMBERS, right=NUMBERS | INTEGERS | FLOATS)
@examples(150)
def test_arithmetic_gives_each_point_what_python_gives_it(operation, left, right):
    own_rights = right if isinstance(right, list) else [right] * 4
    columns = together(right) if isinstance(right, list) else right
    for first, second, pairs in (
        (together(left), columns, zip(left, own_rights, strict=True)),
        (columns, together(left), zip(own_rights, left, strict=True)),
    ):
        try:
            alone = [operation(a, b) for a, b in pairs]
        except ZeroDivisionError:
            continue
        try:
            result = operation(first, second)
        except NotTogether:
            continue  # refused: such as an integer that no float holds
        except ZeroDivisionError:
            continue  # all points have the same numbers
        assert [repr(number) for number in values_of(result)] == [repr(number) for number in alone]


@given(operation=st.sampled_from(COMPARISONS), left=NUMBERS, right=NUMBERS)
@examples(50)
def test_a_comparison_says_what_all_points_say_or_which_points_agree(operation, left, right):
    alone = [operation(a, b) for a, b in zip(left, right, strict=True)]
    try:
        assert bool(operation(together(left), together(right))) is alone[0]
        assert len(set(alone)) == 1
    except Differ as differ:
        assert len(set(alone)) == 2
        assert [alone[i] == alone[0] for i in range(4)] == (differ.group == differ.group[0]).tolist()


@given(numbers=st.lists(FLOATS, min_size=4, max_size=4), exponent=st.sampled_from([2, 0.5, -1.5, 3]))
@examples(50)
def test_rounding_and_powers_are_pythons_own(numbers, exponent):
    column = together(numbers)
    assert values_of(math.ceil(column)) == [math.ceil(number) for number in numbers]
    assert values_of(math.floor(column)) == [math.floor(number) for number in numbers]
    assert values_of(round(column, 2)) == [round(number, 2) for number in numbers]
    positive = [abs(number) + 1 for number in numbers]
    assert values_of(together(positive) ** exponent) == [number**exponent for number in positive]


def test_a_number_of_all_points_is_one_only_where_they_agree():
    assert (int(PerPoint(np.array([3, 3]))), float(PerPoint(np.array([2.5, 2.5])))) == (3, 2.5)
    with pytest.raises(Differ) as raised:
        float(PerPoint(np.array([1.0, 2.0, 1.0])))
    assert raised.value.group.tolist() == [0, 1, 0]
    assert max(PerPoint(np.array([1, 2])), 5) == 5
    with pytest.raises(Differ):
        max(PerPoint(np.array([1, 7])), 5)


@each(
    "refused",
    [
        lambda column: f"{column}",
        lambda column: repr(column),
        lambda column: np.array([column]),
        lambda column: np.asarray(column),
        lambda column: {column: 1},
        lambda column: column / 0,
        lambda column: column * 2**60,
        lambda column: (column * 2**53) / 3,
        lambda column: column + 2**70,
        lambda column: np.add(np.ones(3), column, out=np.ones((2, 3))),
        lambda column: np.add.at(np.zeros(3), [0], column),
        lambda column: np.copyto(np.zeros(2), column),
        lambda column: [0.0][column],
        lambda column: bool(PerPoint(np.ones((2, 3)))),
        lambda column: len(column),
    ],
)
def test_what_has_no_columns_is_refused_not_guessed(refused):
    with pytest.raises((TypeError, Differ)):
        refused(PerPoint(np.array([9, 8])))


@given(st.lists(st.lists(FLOATS, min_size=3, max_size=3), min_size=4, max_size=4), FLOATS)
@examples(50)
def test_arrays_of_points_reduce_and_broadcast_like_one_array(rows, number):
    arrays = [np.array(row) for row in rows]
    column, own = PerPoint(np.stack(arrays)), PerPoint(np.arange(4.0))
    for function in (
        lambda a, n: a.sum(),
        lambda a, n: np.where(a > number, a, n),
        lambda a, n: np.minimum(a, n) + a[1:].max(),
        lambda a, n: np.append(a, 1.0),
        lambda a, n: np.repeat(a, 2, axis=0),
        lambda a, n: np.repeat(a, 2),
        lambda a, n: a @ np.arange(3.0),
        lambda a, n: np.cumsum(a) * n,
        lambda a, n: np.zeros_like(a) + n,
        lambda a, n: np.mean(a) - n,
        lambda a, n: a[None].T * n,
    ):
        together_result = function(column, own)
        for i, array in enumerate(arrays):
            assert np.array_equal(at_point(together_result, i), function(array, float(i)))


def test_sums_of_chosen_items_round_as_alone():
    rows, places = np.random.default_rng(0).random((9, 60)), [*range(1, 40)]
    column = PerPoint(rows)
    for function in (lambda a: a[..., places].sum(axis=-1), lambda a: a[places].sum(), lambda a: a[places].mean(axis=0)):
        assert function(column).tolist() == [float(function(row)) for row in rows]


@dataclass(frozen=True)
class Sizes:
    """A value with parts of several kinds."""

    name: str
    numbers: tuple
    by_name: dict


def test_parts_of_values_are_put_together_and_taken_apart():
    points = [Sizes("a", (1, 2.0 + i), {"x": np.arange(2) + i, "y": 7}) for i in range(3)]
    one = together(points)
    assert (one.name, one.numbers[0], one.by_name["y"], number_of_points(one)) == ("a", 1, 7, 3)
    for i, point in enumerate(each_point(one, 3)):
        assert (point.numbers, point.by_name["x"].tolist()) == (points[i].numbers, points[i].by_name["x"].tolist())
        assert type(point.numbers[1]) is float and at_point(one, i).numbers == point.numbers
    assert chosen_points(one, np.array([2, 0])).numbers[1].tolist() == [4.0, 2.0]
    assert each_point(points[0], 2) == [points[0], points[0]] and at_point(points[0], 1) is points[0]
    for unlike in ([1, 1.5], [(1,), (1, 2)], ["a", "b"], [np.zeros(2), np.zeros(3)], [1, 2**70], [None, 1]):
        with pytest.raises(NotTogether):
            together(unlike)


def test_functions_of_formulas_take_one_point_or_several():
    column = PerPoint(np.array([1.5, -2.5]))
    assert (as_float(3), as_int(-2.7), as_int(column).tolist()) == (3.0, -2, [1, -2])
    assert one_item(column).values.shape == (2, 1) and one_item(4.0).tolist() == [4.0]
    assert as_array([1.0, column]).tolist() == [[1.0, 1.5], [1.0, -2.5]] and as_array([1, 2], float).tolist() == [1.0, 2.0]
    pair = type(column)(np.arange(20.0).reshape(10, 2))

    class Parts(tuple):
        """Two arrays."""

        def __new__(cls, first, second):
            return tuple.__new__(cls, (first, second))

    halves = in_columns(lambda array: Parts(array / 2, array * 2), pair)
    assert halves[0].tolist() == (np.arange(20.0).reshape(10, 2) / 2).tolist()
    assert at_each_point(lambda a, b: a + b, (column, 1), {}).tolist() == [2.5, -1.5]
    assert at_each_point(lambda a: a, ("text",), {}) == "text"
