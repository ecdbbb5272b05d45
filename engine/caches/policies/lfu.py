"""LFU without ageing: the row used in the fewest turns since it came in goes; among equals, the one longest at that count.

Rows of equal count form a group, a list from the first to reach the count to the last; groups are linked by rising count.
A slot knows its neighbours in its group, a group its first and last slot and the groups of lower and higher count. The state
knows the lowest group, the first of the spare ones (chained by HIGHER) and how many were ever made.
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
    """Return an empty cache of so many rows."""
    return index.empty(rows, 8, (NONE, NONE, 0))


def served(cache: Held, ids: Ints, counts: Ints) -> Held:
    """Serve one batch, set its counts and return the cache; with more unique rows than slots, nothing comes in."""
    cache = index.with_room(cache, len(ids))
    missing, freed = np.empty((2, len(ids)), dtype=np.int64)
    _serve(*cache, ids, counts, missing, freed, np.full(2 * len(ids) + 1, NONE))
    return cache


@inner
def _group(cell: Ints, state: Ints, count: int, lower: int, higher: int) -> Any:
    """Return a group of no rows between two others."""
    new = state[SPARE]
    if new == NONE:
        new = state[MADE]
        state[MADE] += 1
    else:
        state[SPARE] = cell[new, HIGHER]
    cell[new, COUNT], cell[new, FIRST], cell[new, LAST] = count, NONE, NONE
    cell[new, LOWER], cell[new, HIGHER] = NONE, NONE
    _link(cell, state, lower, new)
    _link(cell, state, new, higher)
    return new


@inner
def _link(cell: Ints, state: Ints, lower: int, higher: int) -> None:
    if lower == NONE:
        state[LOWEST] = higher
    else:
        cell[lower, HIGHER] = higher
    if higher != NONE:
        cell[higher, LOWER] = lower


@inner
def _join(cell: Ints, slot: int, own: int) -> None:
    last = cell[own, LAST]
    cell[slot, EARLIER], cell[slot, LATER], cell[slot, GROUP] = last, NONE, own
    if last == NONE:
        cell[own, FIRST] = slot
    else:
        cell[last, LATER] = slot
    cell[own, LAST] = slot


@inner
def _leave(cell: Ints, state: Ints, slot: int) -> None:
    """Take a slot out of its group, and a group without rows out of the order."""
    own, earlier, later = cell[slot, GROUP], cell[slot, EARLIER], cell[slot, LATER]
    if earlier == NONE:
        cell[own, FIRST] = later
    else:
        cell[earlier, LATER] = later
    if later == NONE:
        cell[own, LAST] = earlier
    else:
        cell[later, EARLIER] = earlier
    if cell[own, FIRST] == NONE:
        _link(cell, state, cell[own, LOWER], cell[own, HIGHER])
        cell[own, HIGHER], state[SPARE] = state[SPARE], own


@inner
def _touch(cell: Ints, state: Ints, slot: int) -> None:
    own = cell[slot, GROUP]
    count, higher = cell[own, COUNT] + 1, cell[own, HIGHER]
    fits = higher != NONE and cell[higher, COUNT] == count
    if not fits and cell[own, FIRST] == cell[own, LAST]:
        cell[own, COUNT] = count
        return
    if not fits:
        higher = _group(cell, state, count, own, higher)
    _leave(cell, state, slot)
    _join(cell, slot, higher)


@inner
def _make_room(cell: Ints, state: Ints, freed: Ints) -> None:
    number, own, slot = 0, NONE, NONE
    while number < len(freed):
        if slot == NONE:
            own = state[LOWEST] if own == NONE else cell[own, HIGHER]
            slot = cell[own, FIRST]
            continue
        later, lower = cell[slot, LATER], cell[own, LOWER]
        if cell[slot, index.USED] != state[index.TURN]:
            freed[number] = slot
            number += 1
            _leave(cell, state, slot)
            if cell[own, FIRST] == NONE:
                own = lower  # the group is gone; go on after the one below it
        slot = later


@inner
def _enter(cell: Ints, state: Ints, slot: int) -> None:
    own = state[LOWEST]
    if own == NONE or cell[own, COUNT] != 1:
        own = _group(cell, state, 1, NONE, own)
    _join(cell, slot, own)


@entry
def _serve(cell: Ints, bucket: Slots, state: Ints, ids: Ints, counts: Ints, missing: Ints, freed: Ints, seen: Ints) -> None:
    state[index.TURN] += 1
    waiting = 0
    for row in ids:
        slot = index.find(cell, bucket, row)
        if slot == NONE:
            counts[index.MISSED_LOOKUPS] += 1
            if index.is_new(row, seen):
                missing[waiting] = row
                waiting += 1
        elif cell[slot, index.USED] != state[index.TURN]:
            cell[slot, index.USED] = state[index.TURN]
            counts[index.UNIQUE] += 1
            _touch(cell, state, slot)
    counts[index.UNIQUE] += waiting
    counts[index.MISSES] = waiting
    if counts[index.UNIQUE] <= state[index.CAPACITY]:
        counts[index.EVICTED] = _take_in(cell, bucket, state, missing[:waiting], freed)


@inner
def _take_in(cell: Ints, bucket: Slots, state: Ints, missing: Ints, freed: Ints) -> Any:
    """Put the missing rows into the slots of rows that go, then into fresh ones; return how many went."""
    freed = freed[: max(0, state[index.FILLED] + len(missing) - state[index.CAPACITY])]
    _make_room(cell, state, freed)
    for number in range(len(missing)):
        if number < len(freed):
            slot = freed[number]
            index.unhang(cell, bucket, slot)
        else:
            slot = state[index.FILLED]
            state[index.FILLED] += 1
        cell[slot, index.ROW], cell[slot, index.USED] = missing[number], state[index.TURN]
        index.hang(cell, bucket, slot)
        _enter(cell, state, slot)
    return len(freed)
