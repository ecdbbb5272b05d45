"""The times of a column as whole numbers that sort in the same order (keys).

Times are numbers, ISO 8601 with or without a zone, or texts in one strptime format.
The format is found from all cells of the first block, and holds for the whole file. If a day could also be a month or a year, a
mapping must name the format: time_format = "%d/%m/%Y".
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow
from pyarrow import ArrowInvalid, ArrowNotImplementedError, compute, types

from ...core.arrays import Ints
from ...errors import BadFile
from .cells import column_numbers, is_text, plain_column
from .ids import Place
from .records import is_number
from .time_formats import candidate_formats, format_for_each_reading, formats_for_all, read_instants
from .time_keys import Rekey, TimeKeys

ISO = "ISO8601"  # pandas' word
REMEDY = "write it in every row, as seconds or as YYYY-MM-DD HH:MM:SS"
MOST_DIGITS = 17  # digits of numbers with a point: those of a float
MOST_DAYS = 10_000  # days with a remembered cell each
BELOW_NANOSECONDS = r"\.\d{9}\d*[1-9]"


class AmbiguousTimes(BadFile):
    """The refusal of times that several formats read as different times."""

    def __init__(self, *sentences: object, formats: tuple[str, ...] = (), **details: str) -> None:
        """Start with the sentence and the formats."""
        super().__init__(*sentences, **details)
        self.formats = list(formats)

    @classmethod
    def for_cell(cls, cell_text: str, formats: list[str]) -> "AmbiguousTimes":
        """Return the refusal for a cell.

        `cell_text` is its place and content, the begin of the message; `formats` are the possible formats.
        """
        advice = f'choose one in the mapping: time_format = "{formats[0]}"'
        return cls(f"{cell_text} may be {' or '.join(formats[:4])}; {advice}.", formats=tuple(formats))

    def resolve(self, rest: Iterable[tuple[Any, Place]]) -> BadFile:
        """Return the refusal, after the `rest` of the column has been tried.

        The refusal names the one format that reads the rest, or all formats if several do.
        """
        formats = self.formats
        for texts, place in rest:
            formats_left = formats_for_all(formats, texts)
            if not formats_left:
                return _unlike_refusal(texts, place, formats)
            if len(formats_left) == 1:
                bad_row = min(_first_bad(time_format, texts) for time_format in formats if time_format not in formats_left)
                return BadFile(
                    f"{_cell(texts, place, bad_row)} and all times before can only be read by {formats_left[0]}; say so in the "
                    f'mapping: time_format = "{formats_left[0]}".'
                )
            formats = formats_left
        return AmbiguousTimes.for_cell(str(self).partition(" may be ")[0], formats)


class Times:
    """A function that reads a column's times, block by block.

    The format is found from the first block.
    """

    def __init__(self, time_format: str = "") -> None:
        """Start with the strptime format that a mapping names, or none."""
        self._time_format = time_format
        self._formats: list[str] = [time_format] if time_format else []
        self._numeric: bool | None = False if time_format else None
        self._keys = TimeKeys()
        self._days: dict[int, str] = {}  # a cell of each earlier day, on which another format is tried

    def __call__(self, column: Any, place: Place) -> Ints:
        """Return each cell's time as a key in the same order; raises BadFile."""
        column = plain_column(column)
        if isinstance(column, pyarrow.ChunkedArray):
            column = column.combine_chunks()
        if self._time_format and not is_text(column.type):
            advice = (
                "take it away" if types.is_temporal(column.type) else f"write the column as text that {self._time_format} reads"
            )
            raise BadFile(f"{place(0)} is a column of {column.type}, for which time_format has no effect; {advice}.")
        if not len(column):
            return np.zeros(0, np.int64)
        if types.is_temporal(column.type):
            keys = self._keys.keys_of_whole(_temporal(column, place))
        elif self._is_numeric(column):
            keys = self._of_numbers(column, place)
        else:
            times = self._instants(column, place)
            keys = self._keys.keys_of_whole(times.astype(np.int64), 9 if times.dtype == "datetime64[ns]" else 6)
        if keys is None:
            raise BadFile(
                f"{_cell(column, place)} is in a column of times with too many digits to tell them apart; write fewer digits."
            )
        return keys

    def _is_numeric(self, column: Any) -> bool:
        if self._numeric is None and is_text(column.type):
            self._numeric = is_number(column[0].as_py() or "")
        return bool(self._numeric) or not is_text(column.type)

    def rekey(self) -> Rekey | None:
        """Return the function that converts the keys of earlier blocks, or None.

        The converted keys match those of the last block. The function is returned once.
        """
        return self._keys.rekey()

    def _of_numbers(self, column: Any, place: Place) -> Ints | None:
        floats = column_numbers(column, place, REMEDY)
        with suppress(ArrowInvalid):  # whole numbers of any type
            return self._keys.keys_of_whole(column.cast("int64").to_numpy(zero_copy_only=False))
        if types.is_integer(column.type):
            return None
        if is_text(column.type) or types.is_decimal(column.type):
            is_long = _is_too_long(column)
            if is_long.any():
                row = int(is_long.argmax())
                raise BadFile(f"{_cell(column, place, row)} has too many digits; write at most {MOST_DIGITS} digits.")
        return self._keys.keys_of_floats(floats)

    def _instants(self, texts: Any, place: Place) -> Any:
        """Return the instants of texts, by the formats that have read all blocks before; raises BadFile."""
        if not self._formats:
            self._formats = _formats(texts, place)
        if self._formats == [ISO]:
            times = _by_iso(texts)
            self._check_digits(texts, place)
            bad_rows = np.flatnonzero(np.isnat(times))
            if len(bad_rows):
                raise BadFile(
                    f"{_cell(texts, place, bad_rows[0])} has another format than the times before it; write all in one format."
                )
            return times
        try:
            readings = {time_format: read_instants(time_format, texts) for time_format in self._formats}
        except ValueError as error:
            raise BadFile(
                f"{place(0)}: time_format={self._time_format[:40]!r} is not a format of strptime ({error}); correct it."
            ) from error
        formats_left = [time_format for time_format, times in readings.items() if not np.isnat(times).any()]
        if not formats_left:
            raise self._other_format(texts, place)
        if len(formats_left) > 1 and len(unlike_formats := format_for_each_reading(formats_left, texts)) > 1:
            raise AmbiguousTimes.for_cell(_cell(texts, place), unlike_formats)
        self._formats, times = formats_left, readings[formats_left[0]]
        self._remember(texts, times)
        return times

    def _check_digits(self, texts: Any, place: Place) -> None:
        is_too_fine = compute.match_substring_regex(texts, BELOW_NANOSECONDS)
        if compute.any(is_too_fine).as_py():
            row = is_too_fine.to_pylist().index(True)
            raise BadFile(
                f"{_cell(texts, place, row)} has more digits than nanoseconds; write at most nine digits after the point."
            )

    def _remember(self, texts: Any, times: Any) -> None:
        """Remember a cell of each new day."""
        days, rows = np.unique(times.astype("datetime64[D]").astype(np.int64), return_index=True)
        for day, row in zip(days.tolist(), rows.tolist(), strict=True):
            if day not in self._days and len(self._days) <= MOST_DAYS:
                self._days[day] = texts[row].as_py()

    def _other_format(self, texts: Any, place: Place) -> BadFile:
        """Return the refusal of a cell in another format, with a format for all cells if any."""
        bad_row = min(_first_bad(time_format, texts) for time_format in self._formats)
        cell_text, formats_text = _cell(texts, place, bad_row), " or ".join(self._formats[:2])
        blocks = [texts, *([pyarrow.array(list(self._days.values()))] if self._days else [])]
        new_formats = (
            formats_for_all(list(candidate_formats(texts[bad_row].as_py())), *blocks) if len(self._days) <= MOST_DAYS else []
        )
        new_formats = format_for_each_reading(new_formats, *blocks)
        if new_formats:
            reading_text = f"{' or '.join(new_formats[:3])} {'reads' if len(new_formats) == 1 else 'read'} it and all before"
            advice = f'write time_format = "{new_formats[0]}" in the mapping'
            return BadFile(f"{cell_text} does not have the format {formats_text}, but {reading_text}; {advice}.")
        return _unlike_refusal(texts, place, self._formats)


def _cell(texts: Any, place: Place, row: int = 0) -> str:
    """Return a cell with its place, as the beginning of a message."""
    return f"{place(int(row))}={str(texts[int(row)].as_py())[:40]!r}"


def _first_bad(time_format: str, texts: Any) -> int:
    """Return the first row that a format does not read."""
    return int(np.isnat(read_instants(time_format, texts)).argmax())


def _unlike_refusal(texts: Any, place: Place, formats: list[str]) -> BadFile:
    """Return the refusal of the first cell that no format so far reads."""
    bad_row = max(_first_bad(time_format, texts) for time_format in formats)
    return BadFile(
        f"{_cell(texts, place, bad_row)} does not have the format {' or '.join(formats[:3])}; write all times in one format."
    )


def _temporal(column: Any, place: Place) -> Ints:
    """Return a column's dates, times or durations as whole numbers of its own unit; raises BadFile."""
    try:
        int_column = column.cast("int32") if column.type.bit_width == 32 else column
        whole_numbers: Ints = int_column.cast("int64").to_numpy(zero_copy_only=False)
    except (ArrowInvalid, ArrowNotImplementedError) as error:
        raise BadFile(
            f"{place(0)} is a column of {column.type}, which is not a time ({str(error)[:80]}); map another column."
        ) from error
    return whole_numbers


def _is_too_long(column: Any) -> Any:
    """Return flags of the numbers that have more digits than a float."""
    digits = column if is_text(column.type) else column.cast("string")
    for pattern in ("[eE].*$", "[-+.]"):
        digits = compute.replace_substring_regex(digits, pattern, "")
    return compute.greater(compute.utf8_length(compute.utf8_trim(digits, "0")), MOST_DIGITS).to_numpy(zero_copy_only=False)


def _formats(texts: Any, place: Place) -> list[str]:
    """Return the formats that read every cell of the first block.

    Raises BadFile where none does, or two differ.
    """
    if not np.isnat(_by_iso(texts)).any():
        return [ISO]
    formats = formats_for_all(list(candidate_formats(texts[0].as_py())), texts)
    if len(unlike_formats := format_for_each_reading(formats, texts)) > 1:
        raise AmbiguousTimes.for_cell(_cell(texts, place), unlike_formats)
    if formats:
        return formats
    bad_row = int(np.isnat(_by_iso(texts)).argmax())
    if not np.isnat(_by_iso(texts[:1])).any() or not (
        first_formats := formats_for_all(list(candidate_formats(texts[0].as_py())), texts[:1])
    ):
        raise BadFile(
            f"{_cell(texts, place, bad_row)} is neither a number nor a time; {REMEDY}, or give its format in the mapping: "
            'time_format = "%d/%m/%Y %H:%M".'
        )
    raise _unlike_refusal(texts, place, first_formats)


def _by_iso(texts: Any) -> Any:
    """Return ISO dates and times as instants, NaT for other texts.

    Texts without Z or an offset are in UTC. Arrow is fast where no text has an offset.
    """
    for unit in ("us", "ns"):
        with suppress(ArrowInvalid):
            return compute.cast(texts, f"timestamp[{unit}]").to_numpy(zero_copy_only=False)
    return read_instants(ISO, texts)
