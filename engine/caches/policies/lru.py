"""An exact LRU cache of rows, over the ids of all tables: each lookup in its turn, whatever batch it belongs to."""

from numba import njit

from ...core.arrays import Ints, Slots
from ..row_index import (
    CAPACITY,
    EVICTED,
    FILLED,
    MISSED_LOOKUPS,
    MISSES,
    NONE,
    OWN,
    OWN_STATE,
    ROW,
    TURN,
    USED,
    Held,
    empty,
    find,
    hang,
    unhang,
    with_room,
)

NEWER, OLDER = range(OWN, OWN + 2)  # neighbours in age; USED is here the turn in which the row came in
NEWEST, OLDEST = range(OWN_STATE, OWN_STATE + 2)


def no_rows(rows: int) -> Held:
    """Return an empty cache of so many rows; zero or less holds nothing."""
    return empty(max(0, rows), 2, (NONE, NONE))


def served(cache: Held, ids: Ints, counts: Ints) -> Held:
    """Look a batch's ids up in order and keep each; return the cache, grown where it had to. Unique rows are not counted."""
    if not cache.state[CAPACITY]:
        counts[[MISSED_LOOKUPS, MISSES, EVICTED]] = len(ids)
        return cache
    cache = with_room(cache, len(ids))
    _serve(*cache, ids, counts)
    return cache


@njit(cache=True, nogil=True)
def _serve(cell: Ints, bucket: Slots, state: Ints, ids: Ints, counts: Ints) -> None:
    state[TURN] += 1
    turn, before, newest, oldest = state[TURN], state[FILLED], state[NEWEST], state[OLDEST]
    misses, missed_lookups = 0, 0
    for row in ids:
        slot = find(cell, bucket, row)
        if slot == NONE:
            misses += 1
            missed_lookups += 1
            if state[FILLED] < state[CAPACITY]:
                slot = state[FILLED]
                state[FILLED] += 1
            else:
                slot, oldest = oldest, cell[oldest, NEWER]
                unhang(cell, bucket, slot)
                if oldest == NONE:
                    newest = NONE
                else:
                    cell[oldest, OLDER] = NONE
            cell[slot, ROW], cell[slot, USED] = row, turn
            hang(cell, bucket, slot)
        else:
            missed_lookups += cell[slot, USED] == turn
            if slot == newest:
                continue
            newer, older = cell[slot, NEWER], cell[slot, OLDER]
            cell[newer, OLDER] = older
            if older == NONE:
                oldest = newer
            else:
                cell[older, NEWER] = newer
        cell[slot, NEWER], cell[slot, OLDER] = NONE, newest
        if newest == NONE:
            oldest = slot
        else:
            cell[newest, NEWER] = slot
        newest = slot
    state[NEWEST], state[OLDEST] = newest, oldest
    counts[MISSED_LOOKUPS], counts[MISSES], counts[EVICTED] = missed_lookups, misses, misses - (state[FILLED] - before)
