"""Rounding up or down at random, from its definition in exact arithmetic, one element at a time.

The random bits are SplitMix64's of the row's stream; which of them are used is part of what is checked.
"""

from math import floor, frexp

import numpy as np

from tests.oracles.splitmix import mixed

GOLDEN = 0x9E3779B97F4A7C15


def words(stream: int, row: int, dim: int) -> list[int]:
    """Return the 64 random bits of each element of a row."""
    word = mixed(stream ^ (row * GOLDEN % 2**64))
    return [mixed((word + GOLDEN * (d + 1)) % 2**64) for d in range(dim)]


def rounded(precision: str, values: np.ndarray, random: list[int]) -> np.ndarray:
    """Return float64 values as a row of that precision would hold them."""
    if precision == "int8":
        scale = np.abs(values).max() / 127
        steps = [floor(v / scale + (word >> 11) * 2.0**-53) for v, word in zip(values, random, strict=True)]
        return np.clip(steps, -127, 127) * scale
    digits, smallest_step = (11, 2.0**-24) if precision == "fp16" else (8, 2.0**-133)
    return np.array([_rounded_number(float(v), digits, smallest_step, word) for v, word in zip(values, random, strict=True)])


def _rounded_number(number: float, digits: int, smallest_step: float, word: int) -> float:
    """Round to a multiple of the value's last place: the magnitude, or below the normal numbers the value itself, up or down."""
    place = 2.0 ** (frexp(number)[1] - digits)
    if place < smallest_step:
        return floor(number / smallest_step + (word >> 11) * 2.0**-53) * smallest_step
    bits = 24 - digits  # of an fp32 fraction that are lost
    size = floor(abs(number) / place + ((word >> 32) % 2**bits) / 2**bits)
    return float(np.copysign(size * place, number))
