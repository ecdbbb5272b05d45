"""Is a number written in three digits, with the unit that fits, the same way everywhere?"""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.figures import PREFIXES, count, decimals, duration, exact, factor, figure, percent, signed, with_error


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (0.20735, "ms", "0.207 ms"),
        (1.0, "ms", "1.00 ms"),
        (0.0642, "ms", "64.2 µs"),
        (3150.0, "ms", "3.15 s"),
        (999.7, "ms", "1.00 s"),
        (64.0, "s", "64.0 s"),
        (150.0, "s", "2.50 min"),
        (3.3e6, "s", "38.2 days"),
        (8.39e6, "GB", "8.39 PB"),
        (0.0001143, "GB", "114 kB"),
        (25.83, "GB/s", "25.8 GB/s"),
        (25830.0, "GB/s", "25.8 TB/s"),
        (1e6, "MiB", "977 GiB"),
        (0.196, "J", "0.196 J"),
        (783.7, "J a batch", "784 J a batch"),
        (1_234.0, "W", "1.23 kW"),
        (27_118.0, "USD", "27,100 USD"),
        (9_999_000.0, "USD", "10.0 million USD"),
        (617_310.0, "samples/s", "617,000 samples/s"),
        (1.2e9, "samples", "1.20 billion samples"),
        (0.0, "J", "0 J"),
        (-3150.0, "ms", "-3.15 s"),
        (0.5, "", "0.500"),
        (None, "ms", "n/a"),
        (nan, "ms", "n/a"),
        (inf, "s", "∞ s"),
    ],
)
def test_a_figure_has_three_digits_and_the_unit_that_fits(value, unit, written):
    assert figure(value, unit) == written


@given(st.floats(1e-9, 1e18), st.sampled_from(["", "B", "GB", "J", "W", "GB/s", "samples/s", "USD"]))
def test_a_figure_says_the_number_to_three_digits(value, unit):
    number, *rest = figure(value, unit).replace(",", "").split()
    size = {"million": 1e6, "billion": 1e9, "trillion": 1e12}.get(rest[0], 1.0) if rest else 1.0
    ours = next((one for one in rest if one not in ("million", "billion", "trillion")), "")
    if unit not in ("", "samples/s", "USD"):
        size = PREFIXES[ours[: -len(unit.lstrip("GkM"))]] / PREFIXES[unit[: -len(unit.lstrip("GkM"))]]
    assert float(number) * size == pytest.approx(value, rel=6e-3, abs=1e-11)
    assert len(number.replace(".", "").lstrip("0")) >= 3 or value < 1e-9


@pytest.mark.parametrize(
    ("value", "error", "written"),
    [
        (0.764471, 0.001237, "0.7645 ± 0.0012"),
        (0.764471, 0.00642, "0.764 ± 0.006"),
        (0.764471, 0.035, "0.764 ± 0.035"),
        (0.764471, 0.000962, "0.7645 ± 0.0010"),
        (0.7125, 0.1234, "0.71 ± 0.12"),
        (0.5, 0.0301, "0.500 ± 0.030"),
        (12_345.0, 234.0, "12,340 ± 230"),
        (0.764471, None, "0.764"),
        (0.764471, nan, "0.764"),
        (None, 0.1, "n/a"),
    ],
)
def test_a_number_with_an_error_ends_where_its_error_does(value, error, written):
    assert with_error(value, error) == written


@given(st.floats(0.5, 1.0), st.floats(1e-6, 0.4))
def test_an_error_has_at_most_two_digits_and_is_told_to_a_seventh(value, error):
    number, told = with_error(value, error).split(" ± ")
    assert len(number.partition(".")[2]) == len(told.partition(".")[2]) == decimals(error)
    assert len(told.replace(".", "").lstrip("0")) <= 2 and float(told) == pytest.approx(error, rel=1 / 7)
    assert float(number) == pytest.approx(value, abs=error / 6)


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (0.99, "99 %"),
        (0.998, "99.8 %"),
        (0.9998, "99.98 %"),
        (1.0, "100 %"),
        (0.0053, "0.53 %"),
        (14.244, "1,420 %"),
        (1e-9, "0 %"),
    ],
)
def test_a_share_is_100_percent_only_where_nothing_is_missing(share, written):
    assert percent(share) == written


def test_whole_things_given_numbers_ratios_and_differences():
    assert (count(1, "batch", "batches"), count(4000, "batch", "batches"), count(0, "row")) == (
        "1 batch",
        "4,000 batches",
        "0 rows",
    )
    assert (exact(1e11), exact(25.83, "GB/s"), exact(0.5), exact(1024)) == ("100,000,000,000", "25.83 GB/s", "0.5", "1,024")
    assert (factor(4.276), factor(1), factor(1260.4)) == ("4.28 ×", "1.00 ×", "1,260 ×")
    assert (signed(0.53, "ms"), signed(-3, "ms"), signed(0)) == ("+0.530 ms", "-3.00 ms", "0")
    assert [duration(one) for one in (1, 12, 200, 9000)] == ["a moment", "12 s", "3 min", "2.5 h"]
