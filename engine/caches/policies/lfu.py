"""LFU cache without ageing: it evicts the row used in the fewest batches.

Of rows with equal counts, the row that has had its count for longest is evicted. Rows with equal counts form a group: a list in
the order in which they reached the count. Groups are linked by rising count. A slot knows its neighbours in its group. A group
knows its first and last slot, and the groups of lower and of higher count. The state knows the group of the lowest count, the
first of the unused groups (chained by HIGHER), and the number of groups ever made.
"""

from typing import Any

import numpy as np

from ...core.arrays import Ints, Slots
from ...core.jit import entry_kernel, inner_kernel
from .. import row_index as index
from ..row_index import NO_SLOT, RowIndex

EARLIER, LATER, GROUP = range(index.POLICY_COLUMN, index.POLICY_COLUMN + 3)
# Of group g, in cell[g]: there are never more groups than slots.
COUNT, FIRST_SLOT, LAST_SLOT, LOWER, HIGHER = range(index.POLICY_COLUMN + 3, index.POLICY_COLUMN + 8)
LOWEST, SPARE, NUM_GROUPS = range(index.POLICY_STATE, index.POLICY_STATE + 3)


def no_rows(rows: int) -> RowIndex:
    """Return an empty cache of `rows` rows."""
    return index.empty_index(rows, 8, (NO_SLOT, NO_SLOT, 0))


def serve_batch(cache: RowIndex, ids: Ints, counts: Ints) -> RowIndex:
    """Serve one batch, fill `counts` with its row moves, and return the cache.

    If the batch has more unique rows than the cache has slots, no row is taken into the cache.
    """
    cache = index.ensure_slots(cache, len(ids))
    missing_rows, freed = np.empty((2, len(ids)), dtype=np.int64)
    _serve(*cache, ids, counts, missing_rows, freed, np.full(2 * len(ids) + 1, NO_SLOT))
    return cache


@inner_kernel
def _group(cell: Ints, state: Ints, count: int, lower: int, higher: int) -> Any:
    """Return a new group without rows between two other groups."""
    group = state[SPARE]
    if group == NO_SLOT:
        group = state[NUM_GROUPS]
        state[NUM_GROUPS] += 1
    else:
        state[SPARE] = cell[group, HIGHER]
    cell[group, COUNT], cell[group, FIRST_SLOT], cell[group, LAST_SLOT] = count, NO_SLOT, NO_SLOT
    cell[group, LOWER], cell[group, HIGHER] = NO_SLOT, NO_SLOT
    _link(cell, state, lower, group)
    _link(cell, state, group, higher)
    return group


@inner_kernel
def _link(cell: Ints, state: Ints, lower: int, higher: int) -> None:
    if lower == NO_SLOT:
        state[LOWEST] = higher
    else:
        cell[lower, HIGHER] = higher
    if higher != NO_SLOT:
        cell[higher, LOWER] = lower


@inner_kernel
def _join(cell: Ints, slot: int, group: int) -> None:
    """Append a slot to a group."""
    last_slot = cell[group, LAST_SLOT]
    cell[slot, EARLIER], cell[slot, LATER], cell[slot, GROUP] = last_slot, NO_SLOT, group
    if last_slot == NO_SLOT:
        cell[group, FIRST_SLOT] = slot
    else:
        cell[last_slot, LATER] = slot
    cell[group, LAST_SLOT] = slot


@inner_kernel
def _leave(cell: Ints, state: Ints, slot: int) -> None:
    """Remove a slot from its group, and unlink the group if no row is left."""
    group, earlier, later = cell[slot, GROUP], cell[slot, EARLIER], cell[slot, LATER]
    if earlier == NO_SLOT:
        cell[group, FIRST_SLOT] = later
    else:
        cell[earlier, LATER] = later
    if later == NO_SLOT:
        cell[group, LAST_SLOT] = earlier
    else:
        cell[later, EARLIER] = earlier
    if cell[group, FIRST_SLOT] == NO_SLOT:
        _link(cell, state, cell[group, LOWER], cell[group, HIGHER])
        cell[group, HIGHER], state[SPARE] = state[SPARE], group


@inner_kernel
def _touch(cell: Ints, state: Ints, slot: int) -> None:
    """Raise the count of a slot by 1, moving it to that count's group."""
    group = cell[slot, GROUP]
    count, higher = cell[group, COUNT] + 1, cell[group, HIGHER]
    fits = higher != NO_SLOT and cell[higher, COUNT] == count
    if not fits and cell[group, FIRST_SLOT] == cell[group, LAST_SLOT]:
        cell[group, COUNT] = count
        return
    if not fits:
        higher = _group(cell, state, count, group, higher)
    _leave(cell, state, slot)
    _join(cell, slot, higher)


@inner_kernel
def _make_room(cell: Ints, state: Ints, freed: Ints) -> None:
    """Unlink the least used slots that the batch does not use, and list them in `freed`."""
    number, group, slot = 0, NO_SLOT, NO_SLOT
    while number < len(freed):
        if slot == NO_SLOT:
            group = state[LOWEST] if group == NO_SLOT else cell[group, HIGHER]
            slot = cell[group, FIRST_SLOT]
            continue
        later, lower = cell[slot, LATER], cell[group, LOWER]
        if cell[slot, index.LAST_TURN] != state[index.TURN]:
            freed[number] = slot
            number += 1
            _leave(cell, state, slot)
            if cell[group, FIRST_SLOT] == NO_SLOT:
                group = lower  # the group is gone; go on after the one below it
        slot = later


@inner_kernel
def _enter(cell: Ints, state: Ints, slot: int) -> None:
    """Put a new slot into the group of count 1."""
    group = state[LOWEST]
    if group == NO_SLOT or cell[group, COUNT] != 1:
        group = _group(cell, state, 1, NO_SLOT, group)
    _join(cell, slot, group)


@entry_kernel
def _serve(
    cell: Ints, bucket: Slots, state: Ints, ids: Ints, counts: Ints, missing_rows: Ints, freed: Ints, row_set: Ints
) -> None:
    state[index.TURN] += 1
    waiting = 0
    for row in ids:
        slot = index.find_slot(cell, bucket, row)
        if slot == NO_SLOT:
            counts[index.MISSED_LOOKUPS] += 1
            if index.is_new(row, row_set):
                missing_rows[waiting] = row
                waiting += 1
        elif cell[slot, index.LAST_TURN] != state[index.TURN]:
            cell[slot, index.LAST_TURN] = state[index.TURN]
            counts[index.UNIQUE] += 1
            _touch(cell, state, slot)
    counts[index.UNIQUE] += waiting
    counts[index.MISSES] = waiting
    if counts[index.UNIQUE] <= state[index.CAPACITY]:
        counts[index.EVICTED] = _take_in(cell, bucket, state, missing_rows[:waiting], freed)


@inner_kernel
def _take_in(cell: Ints, bucket: Slots, state: Ints, missing_rows: Ints, freed: Ints) -> Any:
    """Put missing rows into slots of evicted rows, then new ones; return the evictions."""
    freed = freed[: max(0, state[index.NUM_FILLED] + len(missing_rows) - state[index.CAPACITY])]
    _make_room(cell, state, freed)
    for number in range(len(missing_rows)):
        if number < len(freed):
            slot = freed[number]
            index.unlink_slot(cell, bucket, slot)
        else:
            slot = state[index.NUM_FILLED]
            state[index.NUM_FILLED] += 1
        cell[slot, index.ROW], cell[slot, index.LAST_TURN] = missing_rows[number], state[index.TURN]
        index.link_slot(cell, bucket, slot)
        _enter(cell, state, slot)
    return len(freed)
