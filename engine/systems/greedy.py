"""Greedy division: the longest piece first, to the part with least to do that has room."""

from typing import NamedTuple

from ..core.arrays import Floats, Index, Ints
from ..core.jit import entry, inner

ALL = ~0  # the place of what goes by rows over all parts, the only run


class Rooms(NamedTuple):
    """Memories of parts: which `room` of each memory a part has, (M, P), how many parts have each, and the bytes `left`."""

    room: Ints
    parts: Ints
    left: Floats


@entry
def deal(order: Ints, ranges: Ints, seconds: Floats, nbytes: Floats, rooms: Rooms, busy: Floats, place: Ints) -> None:
    """Enter the place of each piece, of tables in `order`, in so many equal `ranges` each, or 0 for rows over all parts.

    `seconds` (T,) and `nbytes` (M, T) are a piece's; parts are `busy` (P,) for so long. A table's places begin where
    `place` (T, most) has its row. What no part has room for goes over all.
    """
    for table in order:
        for piece in range(max(1, ranges[table])):
            best = _freest(rooms, nbytes, table, busy) if ranges[table] else ALL
            place[table, piece] = best
            for part in range(len(busy) if best == ALL else 0):
                busy[part] += seconds[table] / len(busy)
            if best != ALL:
                busy[best] += seconds[table]
            _fill(rooms, nbytes, table, best)


@inner
def _freest(rooms: Rooms, nbytes: Floats, table: Index, busy: Floats) -> int:
    """Return the part with least to do, the first of several, that has room for a piece; ALL where none has."""
    best = ALL
    for part in range(len(busy)):
        if best == ALL or busy[part] < busy[best]:
            free = True
            for memory in range(len(nbytes)):
                free &= rooms.left[memory, rooms.room[memory, part]] >= nbytes[memory, table]
            best = part if free else best
    return best


@inner
def _fill(rooms: Rooms, nbytes: Floats, table: Index, place: int) -> None:
    """Take the room of a piece."""
    for memory in range(len(nbytes)):
        if place == ALL:
            for room in range(rooms.left.shape[1]):
                rooms.left[memory, room] -= rooms.parts[memory, room] * nbytes[memory, table] / rooms.room.shape[1]
        else:
            rooms.left[memory, rooms.room[memory, place]] -= nbytes[memory, table]
