"""Random numbers without a state: a function maps 64 bits to 64 well mixed bits.

The function is the output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). So the k-th number of a stream can be
computed without the numbers before it, and is the same in every process.
"""

from enum import IntEnum
from typing import Any

import numpy as np

from .arrays import Index
from .jit import entry_kernel, inner_kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Purpose(IntEnum):
    """The purposes for which the workload draws random numbers.

    Seed, purpose and batch number identify a random stream.
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
    HISTORIES = 112


def stream(seed: int, purpose: Purpose, batch: int = 0) -> np.random.Generator:
    """Return the random generator of a seed, a purpose and a batch number."""
    return np.random.default_rng([seed, int(purpose), batch])


def key(seed: int, purpose: Purpose, batch: int = 0) -> np.uint64:
    """Return 64 bits that start a kernel's random numbers for a seed, purpose and batch."""
    return stream(seed, purpose, batch).integers(2**64, dtype=np.uint64)


@entry_kernel
def mix(word: np.uint64) -> np.uint64:
    """Return the 64 bits of `word` mixed; different words give different results."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inner_kernel
def unit(word: np.uint64) -> Any:
    """Return the upper 53 bits of `word` as a number from 0 up to, but without, 1."""
    return np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53


@entry_kernel
def fold(rank: Any, rows: Index) -> Any:
    """Return the row of a table to which a rank beyond its end is mapped.

    The table has `rows` rows.
    """
    return np.int64(unit(mix(np.uint64(rank) + GOLDEN)) * rows)
