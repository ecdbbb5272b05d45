"""LRU cache over the rows of all tables: it evicts the least recently used row.

A batch's rows are looked up when the batch begins, and rows are evicted when it ends. Each lookup is noted in a ring. To evict a
row, the oldest notes are passed until one is the last use of its row.
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
    return _sized(np.array([max(0, rows), 0, 0, 0, 0, 0]), 0)


def serve_batch(cache: LruRows, ids: Ints, counts: Ints) -> LruRows:
    """Serve one batch and return the cache.

    The batch's row moves, without the number of unique rows, are added to `counts`. Of a batch with more unique rows than the
    cache has room for, the rows used last stay. The cache gets more memory if needed.
    """
    return serve_batches(cache, ids, max(1, len(ids)), counts)


def serve_batches(cache: LruRows, ids: Ints, batch_size: int, counts: Ints) -> LruRows:
    """Serve batches of `batch_size` ids each as `serve_batch` does, and return the cache."""
    served = 0
    while (served := _serve(*cache, ids, served, batch_size, counts)) < len(ids):
        cache = _sized_anew(cache, batch_size)
    return cache


def _sized(state: Ints, batch_size: int) -> LruRows:
    """Return a cache without rows that has memory for twice the rows HELD.

    While it serves a batch, a cache holds the batch's rows beside its own.
    """
    rows = max(1, min(int(state[CAPACITY]) + batch_size, max(MIN_ROWS, 2 * int(state[HELD]))))
    return LruRows(empty_table(rows, 2), np.zeros(1 << (NOTES_PER_ROW * rows - 1).bit_length(), dtype=np.int32), state)


def _sized_anew(cache: LruRows, batch_size: int) -> LruRows:
    """Return the cache without FREE positions and outdated notes."""
    renewed = _sized(cache.state, batch_size)
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
def _serve(table: Ints, ring: Slots, state: Ints, ids: Ints, first: int, batch_size: int, counts: Ints) -> Any:
    """Serve ids from `first` on until the table or the ring is full; return how many are served."""
    capacity, held, occupied, oldest, now, batch_start = state
    misses, evictions, same_batch_hits, served = 0, 0, 0, first
    mask, limit, batch_end = len(ring) - 1, MAX_LOAD * len(table), -(-first // batch_size) * batch_size
    while served < len(ids) and occupied < limit and now - oldest < len(ring):
        prefetch_record(table, ids, served)
        if served == batch_end:
            batch_start, batch_end = now, served + batch_size
        row = ids[served]
        served += 1
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
            held += 1
        table[position, STAMP] = 2 * now + is_new
        ring[now & mask] = position
        now += 1
        while held > capacity and (served == batch_end or served == len(ids)):
            while table[ring[oldest & mask], STAMP] >> 1 != oldest:
                oldest += 1
                prefetch_line(table, ring[(oldest + AHEAD) & mask], 0)
            occupied -= remove_row(table, ring[oldest & mask])
            oldest += 1
            held -= 1
            evictions += 1
    state[HELD], state[OCCUPIED], state[OLDEST], state[NOW], state[BATCH_START] = held, occupied, oldest, now, batch_start
    counts[index.MISSES] += misses
    counts[index.MISSED_LOOKUPS] += misses + same_batch_hits
    counts[index.EVICTED] += evictions
    return served
