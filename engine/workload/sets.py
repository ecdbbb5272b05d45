"""A set-associative cache: a hash sends each row to one set of a few ways, and LRU rules inside the set.

A missing row whose set is full of the present batch's rows is not kept: a conflict, served from the row's home.
"""

from dataclasses import dataclass
from math import lgamma
from typing import Any

import numpy as np
from numba import njit

from engine.workload.arrays import Ints
from engine.workload.hashing import GOLDEN, fold, mix
from engine.workload.shelf import Moves

WAYS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Row + 1 of each way (0 is empty) and the batch that used it last, (sets, ways); `serve` changes both in place."""

    row: Ints
    used: Ints


def sets(capacity: float) -> Sets:
    """Return an empty cache of `capacity` rows in whole sets, at least one."""
    shape = (max(1, int(capacity) // WAYS), WAYS)
    return Sets(np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))


def serve(cache: Sets, turn: int, ids: Ints) -> Moves:
    """Serve batch `turn`, counted from 1."""
    rows, times = np.unique(ids, return_counts=True)
    missed, misses, evicted = _serve(cache.row, cache.used, turn, rows, times)
    return Moves(missed, misses, evicted, len(rows))


def conflicts(rows: Any, capacity: float) -> Any:
    """Return how many of a batch's `rows` unique rows are expected to find their set full of others of the batch."""
    each = np.maximum(np.asarray(rows, dtype=np.float64) / max(1, int(capacity) // WAYS), 1e-9)
    ways = np.arange(WAYS + 1)
    chance = np.exp(ways * np.log(each)[..., None] - each[..., None] - np.array([lgamma(way + 1) for way in ways]))
    more = np.clip(1 - chance.sum(axis=-1), 0, None)  # than there are ways
    return rows * np.clip(more + chance[..., -1] - WAYS * more / each, 0, None)


@njit(cache=True, nogil=True)
def set_of(row, count):  # type: ignore[no-untyped-def]
    """Return which of `count` sets a row belongs to."""
    return fold(mix(np.uint64(row) ^ GOLDEN), count)


@njit(cache=True, nogil=True)
def _serve(row, used, turn, rows, times):  # type: ignore[no-untyped-def]
    missing = np.empty(len(rows), dtype=np.int64)
    missed, misses, evicted = 0, 0, 0
    for number, wanted in enumerate(rows):
        own = set_of(wanted, len(row))
        found = False
        for way in range(row.shape[1]):
            if row[own, way] == wanted + 1:
                used[own, way], found = turn, True
        if not found:
            missing[misses] = wanted
            misses += 1
            missed += times[number]
    for wanted in missing[:misses]:
        own = set_of(wanted, len(row))
        oldest = np.argmin(used[own])
        if used[own, oldest] == turn:
            evicted += 1  # a conflict goes home at once
            continue
        evicted += row[own, oldest] != 0
        row[own, oldest], used[own, oldest] = wanted + 1, turn
    return missed, misses, evicted
