"""An exact LRU cache of rows, over the ids of all tables: each lookup in its turn, whatever batch it belongs to."""

from ...core.arrays import Ints, Slots
from ...core.jit import entry
from .. import row_index as index
from ..row_index import NONE, Held

NEWER, OLDER = range(index.OWN, index.OWN + 2)  # neighbours in age; USED is here the turn in which the row came in
NEWEST, OLDEST = range(index.OWN_STATE, index.OWN_STATE + 2)


def no_rows(rows: int) -> Held:
    """Return an empty cache of so many rows; zero or less holds nothing."""
    return index.empty(max(0, rows), 2, (NONE, NONE))


def served(cache: Held, ids: Ints, counts: Ints) -> Held:
    """Look a batch's ids up in order and keep each; return the cache, grown where it had to. Unique rows are not counted."""
    if not cache.state[index.CAPACITY]:
        counts[[index.MISSED_LOOKUPS, index.MISSES, index.EVICTED]] = len(ids)
        return cache
    cache = index.with_room(cache, len(ids))
    _serve(*cache, ids, counts)
    return cache


@entry
def _serve(cell: Ints, bucket: Slots, state: Ints, ids: Ints, counts: Ints) -> None:
    state[index.TURN] += 1
    turn, before, newest, oldest = state[index.TURN], state[index.FILLED], state[NEWEST], state[OLDEST]
    misses, late = 0, 0  # late: lookups of rows that came in with this batch
    for row in ids:
        slot = index.find(cell, bucket, row)
        if slot == NONE:
            misses += 1
            if state[index.FILLED] < state[index.CAPACITY]:
                slot = state[index.FILLED]
                state[index.FILLED] += 1
            else:
                slot, oldest = oldest, cell[oldest, NEWER]
                index.unhang(cell, bucket, slot)
                if oldest == NONE:
                    newest = NONE
                else:
                    cell[oldest, OLDER] = NONE
            cell[slot, index.ROW], cell[slot, index.USED] = row, turn
            index.hang(cell, bucket, slot)
        else:
            late += cell[slot, index.USED] == turn
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
    counts[index.MISSES], counts[index.MISSED_LOOKUPS] = misses, misses + late
    counts[index.EVICTED] = misses - (state[index.FILLED] - before)
