"""Exact LRU cache over the ids of all tables.

Lookups are served one by one; batches make no difference.
"""

from ...core.arrays import Ints, Slots
from ...core.jit import entry
from .. import row_index as index
from ..row_index import NONE, Held

NEWER, OLDER = range(index.OWN, index.OWN + 2)  # neighbours in age; USED is here the turn in which the row came in
NEWEST, OLDEST = range(index.OWN_STATE, index.OWN_STATE + 2)


def no_rows(rows: int) -> Held:
    """Return an empty cache of `rows` rows; a cache of zero or fewer rows holds none."""
    return index.empty(max(0, rows), 2, (NONE, NONE))


def served(cache: Held, ids: Ints, counts: Ints) -> Held:
    """Look up a batch's ids in order and keep each row; return the cache.

    The cache grows if needed. Unique rows are not counted.
    """
    if not cache.state[index.CAPACITY]:
        counts[[index.MISSED_LOOKUPS, index.MISSES, index.EVICTED]] = len(ids)
        return cache
    cache = index.with_room(cache, len(ids))
    _serve(*cache, ids, counts)
    return cache


@entry
def _serve(cell: Ints, bucket: Slots, state: Ints, ids: Ints, counts: Ints) -> None:
    state[index.TURN] += 1
    turn, filled_before, newest, oldest = state[index.TURN], state[index.FILLED], state[NEWEST], state[OLDEST]
    misses, same_batch_hits = 0, 0  # hits on rows that came in with this batch
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
            same_batch_hits += cell[slot, index.USED] == turn
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
    counts[index.MISSES], counts[index.MISSED_LOOKUPS] = misses, misses + same_batch_hits
    counts[index.EVICTED] = misses - (state[index.FILLED] - filled_before)
