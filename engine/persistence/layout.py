"""The layout of the medium: superblock, table rows, two row-log slots, three MLP-log slots."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..core.arrays import Bytes, Ints
from ..errors import BadInput
from .media import LINE, WORD

DATA = 4096  # the table starts on a page of its own
ROW_SLOTS = 2  # the log being written and the one kept until it is complete
MLP_SLOTS = 3  # a log may start while the one before it still waits for its flag
ROW_ID = 8  # bytes of a row number in a row log

Spans = tuple[tuple[int, int], ...]
"""Rows of unlike sizes: how many neighbouring rows, and the bytes of each, in the order of the rows."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Room for one log record: a header line, which is its flag, and `capacity` bytes of payload."""

    header: int
    capacity: int

    @property
    def payload(self) -> int:
        """Address of the first payload byte."""
        return self.header + LINE

    @property
    def stop(self) -> int:
        """First address behind the slot, on a line border."""
        return _round(self.payload + self.capacity, LINE)


class RowSpan(NamedTuple):
    """Neighbouring rows of one size, and where they stand.

    `first_row`: number of the first one.
    `num_rows`: how many they are.
    `row_bytes`: bytes of the values of each.
    `stored_bytes`: bytes of each as it is stored: its values and, if rows have one, their checksum.
    `stride`: bytes from the start of a row to the start of the next.
    `base`: row r begins at the address base + r * stride.
    `offset`: where the values of the first row begin among those of all rows one after another.
    `words`: words that the values of each fill, the last one perhaps in part.
    `word`: of all words that the table's digest covers, the first one of row r has the number word + r * words.
    """

    first_row: int
    num_rows: int
    row_bytes: int
    stored_bytes: int
    stride: int
    base: int
    offset: int
    words: int
    word: int

    @property
    def entry_bytes(self) -> int:
        """Bytes that one row takes in a row log: its number and all that is stored of it."""
        return ROW_ID + self.stored_bytes

    @property
    def end_row(self) -> int:
        """The number of the row behind the last one."""
        return self.first_row + self.num_rows

    @property
    def rows(self) -> Ints:
        """The numbers of the rows, (num_rows,)."""
        return np.arange(self.first_row, self.end_row)


@dataclass(frozen=True)
class MediumLayout:
    """The map of one medium, for a table of `num_rows` rows; sizes in bytes, optimizer state included.

    `row_bytes` is one size for all rows, or their `Spans`. `max_log_rows` is the largest number of rows that one batch touches;
    where rows are unlike, a slot holds `max_log_bytes`, which `lay_out` counts. Rows start on word borders, so that no atomic
    word ever holds pieces of two rows. With `row_checksums` one word follows the values of each row, at home and in the logs.
    """

    num_rows: int
    row_bytes: int | Spans
    mlp_bytes: int
    max_log_rows: int
    row_checksums: bool = False
    max_log_bytes: int = 0

    def __post_init__(self) -> None:
        if (rows := sum(rows for rows, _ in self.sizes)) != self.num_rows:
            raise BadInput(f"persistence.row_bytes has sizes for {rows} rows, but the table has {self.num_rows}; give each one.")

    @property
    def unlike(self) -> bool:
        """Whether rows have unlike sizes; their values then are flat bytes, row by row, instead of (rows, row_bytes)."""
        return isinstance(self.row_bytes, tuple)

    @property
    def sizes(self) -> Spans:
        """The sizes of all rows; one span where they are alike."""
        return self.row_bytes if isinstance(self.row_bytes, tuple) else ((self.num_rows, self.row_bytes),)

    @cached_property
    def spans(self) -> tuple[RowSpan, ...]:
        """The rows by size and place; one span where they are alike."""
        spans, check = list[RowSpan](), WORD if self.row_checksums else 0
        row, address, offset, word = 0, DATA, 0, 0
        for rows, nbytes in self.sizes:
            stride, words = _round(nbytes + check, WORD), -(-nbytes // WORD)
            places = stride, address - row * stride, offset, words, word - row * words
            spans.append(RowSpan(row, rows, nbytes, nbytes + check, *places))
            row, address, offset, word = row + rows, address + rows * stride, offset + rows * nbytes, word + rows * words
        return tuple(spans)

    @cached_property
    def table_end(self) -> int:
        """First address behind the table."""
        return self.row(self.num_rows)

    @cached_property
    def row_slots(self) -> tuple[Slot, ...]:
        """Slots of the embedding log."""
        capacity = self.max_log_bytes if self.unlike else self.max_log_rows * self.spans[0].entry_bytes
        return _slots(_round(self.table_end, LINE), capacity, ROW_SLOTS)

    @cached_property
    def mlp_slots(self) -> tuple[Slot, ...]:
        """Slots of the MLP log."""
        return _slots(self.row_slots[-1].stop, self.mlp_bytes, MLP_SLOTS)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Every slot of the log region."""
        return self.row_slots + self.mlp_slots

    @property
    def nbytes(self) -> int:
        """Size of the medium that the layout needs."""
        return self.mlp_slots[-1].stop

    @cached_property
    def size_word(self) -> int:
        """What the superblock says of row sizes: the only one, or a digest of unlike ones, too large to be a size."""
        if not isinstance(self.row_bytes, tuple):
            return self.row_bytes
        words = np.array([*self.row_bytes, (self.max_log_bytes, 0)], "<u8").tobytes()
        return int.from_bytes(blake2b(words, digest_size=WORD).digest(), "little") | 1 << 63

    def row(self, row: int) -> int:
        """Return the address of a table row."""
        span = self._span(row)
        return span.base + row * span.stride

    def value_slice(self, row: int) -> slice:
        """Return where the values of a row stand among those of all rows one after another."""
        span = self._span(row)
        start = span.offset + (row - span.first_row) * span.row_bytes
        return slice(start, start + span.row_bytes)

    def places(self, rows: Ints) -> tuple[Ints, Ints | int]:
        """Return the addresses of rows, (rows,), and how many bytes of each are stored: a number if all alike."""
        if len(self.spans) == 1:
            return self.spans[0].base + rows * self.spans[0].stride, self.spans[0].stored_bytes
        _, nbytes, stride, base = self._columns[:, self._numbers(rows)]
        return base + rows * stride, nbytes

    def log_bytes(self, rows: Ints) -> int:
        """Return the bytes that a row log of these rows takes."""
        return int(self._columns[1, self._numbers(rows)].sum()) + rows.size * ROW_ID

    def parts(self, values: Bytes) -> list[Bytes]:
        """Return the flat values of all rows one after another by span, (num_rows, row_bytes) of each."""
        ends = [*(span.offset for span in self.spans[1:]), values.size]
        spans = zip(self.spans, ends, strict=True)
        return [values[span.offset : end].reshape(span.num_rows, span.row_bytes) for span, end in spans]

    def runs(self, rows: Ints, values: Bytes, stored: bool = False) -> Iterator[tuple[RowSpan, Ints, Bytes]]:
        """Yield rows of one span that stand together in `rows`: the span, their numbers, and their values, (rows, bytes of each).

        The flat `values` are those of all `rows` one after another, as they are `stored` or without checksums.
        """
        if len(self.spans) == 1:
            span = self.spans[0]
            yield span, rows, values.reshape(rows.size, span.stored_bytes if stored else span.row_bytes)
            return
        numbers, start = self._numbers(rows), 0
        for low, high in pairwise([*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), rows.size]):
            span = self.spans[numbers[low]]
            nbytes = span.stored_bytes if stored else span.row_bytes
            end = start + (high - low) * nbytes if high < rows.size else values.size  # too many or few do not fit the last run
            yield span, rows[low:high], values[start:end].reshape(high - low, nbytes)
            start = end

    def logged_rows(self, payload: bytes) -> Ints:
        """Return the row numbers that a row log begins with; how many there are follows from their sizes."""
        if len(self.spans) == 1:
            return np.frombuffer(payload, "<i8", len(payload) // self.spans[0].entry_bytes).astype(np.int64)
        least = min(span.entry_bytes for span in self.spans)
        words = np.frombuffer(payload, "<i8", len(payload) // least).astype(np.int64)  # the last ones are values, perhaps
        ends = np.cumsum(self._columns[1, self._numbers(words)] + ROW_ID)
        return words[: np.searchsorted(ends, len(payload), "right")]

    @cached_property
    def _columns(self) -> Ints:
        return np.array([(span.first_row, span.stored_bytes, span.stride, span.base) for span in self.spans]).T

    @cached_property
    def _first_rows(self) -> list[int]:
        return [span.first_row for span in self.spans]

    def _span(self, row: int) -> RowSpan:
        return self.spans[bisect_right(self._first_rows, row) - 1]

    def _numbers(self, rows: Ints) -> Ints:
        """Return in which of the spans rows are."""
        return np.searchsorted(self._columns[0], rows, "right") - 1


def lay_out(
    num_rows: int, row_bytes: int | Spans, mlp_bytes: int, batches: Sequence[Ints], row_checksums: bool = False
) -> MediumLayout:
    """Return the layout whose row-log slots hold the largest of these batches, given by their row numbers, and no more."""
    place = MediumLayout(num_rows, row_bytes, mlp_bytes, max([1, *map(len, batches)]), row_checksums)
    return replace(place, max_log_bytes=max(map(place.log_bytes, batches), default=0)) if place.unlike else place


def _slots(start: int, capacity: int, count: int) -> tuple[Slot, ...]:
    size = Slot(0, capacity).stop
    return tuple(Slot(start + index * size, capacity) for index in range(count))


def _round(nbytes: int, unit: int) -> int:
    return -(-nbytes // unit) * unit
