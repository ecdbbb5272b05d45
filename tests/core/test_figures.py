"""Is a number written in three digits, with the unit that fits, the same way everywhere?"""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.figures import (
    PREFIXES,
    count,
    decimals,
    duration,
    exact,
    excess,
    factor,
    figure,
    in_groups,
    of_the_time,
    ordinal,
    percent,
    signed,
    times,
    with_error,
)
from tests.cases import each


@each(
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


@each(
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


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**18), 10**18))
def test_a_number_in_groups_reads_back_as_the_same_number(number):
    assert type(number)(in_groups(number).replace(",", "")) == number and not in_groups(number).startswith("-0 ")
    assert in_groups(12345.5) == "12,345.5" and in_groups(-0.0) == "0" and in_groups(0.00025) == "0.00025"


@given(st.floats(1e-3, 1e3))
def test_a_ratio_that_is_not_1_never_reads_as_1(ratio):
    for text in (factor(ratio), times(ratio)):
        assert float(text.split()[0].replace(",", "")) == pytest.approx(ratio, rel=6e-3)
        assert (float(text.split()[0].replace(",", "")) == 1) == (abs(ratio - 1) < 1e-6)


def test_a_small_excess_is_a_percentage_and_a_large_one_a_multiple():
    assert (excess(1.003), excess(1.5), excess(2.454)) == ("0.3 % above", "50 % above", "2.45 times")
    assert (times(1.0034), times(0.9996), factor(1.0034)) == ("1.003 times", "0.9996 times", "1.003 ×")


def test_more_work_than_time_is_not_a_share_of_the_time():
    assert of_the_time(0.83) == "83 % of the time"
    assert of_the_time(1.55) == "all of the time, as its tasks need 155 % of it"


@given(st.floats(-1e-12, 1e-12))
def test_noise_around_zero_has_no_sign(noise):
    texts = [exact(-0.0), count(-0.0), percent(noise), with_error(noise, 0.01), signed(noise / 10), figure(noise / 10, "x")]
    assert not [text for text in texts if text.startswith(("-", "+"))]


def test_an_ordinal_has_the_ending_that_is_said():
    written = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 64: "64th", 112: "112th"}
    assert {number: ordinal(number) for number in written} == written and ordinal(1022) == "1,022nd"
