"""The layout of the medium: superblock, table rows, two row-log slots, three MLP-log slots."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Bytes, Ints
from ..core.figures import count
from ..errors import BadInput
from .media import LINE, WORD

TABLE_START = 4096  # the table starts on a page of its own
ROW_SLOTS = 2  # the log being written, and the previous log, which is kept until the new one is complete
MLP_SLOTS = 3  # a log may start while the previous log still waits for its flag
ROW_ID = 8  # bytes of a row number in a row log

Spans = tuple[tuple[int, int], ...]
"""Rows of different sizes: (number of neighbouring rows, bytes of each), in the order of the rows."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Space on the medium for one log record.

    header: the address of the header line, which is the record's flag.
    capacity: the number of payload bytes that fit behind the header.
    """

    header: int
    capacity: int

    @property
    def payload(self) -> int:
        """The address of the first payload byte."""
        return self.header + LINE

    @property
    def stop(self) -> int:
        """The first address after the slot, a multiple of the line size."""
        return _round(self.payload + self.capacity, LINE)


class RowSpan(NamedTuple):
    """Neighbouring rows of one size, and their place on the medium.

    first_row: the number of the first row.
    num_rows: the number of rows.
    row_bytes: the bytes of a row's values.
    stored_bytes: the bytes of a stored row: its values, and its checksum if rows have one.
    stride: the bytes from the start of a row to the start of the next row.
    base: row r begins at the address base + r * stride.
    offset: the position of the first row's values among the values of all rows, row after row [bytes].
    words: the number of words that a row's values take, the last word perhaps in part.
    word: the first word of row r has the number word + r * words among all words that the table's digest covers.
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
        """Bytes of one row in a row log: the row's number and its stored bytes."""
        return ROW_ID + self.stored_bytes

    @property
    def end_row(self) -> int:
        """The number of the span's last row, plus 1."""
        return self.first_row + self.num_rows

    @property
    def rows(self) -> Ints:
        """The numbers of the span's rows, (num_rows,)."""
        return np.arange(self.first_row, self.end_row)


@dataclass(frozen=True)
class MediumLayout:
    """The layout of one medium; sizes are in bytes and include the optimizer state.

    num_rows: the number of rows of the table.
    row_bytes: the size of all rows, or their `Spans`: pairs (number of rows, size).
    mlp_bytes: the bytes of the MLPs.
    max_log_rows: the largest number of rows that one batch changes.
    row_checksums: True if a checksum of one word follows the values of each row, in the table and in the logs.
    max_log_bytes: the capacity of a row-log slot if rows differ in size; `layout_for` computes it.

    Rows start at multiples of the word size, so that no atomic word holds parts of two rows.
    """

    num_rows: int
    row_bytes: int | Spans
    mlp_bytes: int
    max_log_rows: int
    row_checksums: bool = False
    max_log_bytes: int = 0

    def __post_init__(self) -> None:
        if (rows := total(rows for rows, _ in self.sizes)) != self.num_rows:
            raise BadInput(
                f"persistence.row_bytes has sizes for {count(rows, 'row')}, but the table has {self.num_rows}; give each one."
            )

    @property
    def has_mixed_sizes(self) -> bool:
        """True if rows differ in size.

        The values of rows are then flat bytes, row after row, instead of an array (rows, row_bytes).
        """
        return isinstance(self.row_bytes, tuple)

    @property
    def sizes(self) -> Spans:
        """Pairs (number of rows, bytes of a row); one pair if all sizes are equal."""
        return self.row_bytes if isinstance(self.row_bytes, tuple) else ((self.num_rows, self.row_bytes),)

    @cached_property
    def spans(self) -> tuple[RowSpan, ...]:
        """The spans of rows of equal size; one span if all sizes are equal."""
        spans, check = list[RowSpan](), WORD if self.row_checksums else 0
        row, address, offset, word = 0, TABLE_START, 0, 0
        for rows, nbytes in self.sizes:
            stride, words = _round(nbytes + check, WORD), -(-nbytes // WORD)
            places = stride, address - row * stride, offset, words, word - row * words
            spans.append(RowSpan(row, rows, nbytes, nbytes + check, *places))
            row, address, offset, word = row + rows, address + rows * stride, offset + rows * nbytes, word + rows * words
        return tuple(spans)

    @cached_property
    def table_end(self) -> int:
        """The first address after the table."""
        return self.row(self.num_rows)

    @cached_property
    def row_slots(self) -> tuple[Slot, ...]:
        """The slots for row logs and checkpoints of the rows."""
        capacity = self.max_log_bytes if self.has_mixed_sizes else self.max_log_rows * self.spans[0].entry_bytes
        return _slots(_round(self.table_end, LINE), capacity, ROW_SLOTS)

    @cached_property
    def mlp_slots(self) -> tuple[Slot, ...]:
        """The slots for MLP logs and checkpoints of the MLPs."""
        return _slots(self.row_slots[-1].stop, self.mlp_bytes, MLP_SLOTS)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """All slots: those for rows, then those for the MLPs."""
        return self.row_slots + self.mlp_slots

    @property
    def nbytes(self) -> int:
        """The number of bytes that the medium must have."""
        return self.mlp_slots[-1].stop

    @cached_property
    def size_word(self) -> int:
        """The superblock's word about row sizes: the only size, or a digest of all sizes.

        The digest of different sizes is larger than any size, so the two cannot be confused.
        """
        if not isinstance(self.row_bytes, tuple):
            return self.row_bytes
        words = np.array([*self.row_bytes, (self.max_log_bytes, 0)], "<u8").tobytes()
        return int.from_bytes(blake2b(words, digest_size=WORD).digest(), "little") | 1 << 63

    def row(self, row: int) -> int:
        """Return the address of a table row."""
        span = self._span(row)
        return span.base + row * span.stride

    def value_slice(self, row: int) -> slice:
        """Return the byte range of a row's values among the values of all rows."""
        span = self._span(row)
        start = span.offset + (row - span.first_row) * span.row_bytes
        return slice(start, start + span.row_bytes)

    def places(self, rows: Ints) -> tuple[Ints, Ints | int]:
        """Return (addresses of the rows, stored bytes of each row).

        The addresses are (rows,). The stored bytes are an array (rows,), or one number if all sizes are equal.
        """
        if len(self.spans) == 1:
            return self.spans[0].base + rows * self.spans[0].stride, self.spans[0].stored_bytes
        _, nbytes, stride, base = self._columns[:, self._numbers(rows)]
        return base + rows * stride, nbytes

    def log_bytes(self, rows: Ints) -> int:
        """Return the payload bytes of a row log with these rows."""
        return int(self._columns[1, self._numbers(rows)].sum()) + rows.size * ROW_ID

    def parts(self, values: Bytes) -> list[Bytes]:
        """Return the flat values of all rows split by span, each (num_rows, row_bytes)."""
        ends = [*(span.offset for span in self.spans[1:]), values.size]
        spans = zip(self.spans, ends, strict=True)
        return [values[span.offset : end].reshape(span.num_rows, span.row_bytes) for span, end in spans]

    def runs(self, rows: Ints, values: Bytes, with_checksums: bool = False) -> Iterator[tuple[RowSpan, Ints, Bytes]]:
        """Yield (span, row numbers, values) for each run of `rows` in one span.

        The yielded values are (rows, bytes of each). The flat argument `values` has the bytes of all `rows`, row after row;
        `with_checksums` says whether each row's checksum follows its values.
        """
        if len(self.spans) == 1:
            span = self.spans[0]
            yield span, rows, values.reshape(rows.size, span.stored_bytes if with_checksums else span.row_bytes)
            return
        numbers, start = self._numbers(rows), 0
        for low, high in pairwise([*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), rows.size]):
            span = self.spans[numbers[low]]
            nbytes = span.stored_bytes if with_checksums else span.row_bytes
            end = start + (high - low) * nbytes if high < rows.size else values.size  # too many or few do not fit the last run
            yield span, rows[low:high], values[start:end].reshape(high - low, nbytes)
            start = end

    def logged_rows(self, payload: bytes) -> Ints:
        """Return the row numbers that begin the payload of a row log.

        The sizes of the rows determine how many there are.
        """
        if len(self.spans) == 1:
            return np.frombuffer(payload, "<i8", len(payload) // self.spans[0].entry_bytes).astype(np.int64)
        smallest_entry = min(span.entry_bytes for span in self.spans)
        words = np.frombuffer(payload, "<i8", len(payload) // smallest_entry).astype(np.int64)  # the last words may be values
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
        """Return the index of each row's span."""
        return np.searchsorted(self._columns[0], rows, "right") - 1


def layout_for(
    num_rows: int, row_bytes: int | Spans, mlp_bytes: int, batches: Sequence[Ints], row_checksums: bool = False
) -> MediumLayout:
    """Return the layout whose row-log slots hold exactly the largest of `batches`.

    A batch is an array of the numbers of the rows that it changes.
    """
    place = MediumLayout(num_rows, row_bytes, mlp_bytes, max([1, *map(len, batches)]), row_checksums)
    return replace(place, max_log_bytes=max(map(place.log_bytes, batches), default=0)) if place.has_mixed_sizes else place


def _slots(start: int, capacity: int, count: int) -> tuple[Slot, ...]:
    size = Slot(0, capacity).stop
    return tuple(Slot(start + index * size, capacity) for index in range(count))


def _round(nbytes: int, unit: int) -> int:
    return -(-nbytes // unit) * unit
