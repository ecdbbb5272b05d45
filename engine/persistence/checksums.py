"""Checksums of rows and of the whole table: sums of one mixed word after another, so their order doesn't matter.

A batch moves the table's digest by the rows that it changed. A changed word always changes its row's sum, since mixing is
a bijection for each place; two or more cancel out by chance, 1 in 2**64.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Bytes, Ints, Words
from .media import WORD, octets

KEY = 0x656D626572706F6F  # any odd constant: a table of zeros must not have the digest 0
STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))  # the finaliser of SplitMix64 (Steele et al., OOPSLA 2014)
MODULUS = 2**64


def row_digests(rows: Ints, values: Bytes) -> Words:
    """Return the checksum of each row, (rows,), from its number and its values, (rows, row_bytes)."""
    words = _words(values)
    sums: Words = _mix(_places(rows, words.shape[1]) + words).sum(axis=1, dtype=np.uint64)
    return sums


def table_digest(values: Bytes) -> int:
    """Return the digest of a whole table, (num_rows, row_bytes)."""
    words = _words(values)
    return int(_mix(words + _all_places(*words.shape)).sum(dtype=np.uint64))


def moved(digest: int, rows: Ints, before: NDArray[Any], after: NDArray[Any]) -> int:
    """Return the digest after rows went from one set of values to another, (rows, row_bytes)."""
    if not rows.size:
        return digest
    gone, come = (
        int(row_digests(rows, octets(values).reshape(rows.size, -1)).sum(dtype=np.uint64)) for values in (before, after)
    )
    return (digest - gone + come) % MODULUS


def _words(values: Bytes) -> Words:
    """Return values as whole words, (rows, words), the last one filled up with zeros."""
    rows, nbytes = values.shape
    if nbytes % WORD:
        filled = np.zeros((rows, -(-nbytes // WORD) * WORD), np.uint8)
        filled[:, :nbytes] = values
        values = filled
    return np.ascontiguousarray(values).view(np.uint64)


def _places(rows: Ints, words: int) -> Words:
    at: Words = np.arange(words, dtype=np.uint64) + rows.astype(np.uint64)[:, None] * np.array(words, np.uint64)
    return _mix(at + np.array(KEY, np.uint64))


@lru_cache(maxsize=8)
def _all_places(rows: int, words: int) -> Words:
    places = _places(np.arange(rows), words)
    places.setflags(write=False)
    return places


def _mix(words: Words) -> Words:
    """Mix each word of a fresh array in place."""
    for shift, factor in STEPS:
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
    return words
