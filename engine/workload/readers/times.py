"""Times of a column as keys that rise: numbers, dates and times of ISO 8601 with or without a zone, or by one strptime format.

How times are written is found out in the first block, by all of its cells, and holds for the whole file. Where a day could
be a month, or a year, a mapping says it: time_format = "%d/%m/%Y".
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow
from pyarrow import ArrowInvalid, ArrowNotImplementedError, compute, types

from ...core.arrays import Ints
from ...errors import BadFile
from .cells import is_number, is_text, numbers, plain
from .ids import Place
from .time_formats import candidates, instants, of_each_reading, reading_all
from .time_keys import Rekey, TimeKeys

ISO = "ISO8601"  # pandas' word
REMEDY = "write it in every row, as seconds or as YYYY-MM-DD HH:MM:SS"
MOST_DIGITS = 17  # of numbers with a point: so many has a float, written as it is
MOST_DAYS = 10_000  # of which a cell each is remembered
BELOW_NANOSECONDS = r"\.\d{9}\d*[1-9]"


class OpenTimes(BadFile):
    """The refusal of times that several formats read, each another way."""

    def __init__(self, *said: object, formats: tuple[str, ...] = (), **more: str) -> None:
        """Start with the sentence and the formats."""
        super().__init__(*said, **more)
        self.formats = list(formats)

    @classmethod
    def at_cell(cls, where: str, formats: list[str]) -> "OpenTimes":
        """Return the refusal of a cell, given as a message begins."""
        advice = f'say which in the mapping: time_format = "{formats[0]}"'
        return cls(f"{where} may be {' or '.join(formats[:4])}; {advice}.", formats=tuple(formats))

    def settled(self, rest: Iterable[tuple[Any, Place]]) -> BadFile:
        """Return the refusal with the one format that the rest of the column leaves, or this one where several are left."""
        formats = self.formats
        for texts, place in rest:
            left = reading_all(formats, texts)
            if not left:
                return _unlike(texts, place, formats)
            if len(left) == 1:
                bad = min(_first_bad(written, texts) for written in formats if written not in left)
                return BadFile(
                    f"{_cell(texts, place, bad)} and all before may be read by {left[0]} alone; say so in the mapping: "
                    f'time_format = "{left[0]}".'
                )
            formats = left
        return OpenTimes.at_cell(str(self).partition(" may be ")[0], formats)


class Times:
    """Reads the times of a file's column, block by block, all by the way of writing of the first block."""

    def __init__(self, written: str = "") -> None:
        """Start with the strptime format that a mapping names, or none."""
        self._written = written
        self._formats: list[str] = [written] if written else []
        self._numeric: bool | None = False if written else None
        self._keys = TimeKeys()
        self._days: dict[int, str] = {}  # a cell of each day before, on which another format is tried

    def __call__(self, column: Any, place: Place) -> Ints:
        """Return each cell's time as a key in the same order; raises BadFile."""
        column = plain(column)
        if isinstance(column, pyarrow.ChunkedArray):
            column = column.combine_chunks()
        if self._written and not is_text(column.type):
            way = "take it away" if types.is_temporal(column.type) else f"write the column as text that {self._written} reads"
            raise BadFile(f"{place(0)} is a column of {column.type}, where time_format does nothing; {way}.")
        if not len(column):
            return np.zeros(0, np.int64)
        if types.is_temporal(column.type):
            keys = self._keys.of_whole(_temporal(column, place))
        elif self._is_numeric(column):
            keys = self._of_numbers(column, place)
        else:
            times = self._instants(column, place)
            keys = self._keys.of_whole(times.astype(np.int64), 9 if times.dtype == "datetime64[ns]" else 6)
        if keys is None:
            raise BadFile(f"{_cell(column, place)} stands among times with more digits than can be kept apart; write fewer.")
        return keys

    def _is_numeric(self, column: Any) -> bool:
        if self._numeric is None and is_text(column.type):
            self._numeric = is_number(column[0].as_py() or "")
        return bool(self._numeric) or not is_text(column.type)

    def rekey(self) -> Rekey | None:
        """Return once what makes keys of all blocks before the last one like those of the last, None where they are."""
        return self._keys.rekey()

    def _of_numbers(self, column: Any, place: Place) -> Ints | None:
        floats = numbers(column, place, REMEDY)
        with suppress(ArrowInvalid):  # whole numbers, however they are kept
            return self._keys.of_whole(column.cast("int64").to_numpy(zero_copy_only=False))
        if types.is_integer(column.type):
            return None
        if is_text(column.type) or types.is_decimal(column.type):
            long = _long(column)
            if long.any():
                row = int(long.argmax())
                raise BadFile(
                    f"{_cell(column, place, row)} has more digits than can be kept apart; write at most {MOST_DIGITS} digits."
                )
        return self._keys.of_floats(floats)

    def _instants(self, texts: Any, place: Place) -> Any:
        """Return the instants of texts, by the formats that have read all before; raises BadFile where none does."""
        if not self._formats:
            self._formats = _formats(texts, place)
        if self._formats == [ISO]:
            times = _by_iso(texts)
            self._check_digits(texts, place)
            bad = np.flatnonzero(np.isnat(times))
            if len(bad):
                raise BadFile(f"{_cell(texts, place, bad[0])} is not a time written as the times before it; write all alike.")
            return times
        try:
            readings = {written: instants(written, texts) for written in self._formats}
        except ValueError as error:
            raise BadFile(
                f"{place(0)}: time_format={self._written[:40]!r} is no format of strptime ({error}); mend it."
            ) from error
        left = [written for written, times in readings.items() if not np.isnat(times).any()]
        if not left:
            raise self._other_format(texts, place)
        if len(left) > 1 and len(unlike := of_each_reading(left, texts)) > 1:
            raise OpenTimes.at_cell(_cell(texts, place), unlike)
        self._formats, times = left, readings[left[0]]
        self._remember(texts, times)
        return times

    def _check_digits(self, texts: Any, place: Place) -> None:
        fine = compute.match_substring_regex(texts, BELOW_NANOSECONDS)
        if compute.any(fine).as_py():
            row = fine.to_pylist().index(True)
            raise BadFile(
                f"{_cell(texts, place, row)} has more digits than nanoseconds have; write at most nine behind the point."
            )

    def _remember(self, texts: Any, times: Any) -> None:
        """Keep a cell of each day that is new."""
        days, rows = np.unique(times.astype("datetime64[D]").astype(np.int64), return_index=True)
        for day, row in zip(days.tolist(), rows.tolist(), strict=True):
            if day not in self._days and len(self._days) <= MOST_DAYS:
                self._days[day] = texts[row].as_py()

    def _other_format(self, texts: Any, place: Place) -> BadFile:
        """Return the refusal of a cell that is written otherwise, with a format that reads it and all before, if there is one."""
        bad = min(_first_bad(written, texts) for written in self._formats)
        where, shown = _cell(texts, place, bad), " or ".join(self._formats[:2])
        blocks = [texts, *([pyarrow.array(list(self._days.values()))] if self._days else [])]
        found = reading_all(list(candidates(texts[bad].as_py())), *blocks) if len(self._days) <= MOST_DAYS else []
        found = of_each_reading(found, *blocks)
        if found:
            reads = f"{' or '.join(found[:3])} {'reads' if len(found) == 1 else 'read'} it and all before"
            advice = f'write in the mapping time_format = "{found[0]}"'
            return BadFile(f"{where} is not a time written as {shown}, but {reads}; {advice}.")
        return _unlike(texts, place, self._formats)


def _cell(texts: Any, place: Place, row: int = 0) -> str:
    """Return a cell and where it stands, as a message begins."""
    return f"{place(int(row))}={str(texts[int(row)].as_py())[:40]!r}"


def _first_bad(written: str, texts: Any) -> int:
    """Return the first row that a format does not read."""
    return int(np.isnat(instants(written, texts)).argmax())


def _unlike(texts: Any, place: Place, formats: list[str]) -> BadFile:
    """Return the refusal of the first cell that one of some formats does not read, though they have read all before."""
    bad = max(_first_bad(written, texts) for written in formats)
    return BadFile(f"{_cell(texts, place, bad)} is not a time written as {' or '.join(formats[:3])}; write all alike.")


def _temporal(column: Any, place: Place) -> Ints:
    """Return a column's dates, times or durations as whole numbers of its own unit; raises BadFile."""
    try:
        whole = column.cast("int32") if column.type.bit_width == 32 else column
        found: Ints = whole.cast("int64").to_numpy(zero_copy_only=False)
    except (ArrowInvalid, ArrowNotImplementedError) as error:
        raise BadFile(f"{place(0)} is a column of {column.type} that is no time ({str(error)[:80]}); map another one.") from error
    return found


def _long(column: Any) -> Any:
    """Return which numbers have more digits than floats keep apart."""
    digits = column if is_text(column.type) else column.cast("string")
    for pattern in ("[eE].*$", "[-+.]"):
        digits = compute.replace_substring_regex(digits, pattern, "")
    return compute.greater(compute.utf8_length(compute.utf8_trim(digits, "0")), MOST_DIGITS).to_numpy(zero_copy_only=False)


def _formats(texts: Any, place: Place) -> list[str]:
    """Return the formats that read every cell of the first block alike; raises BadFile where none does, or two differ."""
    if not np.isnat(_by_iso(texts)).any():
        return [ISO]
    formats = reading_all(list(candidates(texts[0].as_py())), texts)
    if len(unlike := of_each_reading(formats, texts)) > 1:
        raise OpenTimes.at_cell(_cell(texts, place), unlike)
    if formats:
        return formats
    bad = int(np.isnat(_by_iso(texts)).argmax())
    if not np.isnat(_by_iso(texts[:1])).any() or not (some := reading_all(list(candidates(texts[0].as_py())), texts[:1])):
        raise BadFile(
            f"{_cell(texts, place, bad)} is neither a number nor a time; {REMEDY}, or say in the mapping how it is "
            'written: time_format = "%d/%m/%Y %H:%M".'
        )
    raise _unlike(texts, place, some)


def _by_iso(texts: Any) -> Any:
    """Read ISO dates and times, some or all with Z or an offset; those without are UTC. Arrow is quick where none has one."""
    for unit in ("us", "ns"):
        with suppress(ArrowInvalid):
            return compute.cast(texts, f"timestamp[{unit}]").to_numpy(zero_copy_only=False)
    return instants(ISO, texts)
