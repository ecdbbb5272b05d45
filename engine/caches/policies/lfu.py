"""LFU cache without ageing: it evicts the row used in the fewest batches.

Of rows with equal counts, the row that has had its count for longest is evicted. A row comes into a queue, and keeps its place
there when it is used again. So the first row of the queue with a count of 1 is evicted. Before that, rows ahead of it with
higher counts move to a heap, from which rows are evicted when the queue is empty. In the heap too, a row keeps its place when it
is used, until it comes to the top.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Index, Ints, Slots
from ...core.jit import entry_kernel, inner_kernel, prefetch_line, shared_kernel
from .. import row_index as index
from ..row_table import AHEAD, EMPTY, MAX_LOAD, MIN_ROWS, ROW, empty_table, find_position, prefetch_record, remove_row

COUNT, TIME = 1, 2  # columns: batches that used the row, and the time of the last such use
HEAP_COUNT, HEAP_TIME, POSITION = range(3)  # a COUNT and TIME that the row had, and its position in the table
CAPACITY, HELD, OCCUPIED, NOW, FIRST, END, HEAP_SIZE = range(7)


class LfuRows(NamedTuple):
    """The rows that a cache holds; kernels change the arrays in place.

    table: a `row_table` with the columns COUNT and TIME.
    queue: the position of the row that came n-th into the queue, in `queue[n % len(queue)]`; a power of two.
    heap: HEAP_COUNT, HEAP_TIME and POSITION of rows; none is evicted before its parent, which of i is (i - 1) // 2.
    state: the CAPACITY, the rows HELD, the OCCUPIED positions of the table, the time of the next use (NOW), the numbers of the
        FIRST row of the queue and of the next to come (END), and the rows in the heap (HEAP_SIZE).
    """

    table: Ints
    queue: Slots
    heap: Ints
    state: Ints


def no_rows(rows: int) -> LfuRows:
    """Return an empty cache of `rows` rows."""
    return _sized(MIN_ROWS, 0, np.array([rows, 0, 0, 0, 0, 0, 0]))


def serve_batch(cache: LfuRows, ids: Ints, counts: Ints) -> LfuRows:
    """Serve one batch, add its row moves to `counts`, and return the cache.

    If the batch has more unique rows than the cache has room for, no row is taken into the cache.
    """
    return serve_batches(cache, ids, max(1, len(ids)), counts)


def serve_batches(cache: LfuRows, ids: Ints, batch_size: int, counts: Ints) -> LfuRows:
    """Serve batches of `batch_size` ids each as `serve_batch` does, and return the cache."""
    cache = _with_room(cache, len(ids))
    _serve(*cache, ids, batch_size, counts, np.empty(batch_size, dtype=np.int64))
    return cache


def _with_room(cache: LfuRows, lookups: int) -> LfuRows:
    """Return the cache with memory for so many lookups more."""
    capacity, rows = int(cache.state[CAPACITY]), int(cache.state[HELD]) + lookups
    if min(rows, capacity) <= len(cache.heap) and cache.state[OCCUPIED] + lookups <= MAX_LOAD * len(cache.table):
        return cache
    rows = min(2 * rows, capacity)
    larger = _sized(rows + lookups, rows, cache.state)
    _copy_rows(cache.table, cache.queue, cache.heap, *larger)
    return larger


def _sized(table_rows: int, rows: int, state: Ints) -> LfuRows:
    """Return arrays without rows for so many rows in the table, and in the queue and the heap."""
    queue = np.zeros(1 << max(0, rows - 1).bit_length(), dtype=np.int32)
    return LfuRows(empty_table(table_rows, 3), queue, np.empty((rows, 3), dtype=np.int64), state)


@entry_kernel
def _copy_rows(old_table: Ints, old_queue: Slots, old_heap: Ints, table: Ints, queue: Slots, heap: Ints, state: Ints) -> None:
    """Copy the rows of the heap and of the queue, whose numbers are counted from 0 again."""
    heap_size, queue_size, mask = state[HEAP_SIZE], state[END] - state[FIRST], len(old_queue) - 1
    for n in range(heap_size + queue_size):
        in_heap = n < heap_size
        old = old_heap[n, POSITION] if in_heap else np.int64(old_queue[(state[FIRST] + n - heap_size) & mask])
        position = find_position(table, old_table[old, ROW])
        for column in range(table.shape[1]):
            table[position, column] = old_table[old, column]
        if in_heap:
            _write(heap, n, old_heap[n, HEAP_COUNT], old_heap[n, HEAP_TIME], position)
        else:
            queue[n - heap_size] = position
    state[FIRST], state[END], state[OCCUPIED] = 0, queue_size, state[HELD]


@inner_kernel
def _write(heap: Ints, i: Index, count: Index, time: Index, position: Index) -> None:
    heap[i, HEAP_COUNT], heap[i, HEAP_TIME], heap[i, POSITION] = count, time, position


@inner_kernel
def _is_before(heap: Ints, i: Index, count: Index, time: Index) -> Any:
    """Return whether row i of the heap is evicted before a row with this count and time."""
    return heap[i, HEAP_COUNT] < count or (heap[i, HEAP_COUNT] == count and heap[i, HEAP_TIME] < time)


@shared_kernel
def _replace_top(table: Ints, heap: Ints, size: int, position: int) -> None:
    """Replace the top of a heap of `size` rows by the row at a position."""
    count, time, i = table[position, COUNT], table[position, TIME], 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _is_before(heap, child + 1, heap[child, HEAP_COUNT], heap[child, HEAP_TIME]):
            child += 1
        if not _is_before(heap, child, count, time):
            break
        _write(heap, i, heap[child, HEAP_COUNT], heap[child, HEAP_TIME], heap[child, POSITION])
        i = child
    _write(heap, i, count, time, position)


@shared_kernel
def _push(table: Ints, heap: Ints, state: Ints, position: int) -> None:
    """Add the row at a position to the heap."""
    count, time, i = table[position, COUNT], table[position, TIME], state[HEAP_SIZE]
    while i > 0 and not _is_before(heap, (i - 1) // 2, count, time):
        parent = (i - 1) // 2
        _write(heap, i, heap[parent, HEAP_COUNT], heap[parent, HEAP_TIME], heap[parent, POSITION])
        i = parent
    _write(heap, i, count, time, position)
    state[HEAP_SIZE] += 1


@entry_kernel
def _serve(table: Ints, queue: Slots, heap: Ints, state: Ints, ids: Ints, batch_size: int, counts: Ints, arrivals: Ints) -> None:
    """Serve batches; `arrivals` has room for the positions of the rows of a batch that were not in the cache.

    Such a row has a record with count 0 until the end of its batch.
    """
    for start in range(0, len(ids), batch_size):
        batch_start, hits, waiting = state[NOW], 0, 0
        for i in range(start, min(start + batch_size, len(ids))):
            prefetch_record(table, ids, i)
            position = find_position(table, ids[i])
            if table[position, ROW] != ids[i]:
                state[OCCUPIED] += table[position, ROW] == EMPTY
                table[position, ROW], table[position, COUNT] = ids[i], 0
                arrivals[waiting] = position
                waiting += 1
            if table[position, COUNT] == 0:
                counts[index.MISSED_LOOKUPS] += 1
            elif table[position, TIME] < batch_start:
                hits += 1
                _use(table, state, position)
        counts[index.UNIQUE] += hits + waiting
        counts[index.MISSES] += waiting
        if hits + waiting > state[CAPACITY]:
            for n in range(waiting):
                state[OCCUPIED] -= remove_row(table, arrivals[n])
        elif waiting:
            counts[index.EVICTED] += _take_in(table, queue, heap, state, batch_start, waiting, arrivals)


@inner_kernel
def _use(table: Ints, state: Ints, position: Index) -> None:
    """Count a batch that uses the row at a position."""
    table[position, COUNT] += 1
    table[position, TIME] = state[NOW]
    state[NOW] += 1


@inner_kernel
def _take_in(table: Ints, queue: Slots, heap: Ints, state: Ints, batch_start: int, waiting: int, arrivals: Ints) -> Any:
    """Take in the `waiting` rows of a batch, whose positions are in `arrivals`; return the evictions."""
    evicted = max(0, state[HELD] + waiting - state[CAPACITY])
    state[HELD] += waiting - evicted
    _evict(table, queue, heap, state, evicted, batch_start, arrivals[waiting:])
    for n in range(waiting):
        prefetch_line(table, arrivals[min(n + AHEAD, waiting - 1)], 0)
        _use(table, state, arrivals[n])
        queue[state[END] & (len(queue) - 1)] = arrivals[n]
        state[END] += 1
    return evicted


@inner_kernel
def _evict(table: Ints, queue: Slots, heap: Ints, state: Ints, number: int, batch_start: int, spared: Ints) -> None:
    """Evict so many rows that were not used since `batch_start`.

    Rows that were, and come to the top of the heap, are `spared`.
    """
    num_spared, mask = 0, len(queue) - 1
    while number > 0:
        if state[FIRST] < state[END]:
            prefetch_line(table, queue[(state[FIRST] + AHEAD) & mask], 0)
            position = queue[state[FIRST] & mask]
            state[FIRST] += 1
            if table[position, COUNT] > 1:
                _push(table, heap, state, position)
                continue
        else:
            position, size = heap[0, POSITION], state[HEAP_SIZE]
            in_batch = table[position, TIME] >= batch_start
            if table[position, TIME] != heap[0, HEAP_TIME] and not in_batch:
                _replace_top(table, heap, size, position)
                continue
            state[HEAP_SIZE] = size - 1
            _replace_top(table, heap, size - 1, heap[size - 1, POSITION])
            if in_batch:
                spared[num_spared] = position
                num_spared += 1
                continue
        state[OCCUPIED] -= remove_row(table, position)
        number -= 1
    for n in range(num_spared):
        _push(table, heap, state, spared[n])
