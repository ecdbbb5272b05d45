"""Set-associative LRU cache: a hash sends each row to a set of 32 ways.

Rows are fetched while the previous batch trains, whose rows are locked until it has ended. A missing row is refused if its set
is full of rows of these two batches; it is then used in its own memory, as in FBGEMM's LRU cache under a prefetch pipeline.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Ints
from ...core.hashing import GOLDEN, fold, mix
from ...core.jit import entry_kernel, inner_kernel
from ...workload.caching.locked_sets import WAYS
from ..row_index import EVICTED, MISSED_LOOKUPS, MISSES, NO_SLOT, REFUSED, UNIQUE, is_new

EMPTY = 0


def shape(rows: int, ways: int = WAYS) -> tuple[int, int]:
    """Return the number of whole sets, at least one, and the ways of a set."""
    return max(1, rows // ways), max(1, min(ways, rows))


class Sets(NamedTuple):
    """The state of a set-associative cache.

    way_rows: row + 1 in each way, EMPTY for an empty way; memory pages that were never used take no memory.
    last_uses: for each way, the clock at its last use.
    clock: the number of uses so far.
    batch: the number of the last batch.
    batch_starts: the clock at the start of the last batch, and of the batch before.
    """

    way_rows: Ints
    last_uses: Ints
    clock: int = 0
    batch: int = NO_SLOT
    batch_starts: tuple[int, int] = (0, 0)


def no_rows(rows: int, ways: int = WAYS) -> Sets:
    """Return an empty cache for `rows` rows, in sets of `ways` ways."""
    way_rows = np.zeros(shape(rows, ways), dtype=np.int64)
    return Sets(way_rows, np.zeros_like(way_rows))


def serve_batch(cache: Sets, batch: int, ids: Ints, counts: Ints) -> Sets:
    """Serve a batch, or more of its rows, and return the cache.

    `counts` gets the row moves. Rows used since the start of the previous batch are not evicted.
    """
    missing_rows, row_set = np.empty(len(ids), dtype=np.int64), np.full(2 * len(ids) + 1, NO_SLOT)
    began = cache.batch_starts if batch == cache.batch else (cache.clock, cache.batch_starts[0])
    clock = _serve(cache.way_rows, cache.last_uses, cache.clock, began[1], batch, ids, counts, missing_rows, row_set)
    return cache._replace(clock=clock, batch=batch, batch_starts=began)


@entry_kernel
def set_of(row: int, sets: int) -> Any:
    """Return the number of the set in which a row can be cached.

    A stable hash of the row decides.
    """
    return fold(mix(np.uint64(row) ^ GOLDEN), sets)


@entry_kernel
def first_missing_row(batch: int, num_missing: int) -> Any:
    """Return the index of the missing row that is served first in a batch.

    It differs from batch to batch.
    """
    return fold(mix(np.uint64(batch) ^ GOLDEN), max(num_missing, 1))


@inner_kernel
def _way(row: int, set_rows: Ints) -> Any:
    """Return the way of a set that holds `row`, or NONE."""
    for way in range(len(set_rows)):
        if set_rows[way] == row + 1:
            return way
    return NO_SLOT


@entry_kernel
def _serve(
    way_rows: Ints,
    last_uses: Ints,
    clock: int,
    locked: int,
    batch: int,
    ids: Ints,
    counts: Ints,
    missing_rows: Ints,
    row_set: Ints,
) -> Any:
    """Serve rows and return the new clock; rows used after the clock `locked` stay.

    Each batch begins with another of its missing rows, so that no table is always the first (FBGEMM goes by row number).
    """
    waiting = 0
    for row in ids:
        set_index = set_of(row, len(way_rows))
        way = _way(row, way_rows[set_index])
        first_lookup = is_new(row, row_set)
        counts[UNIQUE] += first_lookup
        counts[MISSED_LOOKUPS] += way == NO_SLOT
        if first_lookup and way == NO_SLOT:
            missing_rows[waiting] = row
            waiting += 1
        elif first_lookup:
            clock += 1
            last_uses[set_index, way] = clock
    counts[MISSES] = waiting
    start = first_missing_row(batch, waiting)
    for number in range(waiting):
        row = missing_rows[(start + number) % waiting]
        set_index = set_of(row, len(way_rows))
        way, oldest = 0, last_uses[set_index, 0]
        for candidate in range(1, last_uses.shape[1]):
            if last_uses[set_index, candidate] < oldest:
                way, oldest = candidate, last_uses[set_index, candidate]
        if last_uses[set_index, way] <= locked:
            counts[EVICTED] += way_rows[set_index, way] != EMPTY
            clock += 1
            way_rows[set_index, way], last_uses[set_index, way] = row + 1, clock
        else:
            counts[EVICTED] += 1  # a conflict goes home at once
            counts[REFUSED] += 1
    return clock
