"""Are samples in the order of their times, however these are written, or is a file refused with advice that helps?"""

import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine.api.calls import fit
from engine.errors import BadFile
from engine.workload.readers import blocks, samples
from engine.workload.readers.formats import read_file
from engine.workload.readers.guess import guess_columns
from tests.workload.readers.test_ids import mapped

COUNT = 100
DAYS = pd.date_range("2024-01-05 01:02:03", periods=COUNT, freq="6D1h")
SHUFFLE = np.random.default_rng(5).permutation(COUNT)


def log(path: Path, times: object, more: str = "") -> Path:
    """Write a log whose id is the place of its row in the right order; rows stand in another."""
    column = pa.array(times) if isinstance(times, list) else times
    table = pa.table({"y": [n % 2 for n in range(COUNT)], "a": range(COUNT), "t": column}).take(SHUFFLE)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=40)
    else:
        table.to_pandas().to_csv(path, index=False)
    return mapped(path, f'label = "y"\nids = ["a"]\ntime = "t"\n{more}')


def order(path: Path) -> list[int]:
    return read_file(path).tokens[:, 0].tolist()


def rising(times: list[str], written: str) -> list[int]:
    """Return the order by pandas' reading of each cell by a format that is known."""
    instants = [pd.to_datetime(cell, format=written) for cell in times]
    return sorted(range(COUNT), key=instants.__getitem__)


def advised(path: Path) -> list[int]:
    """Read a file, if it is refused once more with the format that the refusal names; a second refusal fails."""
    try:
        return order(path)
    except BadFile as refused:
        (line,) = re.findall(r'time_format = "[^"]+"', str(refused))
    there = Path(f"{path}.toml")
    there.write_text("\n".join([row for row in there.read_text().splitlines() if "time_format" not in row] + [line, ""]))
    return order(path)


CLOCKS = ("", " %H:%M", " %H:%M:%S UTC", ", %I:%M:%S %p", " %H:%M:%S GMT", " %H:%M:%S +0200")
SURE = (
    "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", "%Y.%m.%d", "%a %d/%m/%Y", "%A, %m/%d/%Y", "%d %b %Y", "%b %d, %Y",
    "%A, %d. %B %Y", "%B %d, %Y", "%Y-%b-%d", "%m-%d-%Y", "%d/%b/%Y",
)  # fmt: skip
OPEN = ("%y/%m/%d", "%y-%m-%d", "%y.%m.%d", "%y-%b-%d", "%d-%b-%y", "%d/%m/%y", "%a %y/%m/%d")
WHOLE = ("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S UTC %Y", "%d/%b/%Y:%H:%M:%S +0000", "%H:%M %d/%m/%Y", "%d%m%Y %H:%M")


@pytest.mark.parametrize("block", [1 << 22, 900])
@pytest.mark.parametrize(
    "written", [*WHOLE, *(day + clock for day, clock in zip(SURE, 3 * CLOCKS, strict=False)), *(SURE[5] + c for c in CLOCKS)]
)
def test_dates_with_one_reading_order_samples(tmp_path, monkeypatch, written, block):
    monkeypatch.setattr(blocks, "READ_NBYTES", block)
    times = list(DAYS.strftime(written))
    assert order(log(tmp_path / "a.csv", times)) == rising(times, written)


@pytest.mark.parametrize("block", [1 << 22, 900])
@pytest.mark.parametrize("written", [day + clock for day, clock in zip(OPEN, 2 * CLOCKS[:4], strict=False)])
def test_years_of_two_digits_are_open_until_the_mapping_says_which(tmp_path, monkeypatch, written, block):
    monkeypatch.setattr(blocks, "READ_NBYTES", block)
    times = list(DAYS.strftime(written))
    path = log(tmp_path / "a.csv", times)
    with pytest.raises(BadFile, match=r"a\.csv:2: t='.*may be .*time_format = ") as refused:
        read_file(path)
    assert written in str(refused.value)
    assert order(log(path, times, f'time_format = "{written}"\n')) == rising(times, written)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_year_of_two_digits_that_is_no_day_is_read_by_the_one_order_left(tmp_path, suffix):
    times = list(pd.date_range("2041-01-05", periods=COUNT, freq="6D").strftime("%y/%m/%d"))
    assert order(log(tmp_path / f"a.{suffix}", times)) == list(range(COUNT))


def test_dates_written_in_two_orders_are_refused_by_the_cell(tmp_path):
    times = [day.strftime("%a %d/%m/%Y" if n % 2 else "%a %m/%d/%Y") for n, day in enumerate(DAYS)]
    with pytest.raises(BadFile, match=r"a\.csv:\d+: t='... \d"):
        read_file(log(tmp_path / "a.csv", times))


EARLY = [datetime(2024, 1 + n % 12, 1 + n // 12, n % 24) for n in range(COUNT)]


@pytest.mark.parametrize("first", ["%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("late", [60, 99])
def test_a_late_day_beyond_12_settles_the_order_and_the_advice_helps(tmp_path, monkeypatch, first, given, late):
    monkeypatch.setattr(blocks, "READ_NBYTES", 300)
    days = EARLY.copy()
    days[SHUFFLE[late]] = datetime(2024, 5, 28)
    times = [day.strftime(first) for day in days]
    other = {"%d/%m/%Y %H:%M": "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M": "%d/%m/%Y %H:%M"}[first]
    path = log(tmp_path / "a.csv", times, f'time_format = "{other}"\n' if given else "")
    with pytest.raises(BadFile, match=rf"a\.csv:{late + 2}: t='{times[SHUFFLE[late]]}'.*time_format = \"{first}\""):
        read_file(path)
    assert advised(path) == rising(times, first)


def test_a_guess_of_days_that_could_be_months_is_mended_by_one_refusal(tmp_path):
    times = [day.strftime("%m/%d/%Y") for day in [*EARLY[:-1], datetime(2024, 5, 28)]]
    (guess,) = guess_columns({"t": times[:60]})
    assert guess.role == "time" and guess.rule == "%d/%m/%Y"
    assert advised(log(tmp_path / "a.csv", times, f'time_format = "{guess.rule}"\n')) == rising(times, "%m/%d/%Y")


@pytest.mark.parametrize("written", ["%a %d/%m/%Y", "%d %b %Y", "%y/%m/%d", "%d/%m/%Y %H:%M:%S UTC"])
def test_columns_of_dates_are_guessed_as_times(written):
    (guess,) = guess_columns({"when": list(DAYS.strftime(written))})
    assert guess.role == "time" and (guess.rule != "") == ("%y" in written)


NOW = 1_700_000_000_000_000_000
COLUMNS = {
    "int64 nanoseconds": pa.array([NOW + n for n in range(COUNT)], "int64"),
    "int64 of both signs": pa.array([(n - 50) * 2**57 + n for n in range(COUNT)], "int64"),
    "floats": pa.array([(n - 50) * 1.1 for n in range(COUNT)], "float64"),
    "float32": pa.array([(n - 50) / 3 for n in range(COUNT)], "float32"),
    "timestamp[ns]": pa.array([NOW + n for n in range(COUNT)], "timestamp[ns]"),
    "timestamp[ns, UTC]": pa.array([NOW + n for n in range(COUNT)], pa.timestamp("ns", "UTC")),
    "date32": pa.array(list(range(-50, 50)), "int32").cast("date32"),
    "time64[ns]": pa.array(range(COUNT), pa.time64("ns")),
    "duration[ns]": pa.array([NOW + n for n in range(COUNT)], pa.duration("ns")),
    "decimal": pa.array([Decimal(1_700_000_000_000_000 + n) / 10**6 for n in range(COUNT)], pa.decimal128(30, 6)),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_numbers_and_instants_of_parquet_are_compared_exactly(tmp_path, kind):
    assert order(log(tmp_path / "a.parquet", COLUMNS[kind])) == list(range(COUNT))


TEXTS = {
    "nanoseconds": [str(NOW + n) for n in range(COUNT)],
    "six decimals": [f"1700000000.{n:06d}" for n in range(COUNT)],
    "decimals in some": [str(n // 3) + (("", ".25", ".5")[n % 3]) for n in range(COUNT)],
    "signs": [f"{n - 50:+d}" for n in range(COUNT)],
    "floats of any size": [repr((n - 50) ** 3 * 1.1e-9 / 7 + (n == 99) * 1e12) for n in range(COUNT)],
    "exponents": [f"{n + 1}e{n // 9}" for n in range(COUNT)],
    "ISO nanoseconds": [f"2024-01-05 10:00:00.{n:09d}" for n in range(COUNT)],
    "ISO nanoseconds with Z": [f"2024-01-05T10:00:00.{n:09d}Z" for n in range(COUNT)],
    "nanoseconds in some": [f"2024-01-05 10:{n:02d}:00" if n < 50 else f"2024-01-05 10:50:00.{n:09d}" for n in range(COUNT)][
        :COUNT
    ],
    "day/month with nanoseconds": [f"25/01/2024 10:00:00.{n:09d}" for n in range(COUNT)],
}


@pytest.mark.parametrize("kept", [1, 1 << 30], ids=["on the disk", "in memory"])
@pytest.mark.parametrize("block", [1 << 22, 300])
@pytest.mark.parametrize("kind", TEXTS)
def test_numbers_and_instants_in_text_are_compared_exactly(tmp_path, monkeypatch, kind, block, kept):
    monkeypatch.setattr(blocks, "READ_NBYTES", block)
    monkeypatch.setattr(samples, "max_nbytes", lambda: kept)
    assert order(log(tmp_path / "a.csv", TEXTS[kind])) == list(range(COUNT))


LATE = {int(place) for place in SHUFFLE[50:]}  # stand in later blocks than all others
FINER = {
    "decimals": ({n: f"{n}" for n in range(COUNT)}, {n: f"{n}.0000{n:02d}" for n in LATE}),
    "decimals and signs": ({n: f"{n - 50}" for n in range(COUNT)}, {n: f"{n - 50}.25" for n in LATE}),
    "floats": ({n: f"{n}.1" for n in range(COUNT)}, {n: f"{n + 1}e30" for n in LATE}),
    "floats of 15 digits": ({n: f"{n // 30}.{12345678901200 + n}" for n in range(COUNT)}, {n: f"{n + 1}e30" for n in LATE}),
    "ISO nanoseconds": (
        {n: f"2024-01-05 1{n // 60}:{n % 60:02d}:00Z" for n in range(COUNT)},
        {n: f"2024-01-05 1{n // 60}:{n % 60:02d}:00.000000{n:03d}Z" for n in LATE},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kept", [1, 1 << 30], ids=["on the disk", "in memory"])
@pytest.mark.parametrize("kind", FINER)
def test_times_with_more_digits_in_a_later_block_stand_in_order(tmp_path, monkeypatch, kind, kept):
    monkeypatch.setattr(blocks, "READ_NBYTES", 200)
    monkeypatch.setattr(samples, "max_nbytes", lambda: kept)
    monkeypatch.setattr(samples, "SORT_SAMPLES", 7)
    monkeypatch.setattr(samples, "STRIDE", 1)
    early, late = FINER[kind]
    times = early | late
    exact = {n: pd.Timestamp(cell) if "ISO" in kind else Decimal(cell) for n, cell in times.items()}
    standing = [int(place) for place in SHUFFLE]
    assert order(log(tmp_path / "a.csv", [times[n] for n in range(COUNT)])) == sorted(standing, key=exact.__getitem__)


@pytest.mark.parametrize("late", ["03/04/2024", "30/04/2024"])
def test_days_that_equal_their_months_are_open_until_a_later_block(tmp_path, monkeypatch, late):
    monkeypatch.setattr(blocks, "READ_NBYTES", 200)
    times = {int(place): f"{n % 12 + 1:02d}/{n % 12 + 1:02d}/2024" for n, place in enumerate(SHUFFLE)}
    times[int(SHUFFLE[80])] = late
    path = log(tmp_path / "a.csv", [times[n] for n in range(COUNT)])
    if late == "03/04/2024":
        with pytest.raises(BadFile, match=r"a\.csv:\d+: t='.*may be %d/%m/%Y or %m/%d/%Y"):
            read_file(path)
    days = {n: datetime.strptime(cell, "%d/%m/%Y") for n, cell in times.items()}
    assert advised(path) == sorted(map(int, SHUFFLE), key=days.__getitem__)


def test_an_open_frame_is_refused_with_its_row_in_a_sentence():
    frame = pd.DataFrame({"y": [n % 2 for n in range(COUNT)], "a": range(COUNT), "t": DAYS.strftime("%y/%m/%d")})
    with pytest.raises(BadFile, match="row 1: t='24/01/05' may be %d/%m/%y or %y/%m/%d"):
        fit(frame, mapping={"label": "y", "ids": ["a"], "time": "t"})


CLOSE = {
    "decimals": [f"1700000000.{n:09d}" for n in range(COUNT)],
    "beyond 2^63": [str(2**63 - 50 + n) for n in range(COUNT)],
    "ISO": [f"2024-01-05 10:00:00.{n:012d}" for n in range(COUNT)],
    "uint64": pa.array([2**63 - 50 + n for n in range(COUNT)], "uint64"),
    "decimal": pa.array([Decimal(NOW + n) / 10**9 for n in range(COUNT)], pa.decimal128(30, 9)),
    "a fraction among nanoseconds": [str(NOW + n) if n != SHUFFLE[70] else f"{n}.5" for n in range(COUNT)],
}


@pytest.mark.parametrize("kind", CLOSE)
def test_times_closer_than_can_be_told_apart_are_refused(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(blocks, "READ_NBYTES", 300)
    with pytest.raises(BadFile, match=r"a\.[a-z]+:\d+: t=.*digits"):
        read_file(log(tmp_path / ("a.csv" if isinstance(CLOSE[kind], list) else "a.parquet"), CLOSE[kind]))


@pytest.mark.parametrize("kind", ["int64 nanoseconds", "floats", "timestamp[ns]", "date32", "decimal"])
def test_a_time_format_over_a_column_that_is_no_text_is_refused(tmp_path, kind):
    path = log(tmp_path / "a.parquet", COLUMNS[kind], 'time_format = "%d%m%Y"\n')
    with pytest.raises(BadFile, match=r"a\.parquet:1: t is a column of .*time_format has no effect"):
        read_file(path)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_time_format_reads_dates_in_digits_alone(tmp_path, suffix):
    times = list(DAYS.strftime("%d%m%Y"))
    assert order(log(tmp_path / f"a.{suffix}", times, 'time_format = "%d%m%Y"\n')) == rising(times, "%d%m%Y")


def test_a_time_format_that_strptime_does_not_know_is_refused(tmp_path):
    with pytest.raises(BadFile, match=r"time_format='%q' is not a format"):
        read_file(log(tmp_path / "a.csv", list(DAYS.strftime("%d/%m/%Y")), 'time_format = "%q"\n'))
