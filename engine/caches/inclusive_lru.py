"""An inclusive hierarchy of LRU caches as one list of rows by age.

Each memory holds a stretch of the list, the slowest the rest. Rows of a smaller cache are in each larger one below it too, so
the caches of capacities C1 <= C2 <= ... are the newest C1, C2, ... rows of one list. A use moves its row to the front, and at
most one row falls from each memory into the next.
"""

from collections.abc import Sequence

import numpy as np

from ..core.arrays import Ints, Slots
from ..core.jit import entry, inner
from .row_index import FILLED, NONE, OWN, OWN_STATE, ROW, TURN, USED, Held, empty, find, hang

NEWER, OLDER, LEVEL = range(OWN, OWN + 3)
EVERY = 2**62  # more rows than any table has: all rows are tracked
NEWEST = OWN_STATE
# From MEMORIES on the state has of each memory how many rows it may hold, how many it does, and its oldest.
MEMORIES, ROOM, SIZE, OLDEST, FIELDS = OWN_STATE + 1, 0, 1, 2, 3


def no_rows(capacities: Sequence[float]) -> Held:
    """Return empty caches of these capacities in rows, the fastest first.

    The memory below them has room for all rows.
    """
    rising = np.maximum.accumulate([int(min(max(rows, 0), EVERY)) for rows in capacities])
    rooms = [*np.diff(rising, prepend=0), EVERY]
    return empty(EVERY, 3, (NONE, *(field for room in rooms for field in (int(room), 0, NONE))))


def serve(cell: Ints, bucket: Slots, state: Ints, ids: Ints, hits_by_memory: Ints) -> Ints:
    """Serve one batch and return its rows that were never used before.

    Its other unique rows are added to `hits_by_memory`, by the memory that held them.
    """
    touched_slots, new_rows = np.empty((2, len(ids)), dtype=np.int64)
    return new_rows[: _serve(cell, bucket, state, ids, hits_by_memory, touched_slots, new_rows)]


@entry
def _serve(cell: Ints, bucket: Slots, state: Ints, ids: Ints, hits_by_memory: Ints, touched_slots: Ints, new_rows: Ints) -> int:
    state[TURN] += 1
    count, num_new = 0, 0
    for row in ids:
        slot = find(cell, bucket, row)
        if slot == NONE:
            slot = state[FILLED]
            state[FILLED] += 1
            cell[slot, ROW], cell[slot, LEVEL] = row, NONE
            hang(cell, bucket, slot)
            new_rows[num_new] = row
            num_new += 1
        elif cell[slot, USED] != state[TURN]:
            hits_by_memory[cell[slot, LEVEL]] += 1
        if cell[slot, USED] != state[TURN]:
            cell[slot, USED] = state[TURN]
            touched_slots[count] = slot
            count += 1
    for slot in touched_slots[:count]:
        _use(cell, state, slot)
    return num_new


@inner
def _use(cell: Ints, state: Ints, slot: int) -> None:
    if state[NEWEST] == slot:
        return
    if cell[slot, LEVEL] != NONE:
        _leave_memory(cell, state, slot)
        newer, older = cell[slot, NEWER], cell[slot, OLDER]
        cell[newer, OLDER] = older
        if older != NONE:
            cell[older, NEWER] = newer
    cell[slot, NEWER], cell[slot, OLDER] = NONE, state[NEWEST]
    if state[NEWEST] != NONE:
        cell[state[NEWEST], NEWER] = slot
    state[NEWEST] = slot
    level, falling = 0, slot
    while True:
        memory = MEMORIES + FIELDS * level
        cell[falling, LEVEL] = level
        state[memory + SIZE] += 1
        if state[memory + OLDEST] == NONE:
            state[memory + OLDEST] = falling
        if state[memory + SIZE] <= state[memory + ROOM]:
            return
        falling = state[memory + OLDEST]
        _leave_memory(cell, state, falling)
        level += 1


@inner
def _leave_memory(cell: Ints, state: Ints, slot: int) -> None:
    memory = MEMORIES + FIELDS * cell[slot, LEVEL]
    state[memory + SIZE] -= 1
    if state[memory + OLDEST] == slot:
        state[memory + OLDEST] = cell[slot, NEWER] if state[memory + SIZE] > 0 else NONE
