"""Set-associative: a hash sends each row to one set of 32 ways, and LRU rules inside the set.

Rows come in while the batch before trains, whose rows are locked until it has. A missing row that finds its set full of rows of
these two batches is refused: a conflict, served from the row's home (FBGEMM's LRU cache under a prefetch pipeline).
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Ints
from ...core.hashing import GOLDEN, fold, mix
from ...core.jit import entry, inner
from ...workload.caching.locked_sets import WAYS
from ..row_index import EVICTED, MISSED_LOOKUPS, MISSES, NONE, REFUSED, UNIQUE, is_new

EMPTY = 0


def shape(rows: int, ways: int = WAYS) -> tuple[int, int]:
    """Return how many whole sets the rows make, at least one, and the ways of each."""
    return max(1, rows // ways), max(1, min(ways, rows))


class Sets(NamedTuple):
    """Row + 1 of each way (EMPTY at first) and when it was last used: memory that is not used is not taken.

    clock: the time; batch: the number of the last batch; began: when it and the one before it began.
    """

    held: Ints
    used: Ints
    clock: int = 0
    batch: int = NONE
    began: tuple[int, int] = (0, 0)


def no_rows(rows: int, ways: int = WAYS) -> Sets:
    """Return an empty cache."""
    held = np.zeros(shape(rows, ways), dtype=np.int64)
    return Sets(held, np.zeros_like(held))


def served(cache: Sets, batch: int, ids: Ints, counts: Ints) -> Sets:
    """Serve a batch, or more rows of it, set its counts and return the cache.

    What was used since the batch before it began may not go.
    """
    missing, seen = np.empty(len(ids), dtype=np.int64), np.full(2 * len(ids) + 1, NONE)
    began = cache.began if batch == cache.batch else (cache.clock, cache.began[0])
    clock = _serve(cache.held, cache.used, cache.clock, began[1], batch, ids, counts, missing, seen)
    return cache._replace(clock=clock, batch=batch, began=began)


@entry
def set_of(row: int, sets: int) -> Any:
    """Return the set of a row, by a stable hash."""
    return fold(mix(np.uint64(row) ^ GOLDEN), sets)


@entry
def first_of(batch: int, missing: int) -> Any:
    """Return which of so many missing rows of a batch comes first."""
    return fold(mix(np.uint64(batch) ^ GOLDEN), max(missing, 1))


@inner
def _way(row: int, held: Ints) -> Any:
    for way in range(len(held)):
        if held[way] == row + 1:
            return way
    return NONE


@entry
def _serve(
    held: Ints, used: Ints, clock: int, locked: int, batch: int, ids: Ints, counts: Ints, missing: Ints, seen: Ints
) -> Any:
    """Serve rows; those used after the time `locked` stay.

    Each batch begins with another of its missing rows, so that no table is always the first (FBGEMM goes by row number).
    """
    waiting = 0
    for row in ids:
        own = set_of(row, len(held))
        way = _way(row, held[own])
        new = is_new(row, seen)
        counts[UNIQUE] += new
        counts[MISSED_LOOKUPS] += way == NONE
        if new and way == NONE:
            missing[waiting] = row
            waiting += 1
        elif new:
            clock += 1
            used[own, way] = clock
    counts[MISSES] = waiting
    first = first_of(batch, waiting)
    for number in range(waiting):
        row = missing[(first + number) % waiting]
        own = set_of(row, len(held))
        way, oldest = 0, used[own, 0]
        for other in range(1, used.shape[1]):
            if used[own, other] < oldest:
                way, oldest = other, used[own, other]
        if used[own, way] <= locked:
            counts[EVICTED] += held[own, way] != EMPTY
            clock += 1
            held[own, way], used[own, way] = row + 1, clock
        else:
            counts[EVICTED] += 1  # a conflict goes home at once
            counts[REFUSED] += 1
    return clock
