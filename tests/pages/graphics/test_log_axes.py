"""Do logarithmic axes have ticks at 1, 2 and 5 times powers of ten, drawn so too, and are scales logarithmic where it helps?"""

import re
from math import inf, nan

import pytest
import vl_convert

from pages.graphics import log_axes
from pages.graphics.charts import FIT_WIDTH, layer, quantity
from pages.search_page.points import sweep_charts
from tests.cases import each


@each(
    "ends",
    [
        ((1, 10), (1, 2, 5, 10)),
        ((8, 64), (10, 20, 50)),
        ((0.003, 0.2), (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)),
        ((0, -3, nan, inf, 1, 2), (1, 2)),
        ((3, 4), ()),
        ((), ()),
    ],
)
def test_ticks_are_1_2_5_times_powers_of_ten_between_the_ends(ends):
    values, ticks = ends
    assert log_axes.log_ticks(values) == ticks


def test_ticks_of_other_steps():
    assert log_axes.log_ticks((0.05, 200), (1,)) == (0.1, 1, 10, 100)


@each(
    "values",
    [
        ((1, 7.9), False),
        ((1, 8), True),
        ((0.001, 5, nan), True),
        ((0, 1000), False),
        ((-1, 10), False),
        ((nan,), False),
        ((), False),
    ],
)
def test_numbers_want_a_logarithmic_scale_where_they_span_about_a_decade_and_none_is_0(values):
    numbers, wanted = values
    assert log_axes.wants_log(numbers) is wanted


def drawn(low, high, width):
    """Return the numbers that are written under the axis of x in a picture, those that a browser would draw."""
    x = quantity("a", scale=log_axes.fitted_scale(True), axis=log_axes.log_axis("A", "x"))
    spec = {
        **FIT_WIDTH,
        "height": 40,
        "width": width,
        "data": {"values": [{"a": low}, {"a": high}]},
        "layer": [layer({"type": "tick"}, x=x)],
    }
    svg = vl_convert.vegalite_to_svg(spec)
    return [said.replace(",", "") for said in re.findall(r">([^<>]+)</text>", svg) if said != "A"]


@pytest.mark.parametrize(
    ("low", "high", "width", "written"),
    [
        (8, 64, 500, ["10", "20", "50"]),
        (1, 100, 500, ["1", "2", "5", "10", "20", "50", "100"]),
        (1, 1e4, 300, ["1", "10", "100", "1000", "10k"]),
        (0.02, 3, 500, ["0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"]),
    ],
)
def test_an_axis_writes_1_2_5_where_decades_have_room_and_powers_of_ten_where_not(low, high, width, written):
    assert drawn(low, high, width) == written


def test_a_front_is_fitted_to_its_points_and_logarithmic_by_axis():
    spec = sweep_charts.scatter("Step time [ms]", "Capital cost [USD]", (True, False))
    assert spec["encoding"]["x"]["scale"] == {"type": "log", "zero": False, "nice": False, "padding": 12}
    assert spec["encoding"]["y"]["scale"] == {"zero": False, "nice": False, "padding": 12}
    assert spec["encoding"]["x"]["axis"]["values"] == log_axes.EVERY_TICK and "values" not in spec["encoding"]["y"]["axis"]


def test_words_on_an_axis_have_points_and_numbers_a_line():
    def marks(numeric):
        spec = sweep_charts.lines("System", "Step time [ms]", numeric, False, words=("pmem", "cxl"))
        return [one["mark"]["type"] for one in spec["layer"]]

    assert "line" in marks(True) and "line" not in marks(False) and "point" in marks(False)
