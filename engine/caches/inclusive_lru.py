"""Several LRU caches, each of which holds all rows of the smaller caches.

All caches together are one list of rows by age, newest first: the caches of capacities C1 <= C2 <= ... hold the first C1, C2,
... rows of the list, and the memory below them holds all rows. A use moves its row to the front, so that at most one row leaves
each cache.
"""

from collections.abc import Sequence

import numpy as np

from ..core.arrays import Ints, Slots
from ..core.jit import entry_kernel, inner_kernel
from .row_index import (
    LAST_TURN,
    NO_SLOT,
    NUM_FILLED,
    POLICY_COLUMN,
    POLICY_STATE,
    ROW,
    TURN,
    RowIndex,
    empty_index,
    find_slot,
    link_slot,
)

NEWER, OLDER, LEVEL = range(POLICY_COLUMN, POLICY_COLUMN + 3)
UNBOUNDED_ROWS = 2**62  # more rows than any table has: all rows are tracked
NEWEST = POLICY_STATE
# From MEMORIES on the state has of each memory how many rows it may hold, how many it does, and its oldest.
MEMORIES, ROOM, SIZE, OLDEST, FIELDS = POLICY_STATE + 1, 0, 1, 2, 3


def no_rows(capacities: Sequence[float]) -> RowIndex:
    """Return empty caches of these capacities in rows, the smallest first.

    The memory below the caches has room for all rows.
    """
    rising = np.maximum.accumulate([int(min(max(rows, 0), UNBOUNDED_ROWS)) for rows in capacities])
    rooms = [*np.diff(rising, prepend=0), UNBOUNDED_ROWS]
    return empty_index(UNBOUNDED_ROWS, 3, (NO_SLOT, *(field for room in rooms for field in (int(room), 0, NO_SLOT))))


def serve_batch(cell: Ints, bucket: Slots, state: Ints, ids: Ints, hits_by_memory: Ints) -> Ints:
    """Serve one batch and return its rows that were never used before.

    The batch's other unique rows are added to `hits_by_memory`, at the index of the memory that held them. `cell`, `bucket` and
    `state` are the fields of the RowIndex.
    """
    touched_slots, new_rows = np.empty((2, len(ids)), dtype=np.int64)
    return new_rows[: _serve(cell, bucket, state, ids, hits_by_memory, touched_slots, new_rows)]


@entry_kernel
def _serve(cell: Ints, bucket: Slots, state: Ints, ids: Ints, hits_by_memory: Ints, touched_slots: Ints, new_rows: Ints) -> int:
    state[TURN] += 1
    count, num_new = 0, 0
    for row in ids:
        slot = find_slot(cell, bucket, row)
        if slot == NO_SLOT:
            slot = state[NUM_FILLED]
            state[NUM_FILLED] += 1
            cell[slot, ROW], cell[slot, LEVEL] = row, NO_SLOT
            link_slot(cell, bucket, slot)
            new_rows[num_new] = row
            num_new += 1
        elif cell[slot, LAST_TURN] != state[TURN]:
            hits_by_memory[cell[slot, LEVEL]] += 1
        if cell[slot, LAST_TURN] != state[TURN]:
            cell[slot, LAST_TURN] = state[TURN]
            touched_slots[count] = slot
            count += 1
    for slot in touched_slots[:count]:
        _use(cell, state, slot)
    return num_new


@inner_kernel
def _use(cell: Ints, state: Ints, slot: int) -> None:
    if state[NEWEST] == slot:
        return
    if cell[slot, LEVEL] != NO_SLOT:
        _leave_memory(cell, state, slot)
        newer, older = cell[slot, NEWER], cell[slot, OLDER]
        cell[newer, OLDER] = older
        if older != NO_SLOT:
            cell[older, NEWER] = newer
    cell[slot, NEWER], cell[slot, OLDER] = NO_SLOT, state[NEWEST]
    if state[NEWEST] != NO_SLOT:
        cell[state[NEWEST], NEWER] = slot
    state[NEWEST] = slot
    level, falling = 0, slot
    while True:
        memory = MEMORIES + FIELDS * level
        cell[falling, LEVEL] = level
        state[memory + SIZE] += 1
        if state[memory + OLDEST] == NO_SLOT:
            state[memory + OLDEST] = falling
        if state[memory + SIZE] <= state[memory + ROOM]:
            return
        falling = state[memory + OLDEST]
        _leave_memory(cell, state, falling)
        level += 1


@inner_kernel
def _leave_memory(cell: Ints, state: Ints, slot: int) -> None:
    memory = MEMORIES + FIELDS * cell[slot, LEVEL]
    state[memory + SIZE] -= 1
    if state[memory + OLDEST] == slot:
        state[memory + OLDEST] = cell[slot, NEWER] if state[memory + SIZE] > 0 else NO_SLOT
