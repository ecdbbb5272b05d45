"""Checksums of rows and of the whole table: sums of mixed words.

The sum does not depend on the order of the words.
A batch changes the table's digest by the difference of its rows' sums. One changed word always changes its row's sum, because
mixing is a bijection for each place; several changes cancel out only by chance, with probability 2**-64.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Bytes, Ints, Words
from .layout import MediumLayout, RowSpan
from .media import WORD, flat_bytes

KEY = 0x656D626572706F6F  # any odd constant: a table of zeros must not have the digest 0
# The finaliser of SplitMix64 (Steele et al., OOPSLA 2014).
STEPS = tuple((np.uint64(shift), np.uint64(factor)) for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)))
LAST_SHIFT = np.uint64(31)
MODULUS = 2**64


def row_digests(span: RowSpan, rows: Ints, values: Bytes) -> Words:
    """Return the checksum of each row of a span, (rows,).

    `values` has the bytes of the rows, (rows, bytes of each). A checksum depends on the row's number and its values.
    """
    words = _words(values)
    sums: Words = _mix(_places(span, rows) + words).sum(axis=1, dtype=np.uint64)
    return sums


def table_digest(layout: MediumLayout, values: NDArray[Any]) -> int:
    """Return the digest of a whole table; `values` are its rows' bytes, row after row."""
    parts = zip(layout.parts(flat_bytes(values)), _table_places(layout.spans), strict=True)
    return sum(int(_mix(_words(part) + places).sum(dtype=np.uint64)) for part, places in parts) % MODULUS


def digest_after_change(
    layout: MediumLayout, digest: int, rows: Ints, values_before: NDArray[Any], values_after: NDArray[Any]
) -> int:
    """Return the table's digest after some rows have changed.

    `digest` is the digest before the change. `values_before` and `values_after` are the bytes of the changed `rows`, row after
    row.
    """
    sum_before, sum_after = (
        sum(int(row_digests(*run).sum(dtype=np.uint64)) for run in layout.runs(rows, flat_bytes(values)))
        for values in (values_before, values_after)
    )
    return (digest - sum_before + sum_after) % MODULUS


def _words(values: Bytes) -> Words:
    """Return values as whole words, (rows, words), the last word padded with zeros."""
    rows, nbytes = values.shape
    if nbytes % WORD:
        padded_values = np.zeros((rows, -(-nbytes // WORD) * WORD), np.uint8)
        padded_values[:, :nbytes] = values
        values = padded_values
    return np.ascontiguousarray(values).view(np.uint64)


def _places(span: RowSpan, rows: Ints) -> Words:
    """Return the mixed places of the words of rows of a span, (rows, words of each)."""
    words, first_word = span.words, (KEY + span.word) % MODULUS
    word_numbers: Words = np.arange(words, dtype=np.uint64) + rows.astype(np.uint64)[:, None] * np.array(words, np.uint64)
    return _mix(word_numbers + np.array(first_word, np.uint64))


@lru_cache(maxsize=8)
def _table_places(spans: tuple[RowSpan, ...]) -> tuple[Words, ...]:
    by_span = tuple(_places(span, span.rows) for span in spans)
    for places in by_span:
        places.setflags(write=False)
    return by_span


def _mix(words: Words) -> Words:
    """Mix each word of a fresh array in place."""
    for shift, factor in STEPS:
        words ^= words >> shift
        words *= factor
    words ^= words >> LAST_SHIFT
    return words
