"""LRU cache over the rows of all tables: it evicts the least recently used row.

Lookups are served one by one; batch boundaries make no difference.
"""

from ...core.arrays import Ints, Slots
from ...core.jit import entry_kernel
from .. import row_index as index
from ..row_index import NO_SLOT, RowIndex

NEWER, OLDER = range(
    index.POLICY_COLUMN, index.POLICY_COLUMN + 2
)  # neighbours in age; USED is here the turn in which the row came in
NEWEST, OLDEST = range(index.POLICY_STATE, index.POLICY_STATE + 2)


def no_rows(rows: int) -> RowIndex:
    """Return an empty cache of `rows` rows.

    A cache of zero or fewer rows holds no row.
    """
    return index.empty_index(max(0, rows), 2, (NO_SLOT, NO_SLOT))


def serve_batch(cache: RowIndex, ids: Ints, counts: Ints) -> RowIndex:
    """Look up a batch's ids in order, keep each row, and return the cache.

    `counts` gets the batch's row moves, without the number of unique rows. The cache gets more slots if needed.
    """
    if not cache.state[index.CAPACITY]:
        counts[[index.MISSED_LOOKUPS, index.MISSES, index.EVICTED]] = len(ids)
        return cache
    cache = index.ensure_slots(cache, len(ids))
    _serve(*cache, ids, counts)
    return cache


@entry_kernel
def _serve(cell: Ints, bucket: Slots, state: Ints, ids: Ints, counts: Ints) -> None:
    state[index.TURN] += 1
    turn, filled_before, newest, oldest = state[index.TURN], state[index.NUM_FILLED], state[NEWEST], state[OLDEST]
    misses, same_batch_hits = 0, 0  # hits on rows that came in with this batch
    for row in ids:
        slot = index.find_slot(cell, bucket, row)
        if slot == NO_SLOT:
            misses += 1
            if state[index.NUM_FILLED] < state[index.CAPACITY]:
                slot = state[index.NUM_FILLED]
                state[index.NUM_FILLED] += 1
            else:
                slot, oldest = oldest, cell[oldest, NEWER]
                index.unlink_slot(cell, bucket, slot)
                if oldest == NO_SLOT:
                    newest = NO_SLOT
                else:
                    cell[oldest, OLDER] = NO_SLOT
            cell[slot, index.ROW], cell[slot, index.LAST_TURN] = row, turn
            index.link_slot(cell, bucket, slot)
        else:
            same_batch_hits += cell[slot, index.LAST_TURN] == turn
            if slot == newest:
                continue
            newer, older = cell[slot, NEWER], cell[slot, OLDER]
            cell[newer, OLDER] = older
            if older == NO_SLOT:
                oldest = newer
            else:
                cell[older, NEWER] = newer
        cell[slot, NEWER], cell[slot, OLDER] = NO_SLOT, newest
        if newest == NO_SLOT:
            oldest = slot
        else:
            cell[newest, NEWER] = slot
        newest = slot
    state[NEWEST], state[OLDEST] = newest, oldest
    counts[index.MISSES], counts[index.MISSED_LOOKUPS] = misses, misses + same_batch_hits
    counts[index.EVICTED] = misses - (state[index.NUM_FILLED] - filled_before)
