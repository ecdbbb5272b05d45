"""Times of a column as numbers that rise: numbers, dates and times of ISO 8601 with or without a zone, or day/month/year.

How times are written is found out in the first block, by all of its cells, and holds for the whole file. Where a day could
be a month, a mapping says it: time_format = "%d/%m/%Y".
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from pyarrow import ArrowInvalid, compute, types

from ...core.arrays import Floats
from ...errors import BadFile
from .cells import is_number, is_text, numbers, plain
from .ids import Place

SEPARATORS = "/-."
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M:%S", ", %H:%M:%S", " %I:%M:%S %p", " %I:%M %p")
ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y")
MONTH_NAME = r"[A-Za-z]{3,}"
REMEDY = "write it in every row, as seconds or as YYYY-MM-DD HH:MM:SS"
Instants = Callable[[Any], Any]  # from texts to pandas' times, NaT for what is written otherwise


class Times:
    """Reads the times of a file's column, block by block, all by the way of writing of the first block."""

    def __init__(self, written: str = "") -> None:
        """Start with the strptime format that a mapping names, or none."""
        self._written = written
        self._read: Instants | None = partial(_by_format, written) if written else None
        self._numeric: bool | None = False if written else None

    def __call__(self, column: Any, place: Place) -> Floats:
        """Return each cell's time: of dates the microseconds since 1970, of numbers the number; raises BadFile."""
        column = plain(column)
        if types.is_temporal(column.type):
            return _microseconds(column, place)
        if not is_text(column.type) or not len(column):
            return numbers(column, place, REMEDY)
        if self._numeric is None:
            self._numeric = is_number(column[0].as_py() or "")
        if self._numeric:
            return numbers(column, place, REMEDY)
        if self._read is None:
            self._read = _reader(column, place)
        instants = self._read(column)
        bad = np.flatnonzero(np.isnat(instants))
        if len(bad):
            way = f"in the format {self._written}" if self._written else "as the times before it"
            raise BadFile(f"{place(bad[0])}={column[bad[0]].as_py()[:40]!r} is not a time written {way}; write all alike.")
        return np.asarray(instants.astype("datetime64[us]").astype(np.int64), dtype=np.float64)


def _microseconds(column: Any, place: Place) -> Floats:
    try:
        whole = (
            column.cast("timestamp[us]", safe=False) if types.is_timestamp(column.type) or types.is_date(column.type) else column
        )
        found: Floats = whole.cast("int64").cast("float64", safe=False).to_numpy(zero_copy_only=False)
    except ArrowInvalid as error:
        raise BadFile(f"{place(0)} is a column of {column.type} that is no time ({str(error)[:80]}); map another one.") from error
    return found


def _reader(texts: Any, place: Place) -> Instants:
    """Return what reads every cell of the first block; raises BadFile where nothing does, or two ways do."""
    if not np.isnat(_by_iso(texts)).any():
        return _by_iso
    good = time_formats(texts)
    if len(good) > 1:
        raise BadFile(
            f"{place(0)}={texts[0].as_py()[:40]!r} may be {' or '.join(good[:3])}; say which in the mapping: "
            f'time_format = "{good[0]}".'
        )
    if good:
        return partial(_by_format, good[0])
    named = compute.match_substring_regex(texts, MONTH_NAME)
    if compute.all(named).as_py() and not np.isnat(_by_name(texts)).any():
        return _by_name
    bad = next((row for row in range(len(texts)) if np.isnat(_by_iso(texts[row : row + 1])).any()), 0)
    raise BadFile(
        f"{place(bad)}={texts[bad].as_py()[:40]!r} is neither a number nor a time; {REMEDY}, or say in the mapping how it is "
        'written: time_format = "%d/%m/%Y %H:%M".'
    )


def time_formats(texts: Any) -> list[str]:
    """Return the strptime formats of days, months and years in numbers that read all texts: two where a day could be a month."""
    ways = [order.format(mark) + clock for order in ORDERS for mark in SEPARATORS for clock in CLOCKS]
    for some in (texts[: min(len(texts), 20)], texts):
        ways = [way for way in ways if not np.isnat(_by_format(way, some)).any()]
    return ways


def _by_iso(texts: Any) -> Any:
    """Read ISO dates and times, some or all with Z or an offset; those without are UTC. Arrow is quick where none has one."""
    with suppress(ArrowInvalid):
        return compute.cast(texts, "timestamp[us]").to_numpy(zero_copy_only=False)
    return _by_format("ISO8601", texts)


def _by_format(written: str, texts: Any) -> Any:
    """Read texts by a format of strptime's or a word of pandas' for one, NaT for what is written otherwise; without zones."""
    import pandas  # late: it takes a second, and most times are numbers

    times = pandas.to_datetime(pandas.Series(texts.to_pylist()), format=written, utc=True, errors="coerce")
    return times.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")


def _by_name(texts: Any) -> Any:
    """Read dates that name their month, which no order of numbers makes ambiguous."""
    return _by_format("mixed", texts)
