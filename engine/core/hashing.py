"""Stateless random numbers: 64 bits in, 64 well mixed bits out.

The mixing is the output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), so that the k-th number of a
stream, and the row that a rank folds to, can be had alone and are the same in every process.
"""

from enum import IntEnum
from typing import Any

import numpy as np

from .arrays import Index
from .jit import entry_kernel, inner_kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Purpose(IntEnum):
    """The purpose of a random stream of the workload.

    Seed, purpose and batch number name the stream.
    """

    IDS = 101
    DENSE = 102
    CLICKS = 103
    SHAPES = 104
    TEACHER = 105
    PROFILE = 106
    LINKS = 107
    CACHES = 108
    LINES = 109
    ROUNDING = 110
    LENGTHS = 111


def stream(seed: int, purpose: Purpose, batch: int = 0) -> np.random.Generator:
    """Return the random stream that belongs to a seed, a purpose and a batch."""
    return np.random.default_rng([seed, int(purpose), batch])


def key(seed: int, purpose: Purpose, batch: int = 0) -> np.uint64:
    """Return the 64 bits from which kernels derive a stream of their own."""
    return stream(seed, purpose, batch).integers(2**64, dtype=np.uint64)


@entry_kernel
def mix(word: np.uint64) -> np.uint64:
    """Return `word` with its 64 bits mixed, one to one."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inner_kernel
def unit(word: np.uint64) -> Any:
    """Return the upper 53 bits of `word` as a number in [0, 1)."""
    return np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53


@entry_kernel
def fold(rank: Any, rows: Index) -> Any:
    """Return the row, of `rows`, that a rank beyond a table's end shares."""
    return np.int64(unit(mix(np.uint64(rank) + GOLDEN)) * rows)
