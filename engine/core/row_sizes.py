"""Bytes of embedding rows: one number, or a mix of sizes with their shares.

A cost is the number of rows times a measure of each row, such as its whole cache lines. For a mix, the mean of this measure over
the rows is used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arithmetic import total
from .points.numbers import as_float


@dataclass(frozen=True)
class RowMix:
    """Sizes of rows [bytes] in rising order, and the share of rows of each size.

    The shares sum to 1.
    """

    sizes: tuple[int, ...]
    shares: tuple[float, ...]


RowBytes = int | RowMix


def row_mix(sizes: Sequence[int], weights: Sequence[float]) -> RowBytes:
    """Return the mix of rows of `sizes` [bytes], where `weights` are the numbers of rows.

    Return a number of bytes if all rows have the same size.
    """
    weight: dict[int, float] = {}
    for size, row_weight in zip(sizes, weights, strict=True):
        weight[int(size)] = weight.get(int(size), 0.0) + as_float(row_weight)
    all_rows = total(weight.values())
    present = sorted(size for size in weight if weight[size] > 0) or sorted(weight)
    if len(present) == 1:
        return present[0]
    return RowMix(tuple(present), tuple(weight[size] / all_rows if all_rows else 1 / len(present) for size in present))


def joined_row_mix(sizes: Sequence[RowBytes], weights: Sequence[float]) -> RowBytes:
    """Return the mix of several groups of rows, where `weights` are their numbers of rows."""
    rows = [
        (size, row_weight * share)
        for row_bytes, row_weight in zip(sizes, weights, strict=True)
        for size, share in (
            zip(row_bytes.sizes, row_bytes.shares, strict=True) if isinstance(row_bytes, RowMix) else ((row_bytes, 1.0),)
        )
    ]
    return row_mix([size for size, _ in rows], [row_weight for _, row_weight in rows])


def mean_over_rows(row_bytes: Any, measure: Callable[[Any], Any]) -> Any:
    """Return the mean over rows of `measure`, a function of the bytes of a row."""
    if not isinstance(row_bytes, RowMix):
        return measure(row_bytes)
    return total(share * measure(size) for size, share in zip(row_bytes.sizes, row_bytes.shares, strict=True))


def mean_bytes(row_bytes: RowBytes) -> float:
    """Return the mean number of bytes of a row."""
    nbytes: float = mean_over_rows(row_bytes, lambda size: size)
    return nbytes


def granule_bytes(row_bytes: Any, granule: int) -> Any:
    """Return the mean bytes of a row that moves in whole granules.

    `granule`: bytes of a granule, such as 64 for a line or 32 for a sector.
    """
    return granule * mean_over_rows(row_bytes, lambda size: np.ceil(size / granule))


def lengthened_rows(row_bytes: RowBytes, nbytes: int) -> RowBytes:
    """Return the bytes of rows that each have `nbytes` more."""
    if isinstance(row_bytes, RowMix):
        return RowMix(tuple(size + nbytes for size in row_bytes.sizes), row_bytes.shares)
    return row_bytes + nbytes
