"""Misses by batch of LRU caches of any size, empty at first: from one pass over the ids, by stack distances.

A cache hits a lookup if it holds at least as many rows as were used since the row's last use (`stack_distance`). A row that
comes in during a batch was not there when it began, and its later lookups in that batch count as missed with the first one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..core.arrays import Floats, Ints, Slots, Words
from ..workload.batch import EMPTY, find
from .stack_distance import flip, line_of_time, marked_before

MOST_LOOKUPS = 10_000_000
MOST_IDS = 4_000_000  # beyond, rows are numbered anew
NEVER = 2**31 - 1


class Distances(NamedTuple):
    """Of each lookup the rows that a cache must hold to hit it, and to hit it and all before it in the batch of the same row.

    Batch n has the lookups from `first[n]` on; `rows` are the different rows used up to its end.
    """

    now: NDArray[np.int32]
    begun: NDArray[np.int32]
    first: Ints
    rows: Ints


def distances(batches: Sequence[Ints]) -> Distances:
    """Measure the distances of every lookup of some batches, none of them empty."""
    ids = np.concatenate(batches)
    if ids.max() > MOST_IDS:
        ids = _numbered(ids, np.full(2 ** int(np.ceil(np.log2(2 * len(ids)))), EMPTY), np.empty_like(ids))
    first = np.cumsum([0, *map(len, batches)])
    now, begun = np.empty((2, len(ids)), dtype=np.int32)
    rows = np.zeros(len(batches), dtype=np.int64)
    last = np.zeros((2, int(ids.max()) + 1), dtype=np.int32)
    _measure(ids, first, last, *line_of_time(0, len(ids)), now, begun, rows)
    return Distances(now, begun, first[:-1], rows)


def moved(found: Distances, capacity: int) -> Floats:
    """Return by batch the lookups that miss, the rows that go, and the lookups of rows not held when it began, (3, N)."""
    misses = np.add.reduceat(found.now > capacity, found.first, dtype=np.int64)
    late = np.add.reduceat(found.begun > capacity, found.first, dtype=np.int64)
    come = np.diff(np.minimum(found.rows, capacity), prepend=0) if capacity else misses
    return np.array([misses, misses - come if capacity else misses, late], dtype=np.float64)


@njit(cache=True, nogil=True)
def _numbered(ids: Ints, slots: Ints, numbers: Ints) -> Ints:
    """Number different ids from 0 in the order in which they come; there are twice as many `slots`, a power of two."""
    seen, held, shift = 0, np.empty(len(slots), dtype=np.int32), np.uint64(64 - np.int64(np.round(np.log2(len(slots)))))
    for i in range(len(ids)):
        slot = find(slots, ids[i], shift)
        if slots[slot] == EMPTY:
            slots[slot], held[slot] = ids[i], seen
            seen += 1
        numbers[i] = held[slot]
    return numbers


@njit(cache=True, nogil=True)
def _measure(ids: Ints, first: Ints, last: Slots, word: Words, tree: Ints, now: Slots, begun: Slots, rows: Ints) -> None:
    """`last` is each row's last use, counted from 1, and the largest distance of its uses in that batch."""
    seen = 0
    for n in range(len(first) - 1):
        for i in range(first[n], first[n + 1]):
            used, now[i] = np.int64(last[0, ids[i]]) - 1, NEVER
            if used < 0:
                seen += 1
            else:
                now[i] = seen - marked_before(used, word, tree)
                flip(used, -1, word, tree)
            flip(i, 1, word, tree)
            begun[i] = now[i] if used < first[n] else max(now[i], last[1, ids[i]])
            last[0, ids[i]], last[1, ids[i]] = i + 1, begun[i]
        rows[n] = seen
