"""LFU without ageing: the row used in the fewest turns since it came in is evicted.

Among rows of equal count, the row longest at that count goes. Rows of equal count form a group, a list from the first row to
reach the count to the last; groups are linked by rising count. A slot knows its neighbours in its group, a group its first and
last slot and the groups of lower and higher count. The state knows the lowest group, the first of the spare groups (chained by
HIGHER) and how many groups were ever made.
"""

from typing import Any

import numpy as np

from ...core.arrays import Ints, Slots
from ...core.jit import entry, inner
from .. import row_index as index
from ..row_index import NONE, Held

EARLIER, LATER, GROUP = range(index.OWN, index.OWN + 3)
# Of group g, in cell[g]: there are never more groups than slots.
COUNT, FIRST, LAST, LOWER, HIGHER = range(index.OWN + 3, index.OWN + 8)
LOWEST, SPARE, MADE = range(index.OWN_STATE, index.OWN_STATE + 3)


def no_rows(rows: int) -> Held:
    """Return an empty cache of `rows` rows."""
    return index.empty(rows, 8, (NONE, NONE, 0))


def served(cache: Held, ids: Ints, counts: Ints) -> Held:
    """Serve one batch, set its counts and return the cache.

    If the batch has more unique rows than the cache has slots, no row comes in.
    """
    cache = index.with_room(cache, len(ids))
    missing_rows, freed = np.empty((2, len(ids)), dtype=np.int64)
    _serve(*cache, ids, counts, missing_rows, freed, np.full(2 * len(ids) + 1, NONE))
    return cache


@inner
def _group(cell: Ints, state: Ints, count: int, lower: int, higher: int) -> Any:
    """Return a new group without rows between two other groups."""
    group = state[SPARE]
    if group == NONE:
        group = state[MADE]
        state[MADE] += 1
    else:
        state[SPARE] = cell[group, HIGHER]
    cell[group, COUNT], cell[group, FIRST], cell[group, LAST] = count, NONE, NONE
    cell[group, LOWER], cell[group, HIGHER] = NONE, NONE
    _link(cell, state, lower, group)
    _link(cell, state, group, higher)
    return group


@inner
def _link(cell: Ints, state: Ints, lower: int, higher: int) -> None:
    if lower == NONE:
        state[LOWEST] = higher
    else:
        cell[lower, HIGHER] = higher
    if higher != NONE:
        cell[higher, LOWER] = lower


@inner
def _join(cell: Ints, slot: int, group: int) -> None:
    """Append a slot to a group."""
    last_slot = cell[group, LAST]
    cell[slot, EARLIER], cell[slot, LATER], cell[slot, GROUP] = last_slot, NONE, group
    if last_slot == NONE:
        cell[group, FIRST] = slot
    else:
        cell[last_slot, LATER] = slot
    cell[group, LAST] = slot


@inner
def _leave(cell: Ints, state: Ints, slot: int) -> None:
    """Remove a slot from its group, and unlink the group if no row is left."""
    group, earlier, later = cell[slot, GROUP], cell[slot, EARLIER], cell[slot, LATER]
    if earlier == NONE:
        cell[group, FIRST] = later
    else:
        cell[earlier, LATER] = later
    if later == NONE:
        cell[group, LAST] = earlier
    else:
        cell[later, EARLIER] = earlier
    if cell[group, FIRST] == NONE:
        _link(cell, state, cell[group, LOWER], cell[group, HIGHER])
        cell[group, HIGHER], state[SPARE] = state[SPARE], group


@inner
def _touch(cell: Ints, state: Ints, slot: int) -> None:
    """Raise the count of a slot by 1, moving it to that count's group."""
    group = cell[slot, GROUP]
    count, higher = cell[group, COUNT] + 1, cell[group, HIGHER]
    fits = higher != NONE and cell[higher, COUNT] == count
    if not fits and cell[group, FIRST] == cell[group, LAST]:
        cell[group, COUNT] = count
        return
    if not fits:
        higher = _group(cell, state, count, group, higher)
    _leave(cell, state, slot)
    _join(cell, slot, higher)


@inner
def _make_room(cell: Ints, state: Ints, freed: Ints) -> None:
    """Unlink the least used slots that the batch does not use, and list them in `freed`."""
    number, group, slot = 0, NONE, NONE
    while number < len(freed):
        if slot == NONE:
            group = state[LOWEST] if group == NONE else cell[group, HIGHER]
            slot = cell[group, FIRST]
            continue
        later, lower = cell[slot, LATER], cell[group, LOWER]
        if cell[slot, index.USED] != state[index.TURN]:
            freed[number] = slot
            number += 1
            _leave(cell, state, slot)
            if cell[group, FIRST] == NONE:
                group = lower  # the group is gone; go on after the one below it
        slot = later


@inner
def _enter(cell: Ints, state: Ints, slot: int) -> None:
    """Put a new slot into the group of count 1."""
    group = state[LOWEST]
    if group == NONE or cell[group, COUNT] != 1:
        group = _group(cell, state, 1, NONE, group)
    _join(cell, slot, group)


@entry
def _serve(
    cell: Ints, bucket: Slots, state: Ints, ids: Ints, counts: Ints, missing_rows: Ints, freed: Ints, row_set: Ints
) -> None:
    state[index.TURN] += 1
    waiting = 0
    for row in ids:
        slot = index.find(cell, bucket, row)
        if slot == NONE:
            counts[index.MISSED_LOOKUPS] += 1
            if index.is_new(row, row_set):
                missing_rows[waiting] = row
                waiting += 1
        elif cell[slot, index.USED] != state[index.TURN]:
            cell[slot, index.USED] = state[index.TURN]
            counts[index.UNIQUE] += 1
            _touch(cell, state, slot)
    counts[index.UNIQUE] += waiting
    counts[index.MISSES] = waiting
    if counts[index.UNIQUE] <= state[index.CAPACITY]:
        counts[index.EVICTED] = _take_in(cell, bucket, state, missing_rows[:waiting], freed)


@inner
def _take_in(cell: Ints, bucket: Slots, state: Ints, missing_rows: Ints, freed: Ints) -> Any:
    """Put missing rows into slots of evicted rows, then new ones; return the evictions."""
    freed = freed[: max(0, state[index.FILLED] + len(missing_rows) - state[index.CAPACITY])]
    _make_room(cell, state, freed)
    for number in range(len(missing_rows)):
        if number < len(freed):
            slot = freed[number]
            index.unhang(cell, bucket, slot)
        else:
            slot = state[index.FILLED]
            state[index.FILLED] += 1
        cell[slot, index.ROW], cell[slot, index.USED] = missing_rows[number], state[index.TURN]
        index.hang(cell, bucket, slot)
        _enter(cell, state, slot)
    return len(freed)
