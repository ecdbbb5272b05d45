"""LRU cache over the rows of all tables: it evicts the least recently used row.

Lookups are served one by one; batch boundaries make no difference. Each lookup is noted in a ring. To evict a row, the oldest
notes are passed until one is the last use of its row.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Ints, Slots
from ...core.jit import entry_kernel, prefetch_line
from .. import row_index as index
from ..row_table import AHEAD, EMPTY, MAX_LOAD, MIN_ROWS, ROW, empty_table, find_position, prefetch_record, remove_row

STAMP = 1  # column: twice the time of the row's last use, plus 1 if the row came in with the batch of that time
CAPACITY, HELD, OCCUPIED, OLDEST, NOW, BATCH_START = range(6)
NOTES_PER_ROW = 4


class LruRows(NamedTuple):
    """The rows that a cache holds; kernels change the arrays in place.

    table: a `row_table` with the column STAMP.
    ring: the position of the row that lookup t used, in `ring[t % len(ring)]`; its length is a power of two.
    state: the CAPACITY and the rows HELD; the OCCUPIED positions of the table, which are not EMPTY; the times of the OLDEST
        note, of the next lookup (NOW) and of the first lookup of the batch (BATCH_START).
    """

    table: Ints
    ring: Slots
    state: Ints


def no_rows(rows: int) -> LruRows:
    """Return an empty cache of `rows` rows.

    A cache of zero or fewer rows holds no row.
    """
    return _sized(np.array([max(0, rows), 0, 0, 0, 0, 0]))


def serve_batch(cache: LruRows, ids: Ints, counts: Ints) -> LruRows:
    """Look up a batch's ids in order, keep each row, and return the cache.

    The batch's row moves, without the number of unique rows, are added to `counts`. The cache gets more memory if needed.
    """
    if not cache.state[CAPACITY]:
        counts[[index.MISSED_LOOKUPS, index.MISSES, index.EVICTED]] += len(ids)
        return cache
    cache.state[BATCH_START] = cache.state[NOW]
    while len(ids := ids[_serve(*cache, ids, counts) :]):
        cache = _renewed(cache)
    return cache


def _sized(state: Ints) -> LruRows:
    """Return a cache without rows that has memory for twice the rows HELD."""
    rows = max(1, min(int(state[CAPACITY]), max(MIN_ROWS, 2 * int(state[HELD]))))
    return LruRows(empty_table(rows, 2), np.zeros(1 << (NOTES_PER_ROW * rows - 1).bit_length(), dtype=np.int32), state)


def _renewed(cache: LruRows) -> LruRows:
    """Return the cache without FREE positions and outdated notes."""
    renewed = _sized(cache.state)
    _copy_rows(cache.table, cache.ring, renewed.table, renewed.ring, cache.state)
    return renewed


@entry_kernel
def _copy_rows(old_table: Ints, old_ring: Slots, table: Ints, ring: Slots, state: Ints) -> None:
    """Copy rows by the time of their last use, which is counted from 0 again."""
    rows, batch_start, mask = 0, 0, len(old_ring) - 1
    for time in range(state[OLDEST], state[NOW]):
        prefetch_line(old_table, old_ring[(time + AHEAD) & mask], 0)
        old = old_ring[time & mask]
        stamp = old_table[old, STAMP]
        if stamp >> 1 == time:
            position = find_position(table, old_table[old, ROW])
            table[position, ROW], table[position, STAMP] = old_table[old, ROW], 2 * rows + (stamp & 1)
            ring[rows] = position
            rows += 1
            batch_start += time < state[BATCH_START]
    state[OCCUPIED], state[OLDEST], state[NOW], state[BATCH_START] = rows, 0, rows, batch_start


@entry_kernel
def _serve(table: Ints, ring: Slots, state: Ints, ids: Ints, counts: Ints) -> Any:
    """Serve ids until the table or the ring is full; return how many were served."""
    capacity, held, occupied, oldest, now, batch_start = state
    misses, evictions, same_batch_hits, lookups = 0, 0, 0, 0
    mask, limit = len(ring) - 1, MAX_LOAD * len(table)
    while lookups < len(ids) and occupied < limit and now - oldest < len(ring):
        prefetch_record(table, ids, lookups)
        row = ids[lookups]
        lookups += 1
        position = find_position(table, row)
        is_new = 1  # in this batch
        if table[position, ROW] == row:
            stamp = table[position, STAMP]
            is_new = stamp & 1 & (stamp >= 2 * batch_start)
            same_batch_hits += is_new
        else:
            misses += 1
            occupied += table[position, ROW] == EMPTY
            table[position, ROW] = row
            if held < capacity:
                held += 1
            else:
                evictions += 1
                while table[ring[oldest & mask], STAMP] >> 1 != oldest:
                    oldest += 1
                    prefetch_line(table, ring[(oldest + AHEAD) & mask], 0)
                occupied -= remove_row(table, ring[oldest & mask])
                oldest += 1
        table[position, STAMP] = 2 * now + is_new
        ring[now & mask] = position
        now += 1
    state[HELD], state[OCCUPIED], state[OLDEST], state[NOW] = held, occupied, oldest, now
    counts[index.MISSES] += misses
    counts[index.MISSED_LOOKUPS] += misses + same_batch_hits
    counts[index.EVICTED] += evictions
    return lookups
