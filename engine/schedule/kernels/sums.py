"""What each row of the tables of costs comes to, over a window's mean batch and over a whole run: once, for all its machines."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from .template import Floats

SECONDS, JOULES, STORED = range(3)


class Sums(NamedTuple):
    """Seconds, joules and bytes stored of each row, (3, rows), bytes written of each demand, (D,): by mean batch, in all."""

    mean: Floats
    mean_written: Floats
    total: Floats
    total_written: Floats


@njit(cache=True, nogil=True)
def sums(taken: Any, kind: Any, seen: int, whole: bool) -> Any:
    """Average what is taken over the last `seen` batches and, if `whole`, total it over all of them."""
    weight = np.zeros(taken.seconds.shape[1])
    for n in range(len(kind) - seen, len(kind)):
        weight[kind[n]] += 1.0
    weight /= seen
    mean, total = np.zeros((3, len(taken.seconds))), np.zeros((3, len(taken.seconds)))
    mean_written, total_written = np.zeros(len(taken.written)), np.zeros(len(taken.written))
    for which, table in enumerate((taken.seconds, taken.joules, taken.stored)):
        _sum(table, weight, kind, whole, mean[which], total[which])
    _sum(taken.written, weight, kind, whole, mean_written, total_written)
    return Sums(mean, mean_written, total, total_written)


@njit(cache=True, nogil=True)
def _sum(table: Any, weight: Any, kind: Any, whole: bool, mean: Any, total: Any) -> None:
    for row in range(len(table)):
        some = 0.0
        for r in range(len(weight)):
            some += weight[r] * table[row, r]
        mean[row], some = some, 0.0
        for n in range(len(kind) if whole else 0):
            some += table[row, kind[n]]
        total[row] = some


@njit(cache=True, nogil=True)
def means(taken: Any, some: Any, p: int) -> Any:
    """Return what each demand takes on average, (4, D)."""
    mean = np.empty((4, taken.row.shape[1]))
    for d in range(mean.shape[1]):
        row = taken.row[p, d]
        mean[0, d], mean[1, d], mean[3, d] = some.mean[SECONDS, row], some.mean[JOULES, row], some.mean[STORED, row]
        mean[2, d] = some.mean_written[d]
    return mean
