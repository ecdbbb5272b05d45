"""Array types, arrays that begin at a cache line, and `InColumns` for many design points."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.uint32]
Singles = NDArray[np.float32]
Slots = NDArray[np.int32]
Records = NDArray[np.void]
Words = NDArray[np.uint64]
Index = int | np.signedinteger[Any]
Row = Mapping[str, Any]  # by column name, with its unit
Number = Any  # of one design point; or an array of P points' numbers, on which the same formulas work

CACHE_LINE = 64  # bytes


def aligned_empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return an uninitialised array whose first byte begins a cache line.

    NumPy's own large arrays begin 16 or 32 bytes into a line, so that each row of 64 bytes touches two lines.
    """
    kind = np.dtype(dtype)
    nbytes = (prod(shape) if isinstance(shape, tuple) else shape) * kind.itemsize
    room = np.empty(nbytes + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + nbytes].view(kind).reshape(shape)


def aligned_copy(values: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous copy whose first byte begins a cache line."""
    copy = aligned_empty(values.shape, values.dtype)
    copy[...] = values
    return copy


def run_positions(begins: Ints, lengths: Ints) -> Ints:
    """Return the positions of all items in several runs, run after run.

    A run has `lengths` items from `begins` on.
    """
    places: Ints = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    return places


@dataclass(frozen=True)
class InColumns:
    """A dataclass of numbers of one design point, or of P design points.

    For P design points each number is an array (P,).
    """

    def point(self, i: int) -> Self:
        """Return the numbers of design point `i`."""
        return replace(self, **{name: _pick_point(numbers, i) for name, numbers in vars(self).items()})


def _pick_point(numbers: Any, i: int) -> Any:
    if isinstance(numbers, np.ndarray):
        return numbers[i].tolist()
    if isinstance(numbers, Mapping):
        return {name: _pick_point(part, i) for name, part in numbers.items()}
    if isinstance(numbers, tuple):
        return tuple([_pick_point(part, i) for part in numbers])
    return numbers.point(i) if isinstance(numbers, InColumns) else numbers
