"""Greedy division: the longest piece first, to the part with least to do that has room, or to as many as its rows are for."""

from typing import NamedTuple

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
    several = 0
    for table in order:
        for piece in range(ranges[table]):
            count, row, best = over[table], 0, ALL
            if 1 < count < len(busy):
                several += 1
                row = several
            for _ in range(count if count < len(busy) else 0):
                best = _freest(rooms, nbytes, table, count, busy, has[row])
                if best == ALL:
                    break
                has[row, best] = row > 0
                _take(rooms, nbytes, seconds, table, count, busy, best, 1)
            place[table, piece] = best if count == 1 or best == ALL else ~row
            if best == ALL:
                _clear(rooms, nbytes, seconds, table, count, busy, has[row])
                _take_all(rooms, nbytes, seconds, table, busy)


@inner
def _freest(rooms: Rooms, nbytes: Floats, table: Index, count: Index, busy: Floats, has: Flags) -> int:
    """Return the part with least to do, the first of several, that has room for a share of a piece; ALL where none has."""
    best = ALL
    for part in range(len(busy)):
        if not has[part] and (best == ALL or busy[part] < busy[best]):
            free = True
            for memory in range(len(nbytes)):
                free &= rooms.left[memory, rooms.room[memory, part]] >= nbytes[memory, table] / count
            best = part if free else best
    return best


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
