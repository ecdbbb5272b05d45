"""Look-ahead: a row stays if and only if one of the next batches uses it; where room is short, the one used last of all goes.

The batches ahead are known because training reads its input early (Bagpipe, arXiv 2202.12429; ScratchPipe, arXiv 2205.04702).
With every batch in sight this is Belady's optimal policy.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from ...core.arrays import Ints
from ..eviction import EVICTED, HELD, MISSED_LOOKUPS, MISSES, UNIQUE
from ..policy import COUNTS, Cache, Moves, Room, moves, too_small
from ..row_index import NONE


def run(batches: Sequence[Ints], room: Room) -> Moves:
    """Serve batches, all of which are given at once."""
    each = [np.unique(ids, return_counts=True) for ids in batches]
    stops = np.cumsum([0] + [len(rows) for rows, _ in each])
    rows = np.concatenate([rows for rows, _ in each]) if each else np.empty(0, dtype=np.int64)
    times = np.concatenate([times for _, times in each]) if each else rows
    counts = np.zeros((len(batches), COUNTS), dtype=np.int64)
    failed = _serve(*_numbered(rows), times, stops, room.rows, room.batches_ahead, counts)
    if failed != NONE:
        raise too_small(room.rows, len(each[failed][0]), failed)
    return moves(batches, counts)


def singly(ids: Ints, room: Room) -> int:
    """Return the misses when each id is served by itself and all of them are known ahead."""
    if room.rows <= 0:
        return len(ids)
    counts = np.zeros((len(ids), COUNTS), dtype=np.int64)
    _serve(*_numbered(ids), np.ones_like(ids), np.arange(len(ids) + 1), room.rows, len(ids), counts)
    return int(counts[:, MISSES].sum())


def _numbered(rows: Ints) -> tuple[Ints, int]:
    different, number = np.unique(rows, return_inverse=True)
    return number, len(different)


@njit(cache=True, nogil=True)
def _serve(rows, different, times, stops, capacity, ahead, counts):  # type: ignore[no-untyped-def]
    """Serve all batches; return the first with more rows than the capacity, else NONE."""
    following = next_use(rows, different, stops)
    due = np.full(different, NONE, dtype=np.int64)  # the batch that uses a held row next; NONE is not held
    heap, size, held = np.empty((len(rows), 2), dtype=np.int64), 0, 0
    for n in range(len(stops) - 1):
        batch = slice(stops[n], stops[n + 1])
        unique = stops[n + 1] - stops[n]
        if unique > capacity:
            return n
        counts[n, UNIQUE] = unique
        for row, number in zip(rows[batch], times[batch]):  # noqa: B905 - numba knows no strict
            missing = due[row] == NONE
            counts[n, MISSES] += missing
            counts[n, MISSED_LOOKUPS] += missing * number
        # Rows of this batch are due now, those that may go are due later, and the latest is on top of the heap.
        while held + counts[n, MISSES] > capacity:
            size = drop(heap, size)
            when, row = heap[size, 0], heap[size, 1]
            if due[row] == when:
                due[row] = NONE
                held -= 1
                counts[n, EVICTED] += 1
        held += counts[n, MISSES]
        for place in range(stops[n], stops[n + 1]):
            row, when = rows[place], following[place]
            if when - n <= ahead:
                due[row] = when
                size = add(heap, size, when, row)
            else:
                due[row] = NONE
                held -= 1
                counts[n, EVICTED] += 1
        counts[n, HELD] = held
    return NONE


@njit(cache=True, nogil=True)
def next_use(rows, different, stops):  # type: ignore[no-untyped-def]
    """Return for each row of each batch the next batch that uses it; far beyond the last if none does."""
    never = np.int64(2**62)
    last, following = np.full(different, never), np.empty(len(rows), dtype=np.int64)
    for n in range(len(stops) - 2, -1, -1):
        for place in range(stops[n], stops[n + 1]):
            following[place] = last[rows[place]]
            last[rows[place]] = n
    return following


@njit(cache=True, nogil=True)
def add(heap, size, when, row):  # type: ignore[no-untyped-def]
    """Put a row into the heap, the latest on top, and return its new size."""
    at = size
    while at > 0 and heap[(at - 1) // 2, 0] < when:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at, 0], heap[at, 1] = when, row
    return size + 1


@njit(cache=True, nogil=True)
def drop(heap, size):  # type: ignore[no-untyped-def]
    """Move the top of the heap to its end and return the new size."""
    size -= 1
    when, row = heap[size, 0], heap[size, 1]
    heap[size, 0], heap[size, 1] = heap[0, 0], heap[0, 1]
    at, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1, 0] > heap[child, 0]:
            child += 1
        if heap[child, 0] <= when:
            break
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at, child = child, 2 * child + 1
    if size > 0:
        heap[at, 0], heap[at, 1] = when, row
    return size


CACHE = Cache("Look-ahead", "A row stays if one of the next batches uses it.", run, singly)
