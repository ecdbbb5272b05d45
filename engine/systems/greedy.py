"""Greedy division: the longest piece first, to the part with least to do that has room, or to as many as its rows are for."""

from typing import NamedTuple

import numpy as np

from ..core.arrays import Flags, Floats, Index, Ints
from ..core.jit import entry, inner

ALL = ~0  # the place of what goes by rows over all parts


class Rooms(NamedTuple):
    """Memories of parts: which `room` of each memory a part has, (M, P), how many parts have each, and the bytes `left`."""

    room: Ints
    parts: Ints
    left: Floats


@entry
def deal(
    order: Ints, ranges: Ints, over: Ints, seconds: Floats, nbytes: Floats, rooms: Rooms, busy: Floats, has: Flags, place: Ints
) -> None:
    """Enter the place of each piece, (T, most): of tables in `order`, in equal `ranges`, the rows of each `over` so many parts.

    `seconds` (T,) and `nbytes` (M, T) are a piece's; parts are `busy` (P,) for so long. A place is a part, or ~n of those that
    row n of `has` (N, P) names; what goes over all parts, or what too few have room for, is at ALL.
    """
    several, queue = 0, np.empty(len(busy), dtype=np.int64)
    for part in range(len(busy)):
        queue[part] = part
    for table in order:
        for piece in range(ranges[table]):
            count, row, best, waiting = over[table], 0, ALL, len(busy)
            if 1 < count < len(busy):
                several += 1
                row = several
            for _ in range(count if count < len(busy) else 0):
                at = _freest(rooms, nbytes, table, count, busy, queue, waiting)
                best = queue[at] if at != ALL else ALL
                if best == ALL:
                    break
                has[row, best] = row > 0
                _take(rooms, nbytes, seconds, table, count, busy, best, 1)
                waiting = _served(queue, waiting, busy, at, row > 0)
            place[table, piece] = best if count == 1 or best == ALL else ~row
            if best == ALL:
                _clear(rooms, nbytes, seconds, table, count, busy, has[row])
                _take_all(rooms, nbytes, seconds, table, busy)
                for first in range(len(queue) // 2 - 1, -1, -1):
                    _sink(queue, len(queue), busy, first)
            else:
                for last in range(waiting, len(queue)):
                    _rise(queue, busy, last)


@inner
def _freest(rooms: Rooms, nbytes: Floats, table: Index, count: Index, busy: Floats, queue: Ints, waiting: int) -> int:
    """Return where the part with least to do, the first of several, that has room for a share of a piece waits; ALL for none.

    The queue is a binary heap of the parts that wait: the first one, unless it has no room.
    """
    best = ALL
    for at in range(waiting):
        part = queue[at]
        if best == ALL or _sooner(busy, part, queue[best]):
            free = True
            for memory in range(len(nbytes)):
                free &= rooms.left[memory, rooms.room[memory, part]] >= nbytes[memory, table] / count
            best = at if free else best
        if best == 0:
            break
    return best


@inner
def _served(queue: Ints, waiting: int, busy: Floats, at: int, goes: bool) -> int:
    """Let a part go behind those that wait, or wait anew by what it has to do; return how many wait."""
    if goes:
        waiting -= 1
        queue[at], queue[waiting] = queue[waiting], queue[at]
        _rise(queue, busy, at)
    _sink(queue, waiting, busy, at)
    return waiting


@inner
def _sooner(busy: Floats, one: Index, other: Index) -> bool:
    return bool(busy[one] < busy[other] or (busy[one] == busy[other] and one < other))


@inner
def _sink(queue: Ints, waiting: int, busy: Floats, at: int) -> None:
    """Let a part of the heap sink below those with less to do."""
    while 2 * at + 1 < waiting:
        child = 2 * at + 1
        if child + 1 < waiting and _sooner(busy, queue[child + 1], queue[child]):
            child += 1
        if not _sooner(busy, queue[child], queue[at]):
            return
        queue[at], queue[child] = queue[child], queue[at]
        at = child


@inner
def _rise(queue: Ints, busy: Floats, at: int) -> None:
    """Let a part rise above those with more to do."""
    while at > 0 and _sooner(busy, queue[at], queue[(at - 1) // 2]):
        above = (at - 1) // 2
        queue[at], queue[above] = queue[above], queue[at]
        at = above


@inner
def _take(
    rooms: Rooms, nbytes: Floats, seconds: Floats, table: Index, count: Index, busy: Floats, part: Index, times: int
) -> None:
    """Give a share of a piece to a part; with -1 `times`, take it back."""
    busy[part] += times * seconds[table] / count
    for memory in range(len(nbytes)):
        rooms.left[memory, rooms.room[memory, part]] -= times * nbytes[memory, table] / count


@inner
def _clear(rooms: Rooms, nbytes: Floats, seconds: Floats, table: Index, count: Index, busy: Floats, has: Flags) -> None:
    """Take a piece back from those that have shares of it."""
    for part in range(len(busy)):
        if has[part]:
            _take(rooms, nbytes, seconds, table, count, busy, part, -1)
            has[part] = False


@inner
def _take_all(rooms: Rooms, nbytes: Floats, seconds: Floats, table: Index, busy: Floats) -> None:
    """Give each part a share of a piece."""
    for part in range(len(busy)):
        busy[part] += seconds[table] / len(busy)
    for memory in range(len(nbytes)):
        for room in range(rooms.left.shape[1]):
            rooms.left[memory, room] -= rooms.parts[memory, room] * nbytes[memory, table] / len(busy)
