"""Set-associative: a hash sends each row to one set of 32 ways, and LRU rules inside the set.

A missing row whose set is full of the present batch's rows is not kept: a conflict, served from the row's home.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from ...core.arrays import Ints
from ...core.hashing import GOLDEN, fold, mix
from ..eviction import EVICTED, HELD, MISSED_LOOKUPS, MISSES, REFUSED, UNIQUE, is_new
from ..policy import COUNTS, Cache, Moves, Room, moves
from ..row_index import NONE

EMPTY = 0


def sets(room: Room) -> int:
    """Return how many whole sets the rows make, at least one."""
    return max(1, room.rows // room.ways)


def run(batches: Sequence[Ints], room: Room) -> Moves:
    """Serve batches; conflicts never fail, they miss."""
    counts = np.zeros((len(batches), COUNTS), dtype=np.int64)
    held, used, clock = empty(room)
    for n, ids in enumerate(batches):
        clock = serve(ids, held, used, clock, counts[n])
        counts[n, HELD] = counts[: n + 1, MISSES].sum() - counts[: n + 1, EVICTED].sum()
    return moves(batches, counts)


def singly(ids: Ints, room: Room) -> int:
    """Return the misses when each id is served by itself; no rows hold nothing."""
    return len(ids) if room.rows <= 0 else int(_singly(ids, *empty(room)[:2]))


def empty(room: Room) -> tuple[Ints, Ints, int]:
    """Return row + 1 of each way (EMPTY at first), when it was last used, and the time: memory that is not used is not taken."""
    shape = (sets(room), max(1, min(room.ways, room.rows)))
    return np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64), 0


@njit(cache=True, nogil=True)
def set_of(row, sets):  # type: ignore[no-untyped-def]
    """Return the set of a row, by a stable hash."""
    return fold(mix(np.uint64(row) ^ GOLDEN), sets)


@njit(cache=True, nogil=True)
def _way(row, held):  # type: ignore[no-untyped-def]
    for way in range(len(held)):
        if held[way] == row + 1:
            return way
    return NONE


@njit(cache=True, nogil=True)
def serve(ids, held, used, clock, counts):  # type: ignore[no-untyped-def]
    """Serve one batch and return the time after it; what was used since its start may not go."""
    start, waiting = clock, 0
    missing, seen = np.empty(len(ids), dtype=np.int64), np.full(2 * len(ids) + 1, NONE, dtype=np.int64)
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
        way = np.argmin(used[own])
        if used[own, way] <= start:
            counts[EVICTED] += held[own, way] != EMPTY
            clock += 1
            held[own, way], used[own, way] = row + 1, clock
        else:
            counts[EVICTED] += 1  # a conflict goes home at once
            counts[REFUSED] += 1
    return clock


@njit(cache=True, nogil=True)
def _singly(ids, held, used):  # type: ignore[no-untyped-def]
    misses = 0
    for clock, row in enumerate(ids):
        own = set_of(row, len(held))
        way = _way(row, held[own])
        if way == NONE:
            misses += 1
            way = np.argmin(used[own])
            held[own, way] = row + 1
        used[own, way] = clock + 1
    return misses


CACHE = Cache(
    "Set-associative",
    "A row may only stand in one set of 32, where the one not used for longest goes.",
    run,
    singly,
)
