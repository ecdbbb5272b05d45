"""Greedy division of tables: the longest piece first, to the least busy part with room.

The rows of a piece can also be spread over several parts; each then gets an equal share.
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays import Flags, Floats, Index, Ints
from ..core.jit import entry_kernel, inner_kernel

ALL_PARTS = ~0  # place of a piece whose rows go over all parts


class Rooms(NamedTuple):
    """The free memory of parts; a room is memory that one or several parts share.

    room: for each memory, the index of each part's room, (M, P).
    parts: for each memory, the number of parts that share each room.
    free_bytes: for each memory, the free bytes of each room.
    """

    room: Ints
    parts: Ints
    free_bytes: Floats


@entry_kernel
def deal_pieces(
    order: Ints,
    ranges: Ints,
    share_counts: Ints,
    seconds: Floats,
    nbytes: Floats,
    rooms: Rooms,
    busy: Floats,
    owns: Flags,
    place: Ints,
) -> None:
    """Write the place of each piece of each table into `place`, (T, most pieces).

    order: the tables in the order in which they are placed.
    ranges: number of equal pieces of each table.
    share_counts: number of parts over which the rows of a table's pieces are spread.
    seconds, nbytes: seconds of a table's piece, (T,), and its bytes in each memory, (M, T).
    busy: seconds of work that each part has already, (P,).
    owns: row n flags the parts of the n-th piece whose rows are spread over several parts, (N, P).

    A place is a part, or ~n for the parts in row n of `owns`. It is ALL_PARTS for a piece that is spread over all parts, because
    of its `share_counts` or because too few parts have room.
    """
    run_count, queue = 0, np.empty(len(busy), dtype=np.int64)
    for part in range(len(busy)):
        queue[part] = part
    for table in order:
        for piece in range(ranges[table]):
            count, row, chosen_part, waiting = share_counts[table], 0, ALL_PARTS, len(busy)
            if 1 < count < len(busy):
                run_count += 1
                row = run_count
            for _ in range(count if count < len(busy) else 0):
                queue_index = _freest(rooms, nbytes, table, count, busy, queue, waiting)
                chosen_part = queue[queue_index] if queue_index != ALL_PARTS else ALL_PARTS
                if chosen_part == ALL_PARTS:
                    break
                owns[row, chosen_part] = row > 0
                _take(rooms, nbytes, seconds, table, count, busy, chosen_part, 1)
                waiting = _requeue(queue, waiting, busy, queue_index, row > 0)
            place[table, piece] = chosen_part if count == 1 or chosen_part == ALL_PARTS else ~row
            if chosen_part == ALL_PARTS:
                _clear(rooms, nbytes, seconds, table, count, busy, owns[row])
                _take_all(rooms, nbytes, seconds, table, busy)
                for heap_index in range(len(queue) // 2 - 1, -1, -1):
                    _sink(queue, len(queue), busy, heap_index)
            else:
                for heap_index in range(waiting, len(queue)):
                    _rise(queue, busy, heap_index)


@inner_kernel
def _freest(rooms: Rooms, nbytes: Floats, table: Index, count: Index, busy: Floats, queue: Ints, waiting: int) -> int:
    """Return the queue index of the least busy part with room, or ALL.

    The first of equal parts is chosen. The queue is a binary heap of the waiting parts: its first part is chosen unless it has
    no room.
    """
    best_index = ALL_PARTS
    for queue_index in range(waiting):
        part = queue[queue_index]
        if best_index == ALL_PARTS or _sooner(busy, part, queue[best_index]):
            fits = True
            for memory in range(len(nbytes)):
                fits &= rooms.free_bytes[memory, rooms.room[memory, part]] >= nbytes[memory, table] / count
            best_index = queue_index if fits else best_index
        if best_index == 0:
            break
    return best_index


@inner_kernel
def _requeue(queue: Ints, waiting: int, busy: Floats, queue_index: int, leaves: bool) -> int:
    """Update the queue after a part's work grew; return the number of waiting parts.

    A part that `leaves` goes behind the waiting parts.
    """
    if leaves:
        waiting -= 1
        queue[queue_index], queue[waiting] = queue[waiting], queue[queue_index]
        _rise(queue, busy, queue_index)
    _sink(queue, waiting, busy, queue_index)
    return waiting


@inner_kernel
def _sooner(busy: Floats, left_part: Index, right_part: Index) -> bool:
    """Return whether the left part is less busy, or equally busy and lower in number."""
    return bool(busy[left_part] < busy[right_part] or (busy[left_part] == busy[right_part] and left_part < right_part))


@inner_kernel
def _sink(queue: Ints, waiting: int, busy: Floats, heap_index: int) -> None:
    """Sift a part down the heap below less busy parts."""
    while 2 * heap_index + 1 < waiting:
        child = 2 * heap_index + 1
        if child + 1 < waiting and _sooner(busy, queue[child + 1], queue[child]):
            child += 1
        if not _sooner(busy, queue[child], queue[heap_index]):
            return
        queue[heap_index], queue[child] = queue[child], queue[heap_index]
        heap_index = child


@inner_kernel
def _rise(queue: Ints, busy: Floats, heap_index: int) -> None:
    """Sift a part up the heap above busier parts."""
    while heap_index > 0 and _sooner(busy, queue[heap_index], queue[(heap_index - 1) // 2]):
        parent = (heap_index - 1) // 2
        queue[heap_index], queue[parent] = queue[parent], queue[heap_index]
        heap_index = parent


@inner_kernel
def _take(
    rooms: Rooms, nbytes: Floats, seconds: Floats, table: Index, count: Index, busy: Floats, part: Index, times: int
) -> None:
    """Give a share of a piece to a part; with -1 `times`, take the share back."""
    busy[part] += times * seconds[table] / count
    for memory in range(len(nbytes)):
        rooms.free_bytes[memory, rooms.room[memory, part]] -= times * nbytes[memory, table] / count


@inner_kernel
def _clear(rooms: Rooms, nbytes: Floats, seconds: Floats, table: Index, count: Index, busy: Floats, owns: Flags) -> None:
    """Take a piece back from the parts that have shares of it."""
    for part in range(len(busy)):
        if owns[part]:
            _take(rooms, nbytes, seconds, table, count, busy, part, -1)
            owns[part] = False


@inner_kernel
def _take_all(rooms: Rooms, nbytes: Floats, seconds: Floats, table: Index, busy: Floats) -> None:
    """Give each part an even share of a piece."""
    for part in range(len(busy)):
        busy[part] += seconds[table] / len(busy)
    for memory in range(len(nbytes)):
        for room in range(rooms.free_bytes.shape[1]):
            rooms.free_bytes[memory, room] -= rooms.parts[memory, room] * nbytes[memory, table] / len(busy)
