"""Rows narrower than fp32: values of their precision in fp32 arrays, and their stored bytes.

A row is computed in fp32 and holds only values of its precision. Its first values are rounded to the nearest value; an update
is rounded up or down at random, to the nearer value with higher probability, so that small steps are not lost (Gupta et al.,
arXiv 1502.02551). The random bits are a hash of seed, batch, row and element. An int8 row has its own scale: its largest
element over 127.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Bytes, Index, Singles
from ..core.hashing import GOLDEN, Purpose, key, mix, unit
from ..core.jit import inner_kernel
from ..scenario.storage import ELEMENT_BYTES, PRECISIONS
from .products import operand

FP32, FP16, BF16, INT8 = range(len(PRECISIONS))
INT8_LIMIT = np.float32(127.0)  # largest absolute value of an int8 element
SIGN, INFINITE = np.uint32(1 << 31), np.uint32(0x7F800000)
NORMAL16, BEYOND16 = np.uint32(0x38800000), np.uint32(0x47800000)  # 2^-14, the smallest normal fp16, and 2^16
CUT16, CUTB = np.uint32(13), np.uint32(16)  # bits of an fp32 fraction that fp16 and bf16 lack
LEAST16 = 2.0**-24  # the step of fp16 below its normal numbers


class Rounding(NamedTuple):
    """The rounding of rows in one batch.

    kind: the number of the precision.
    stream: the start of the random bits.
    """

    kind: int
    stream: np.uint64


def rounding(precision: str, seed: int, batch: int) -> Rounding:
    """Return the random rounding of rows of a precision in batch `batch`."""
    kind = PRECISIONS.index(precision)
    return Rounding(kind, key(seed, Purpose.ROUNDING, batch) if kind else np.uint64(0))


def round_to_nearest(table: Singles, precision: str) -> tuple[Singles, Singles]:
    """Return (R, dim) vectors rounded to a precision, and their scales.

    Each element goes to the nearest value, ties to even. Scales are (R, 1) for int8, else (R, 0).
    """
    no_scales = np.empty((len(table), 0), np.float32)
    if precision == "int8":
        scale = np.abs(table).max(axis=1, keepdims=True) / INT8_LIMIT
        return _whole_scales(table, scale) * scale, scale
    return operand(table, precision), no_scales


def pack_rows(precision: str, table: Singles, state: Singles) -> Bytes:
    """Return rows as stored bytes, (R, row bytes).

    Each row is its vector in its precision, then its optimizer state, then its scale if any.
    """
    if precision == "int8":
        elements: Any = _whole_scales(table, state[:, -1:]).astype(np.int8)
    elif precision == "bf16":
        elements = (table.view(np.uint32) >> CUTB).astype(np.uint16)
    else:
        elements = table.astype(np.float16 if precision == "fp16" else np.float32)
    return np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in (elements, state)], axis=1)


def unpack_rows(precision: str, dim: int, rows: Bytes) -> tuple[Singles, Singles]:
    """Return (vectors, states) of rows that `pack_rows` has packed.

    The states hold the optimizer state and, for int8, the scale.
    """
    width = dim * ELEMENT_BYTES[precision]
    elements, state = np.ascontiguousarray(rows[:, :width]), np.ascontiguousarray(rows[:, width:]).view(np.float32)
    if precision == "int8":
        return elements.view(np.int8) * state[:, -1:], state
    if precision == "bf16":
        return (elements.view(np.uint16).astype(np.uint32) << CUTB).view(np.float32), state
    return elements.view(np.float16 if precision == "fp16" else np.float32).astype(np.float32), state


def _whole_scales(table: Singles, scale: Singles) -> Singles:
    """Return (R, dim) elements divided by their row's scale and rounded.

    Return 0 where the scale is 0.
    """
    return np.rint(np.divide(table, scale, out=np.zeros_like(table), where=scale > 0))


@inner_kernel
def _round_bits(vector: Any, word: np.uint64, cut: np.uint32) -> None:
    """Round each element at random to a fraction `cut` bits shorter.

    An element beyond the largest becomes infinite.
    """
    low = (np.uint32(1) << cut) - np.uint32(1)
    for d in range(vector.size):
        word += GOLDEN
        bits = np.float32(vector[d]).view(np.uint32)
        if bits & ~SIGN < INFINITE:
            vector[d] = np.uint32((bits + (np.uint32(mix(word) >> np.uint64(32)) & low)) & ~low).view(np.float32)


@inner_kernel
def _round_half(vector: Any, word: np.uint64) -> None:
    """Round each element at random to fp16, whose numbers below 2^-14 are multiples of 2^-24."""
    low = (np.uint32(1) << CUT16) - np.uint32(1)
    for d in range(vector.size):
        word += GOLDEN
        bits, random = np.float32(vector[d]).view(np.uint32), mix(word)
        size = bits & ~SIGN
        if size < NORMAL16:
            steps = np.floor(np.float64(vector[d]) / LEAST16 + unit(random))
            vector[d] = np.float32(steps * LEAST16)
        elif size < INFINITE:
            size = (size + (np.uint32(random >> np.uint64(32)) & low)) & ~low
            vector[d] = np.uint32((bits & SIGN) | (INFINITE if size >= BEYOND16 else size)).view(np.float32)


@inner_kernel
def _round_scaled(vector: Any, state: Any, word: np.uint64) -> None:
    """Round each element at random to -127..127 scales.

    The scale, the last word of the state, is set from the row.
    """
    largest = np.float32(0.0)
    for d in range(vector.size):
        largest = max(largest, np.abs(vector[d]))
    scale = largest / INT8_LIMIT
    state[state.size - 1] = scale
    for d in range(vector.size):
        word += GOLDEN
        steps = np.floor(np.float64(vector[d]) / np.float64(scale) + unit(mix(word)))
        vector[d] = np.float32(min(max(steps, -127.0), 127.0)) * scale if scale > np.float32(0.0) else vector[d] * np.float32(0.0)


@inner_kernel
def descend(vector: Any, step: Any, state: Any, row: Index, row_rounding: Rounding) -> None:
    """Subtract `step` from a row's vector, and round the vector at random to its precision.

    For a precision narrower than fp32, the difference after rounding is written into `step`. All changes are in place.
    """
    if row_rounding.kind == FP32:
        for d in range(step.size):
            vector[d] -= step[d]
        return
    for d in range(step.size):
        element_before = vector[d]
        vector[d] = element_before - step[d]
        step[d] = element_before
    word = mix(row_rounding.stream ^ (np.uint64(row) * GOLDEN))
    if row_rounding.kind == INT8:
        _round_scaled(vector, state, word)
    elif row_rounding.kind == BF16:
        _round_bits(vector, word, CUTB)
    elif row_rounding.kind == FP16:
        _round_half(vector, word)
    for d in range(step.size):
        step[d] -= vector[d]
