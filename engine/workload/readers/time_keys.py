"""Times as keys of 64 bits in the same order: exact whole numbers of a fixed unit, or floats where these do not suffice."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np
import pyarrow
from pyarrow import ArrowInvalid, compute, types

from ...core.arrays import Floats, Ints, Words

MOST_DECIMALS = 18  # 10^18 is the largest power of ten that a key holds
SIGN = 1 << 63
Rekey = Callable[[Ints], Ints]  # from keys of the blocks before to keys as they are now


@dataclass(frozen=True)
class Exact:
    """Whole numbers of 128 bits, a high and a low word each, in units of 10^-decimals."""

    high: Ints
    low: Words
    decimals: int = 0

    @property
    def extremes(self) -> tuple[int, int]:
        """Return the least and the largest number."""
        least, most = self.high.min(), self.high.max()
        return (
            (int(least) << 64) + int(self.low[self.high == least].min()),
            (int(most) << 64) + int(self.low[self.high == most].max()),
        )


class TimeKeys:
    """Makes keys of a column's blocks; its unit becomes finer, or floats, where a later block has more digits."""

    def __init__(self) -> None:
        """Start with whole numbers."""
        self.decimals, self.shift = 0, 0
        self.is_float = self.has_keys = False
        self._least = self._most = 0
        self._rekey: Rekey | None = None

    def rekey(self) -> Rekey | None:
        """Return once what makes keys of all blocks before the last one like those of the last."""
        change, self._rekey = self._rekey, None
        return change

    def fits(self, exact: Exact) -> bool:
        """Return whether keys hold a block's numbers exactly, beside those before."""
        return not self.is_float and self._plan(exact)[3] is not None

    def of_exact(self, exact: Exact) -> Ints:
        """Return the keys of numbers that fit."""
        decimals, least, most, shift = self._plan(exact)
        assert shift is not None
        if self.has_keys and (decimals, shift) != (self.decimals, self.shift):
            self._rekey = partial(_moved, factor=10 ** (decimals - self.decimals), before=self.shift, after=shift)
        self.decimals, self._least, self._most, self.shift, self.has_keys = decimals, least, most, shift, True
        return _moved(exact.low.view(np.int64), 10 ** (decimals - exact.decimals), 0, shift)

    def of_floats(self, numbers: Floats) -> Ints:
        """Return the keys of floats; all that follow are floats too."""
        if self.has_keys and not self.is_float:
            self._rekey = partial(_as_floats, decimals=self.decimals, shift=self.shift)
        self.is_float = self.has_keys = True
        return float_keys(numbers)

    def _plan(self, exact: Exact) -> tuple[int, int, int, int | None]:
        """Return the decimals, extremes and shift of keys that hold a block too; no shift where there are none."""
        decimals = max(self.decimals, exact.decimals)
        finer, scale = 10 ** (decimals - self.decimals), 10 ** (decimals - exact.decimals)
        least, most = (number * scale for number in exact.extremes)
        if self.has_keys:
            least, most = min(least, self._least * finer), max(most, self._most * finer)
        signed, unsigned = least >= -SIGN and most < SIGN, least >= 0 and most < 2 * SIGN
        return decimals, least, most, 0 if signed else SIGN if unsigned else None


def _moved(keys: Ints, factor: int, before: int, after: int) -> Ints:
    """Return keys times a factor, shifted anew; the results fit, so that computing modulo 2^64 is exact."""
    return ((keys.view(np.uint64) + np.uint64(before)) * np.uint64(factor) - np.uint64(after)).view(np.int64)


def _as_floats(keys: Ints, decimals: int, shift: int) -> Ints:
    """Return the keys of the floats nearest to exact numbers, as a text of them is read."""
    if not shift and len(keys) and max(abs(int(keys.min())), abs(int(keys.max()))) <= 2**53:
        return float_keys(keys / 10.0**decimals)
    return float_keys(np.array([(key + shift) / 10**decimals for key in keys.tolist()], dtype=np.float64))


def float_keys(numbers: Floats) -> Ints:
    """Return whole numbers in the order of floats; 0 and -0 are equal."""
    bits: Ints = (numbers + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


def exact_numbers(column: Any) -> Exact | None:
    """Return what Arrow's whole numbers, decimals or texts of numbers are, exactly; None for others, or too many digits."""
    if types.is_integer(column.type):
        if column.type == pyarrow.uint64():
            return Exact(np.zeros(len(column), np.int64), column.to_numpy(zero_copy_only=False))
        return exact_ints(column.cast("int64").to_numpy(zero_copy_only=False))
    if types.is_decimal(column.type):
        return _of_decimals(column, max(column.type.scale, 0))
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return None
    with suppress(ArrowInvalid):  # quick where no text has a point or sign
        return exact_ints(column.cast("int64").to_numpy(zero_copy_only=False))
    decimals = _most_decimals(column)
    return _of_decimals(column, decimals) if decimals <= MOST_DECIMALS else None


def exact_ints(numbers: Ints, decimals: int = 0) -> Exact:
    """Return whole numbers of 64 bits as exact ones."""
    return Exact(numbers >> 63, np.ascontiguousarray(numbers, dtype=np.int64).view(np.uint64), decimals)


def _most_decimals(texts: Any) -> int:
    """Return the most digits behind the point, without zeros at the end."""
    if compute.any(compute.match_substring_regex(texts, "[eE]")).as_py():
        return max(_decimals(cell) for cell in texts.to_pylist())
    fractions = compute.utf8_rtrim(compute.replace_substring_regex(texts, r"^[^.]*\.?", ""), "0")
    return int(compute.max(compute.utf8_length(fractions)).as_py() or 0)


def _decimals(cell: str) -> int:
    try:
        exponent = Decimal(cell).normalize().as_tuple().exponent
    except InvalidOperation:
        return MOST_DECIMALS + 1
    return max(-exponent, 0) if isinstance(exponent, int) else MOST_DECIMALS + 1


def _of_decimals(column: Any, decimals: int) -> Exact | None:
    """Return the two words of each number, as Arrow keeps decimals; None where they are too large."""
    try:
        held = column.cast(pyarrow.decimal128(38, decimals))
    except ArrowInvalid:
        return None
    held = held.combine_chunks() if isinstance(held, pyarrow.ChunkedArray) else held
    pairs = np.frombuffer(held.buffers()[1], dtype=np.int64)[2 * held.offset : 2 * (held.offset + len(held))]
    return Exact(np.ascontiguousarray(pairs[1::2]), np.ascontiguousarray(pairs[::2]).view(np.uint64), decimals)
