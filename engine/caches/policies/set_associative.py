"""Set-associative: a hash sends each row to one set of 32 ways, and LRU rules inside the set.

A missing row whose set is full of the present batch's rows is not kept: a conflict, served from the row's home.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Ints
from ...core.hashing import GOLDEN, fold, mix
from ...core.jit import entry, inner
from ...workload.expected_cache import WAYS
from ..row_index import EVICTED, MISSED_LOOKUPS, MISSES, NONE, REFUSED, UNIQUE, is_new

EMPTY = 0


def shape(rows: int, ways: int = WAYS) -> tuple[int, int]:
    """Return how many whole sets the rows make, at least one, and the ways of each."""
    return max(1, rows // ways), max(1, min(ways, rows))


class Sets(NamedTuple):
    """Row + 1 of each way (EMPTY at first), when it was last used, and the time: memory that is not used is not taken."""

    held: Ints
    used: Ints
    clock: int


def no_rows(rows: int, ways: int = WAYS) -> Sets:
    """Return an empty cache."""
    held = np.zeros(shape(rows, ways), dtype=np.int64)
    return Sets(held, np.zeros_like(held), 0)


def served(cache: Sets, ids: Ints, counts: Ints) -> Sets:
    """Serve one batch, set its counts and return the cache; what was used since the batch began may not go."""
    missing, seen = np.empty(len(ids), dtype=np.int64), np.full(2 * len(ids) + 1, NONE)
    return cache._replace(clock=_serve(*cache, ids, counts, missing, seen))


@entry
def set_of(row: int, sets: int) -> Any:
    """Return the set of a row, by a stable hash."""
    return fold(mix(np.uint64(row) ^ GOLDEN), sets)


@inner
def _way(row: int, held: Ints) -> Any:
    for way in range(len(held)):
        if held[way] == row + 1:
            return way
    return NONE


@entry
def _serve(held: Ints, used: Ints, clock: int, ids: Ints, counts: Ints, missing: Ints, seen: Ints) -> Any:
    start, waiting = clock, 0
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
    for row in missing[:waiting]:
        own = set_of(row, len(held))
        way, oldest = 0, used[own, 0]
        for other in range(1, used.shape[1]):
            if used[own, other] < oldest:
                way, oldest = other, used[own, other]
        if used[own, way] <= start:
            counts[EVICTED] += held[own, way] != EMPTY
            clock += 1
            held[own, way], used[own, way] = row + 1, clock
        else:
            counts[EVICTED] += 1  # a conflict goes home at once
            counts[REFUSED] += 1
    return clock
