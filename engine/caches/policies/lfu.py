"""LFU without ageing: the row used in the fewest turns since it came in goes; among equals, the one longest at that count.

Rows of equal count form a group, a list from the first to reach the count to the last; groups are linked by rising count.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from .. import eviction
from ..row_index import NONE, OWN, OWN_STATE, TURN, USED, Held, empty

EARLIER, LATER, GROUP = range(OWN, OWN + 3)
COUNT, FIRST, LAST, LOWER, HIGHER = range(OWN + 3, OWN + 8)  # of group g, in cell[g]: there are never more groups than slots
LOWEST, SPARE, MADE = range(OWN_STATE, OWN_STATE + 3)


class Lfu(NamedTuple):
    """A slot knows its neighbours in its group, a group its first and last slot and the groups of lower and higher count.

    The state knows the lowest group, the first of the spare ones (chained by HIGHER) and how many were ever made.
    """


def no_rows(rows: int) -> Held:
    """Return an empty cache of so many rows."""
    return empty(rows, 8, (NONE, NONE, 0))


@njit(cache=True, nogil=True)
def _group(cell, state, count, lower, higher):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def _link(cell, state, lower, higher):  # type: ignore[no-untyped-def]
    if lower == NONE:
        state[LOWEST] = higher
    else:
        cell[lower, HIGHER] = higher
    if higher != NONE:
        cell[higher, LOWER] = lower


@njit(cache=True, nogil=True)
def _join(cell, slot, own):  # type: ignore[no-untyped-def]
    last = cell[own, LAST]
    cell[slot, EARLIER], cell[slot, LATER], cell[slot, GROUP] = last, NONE, own
    if last == NONE:
        cell[own, FIRST] = slot
    else:
        cell[last, LATER] = slot
    cell[own, LAST] = slot


@njit(cache=True, nogil=True)
def _leave(cell, state, slot):  # type: ignore[no-untyped-def]
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


def _touch(policy, cell, state, slot):  # type: ignore[no-untyped-def]
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


def _make_room(policy, cell, state, freed):  # type: ignore[no-untyped-def]
    number, own, slot = 0, NONE, NONE
    while number < len(freed):
        if slot == NONE:
            own = state[LOWEST] if own == NONE else cell[own, HIGHER]
            slot = cell[own, FIRST]
            continue
        later, lower = cell[slot, LATER], cell[own, LOWER]
        if cell[slot, USED] != state[TURN]:
            freed[number] = slot
            number += 1
            _leave(cell, state, slot)
            if cell[own, FIRST] == NONE:
                own = lower  # the group is gone; go on after the one below it
        slot = later


def _enter(policy, cell, state, slot):  # type: ignore[no-untyped-def]
    own = state[LOWEST]
    if own == NONE or cell[own, COUNT] != 1:
        own = _group(cell, state, 1, NONE, own)
    _join(cell, slot, own)


@njit(cache=True, nogil=True)
def _alone(ids, rows, capacity):  # type: ignore[no-untyped-def]
    """Count misses; each count has a list of uses, in which a use that is not its row's last is passed over."""
    used = np.zeros((rows, 2), dtype=np.int32)  # how often since the row came in, and when last
    later = np.empty(len(ids), dtype=np.int32)
    ends = np.empty((len(ids) + 2, 2), dtype=np.int32)  # of the list of each count, written when the count is first reached
    misses, held, most = 0, 0, 0
    for now in range(len(ids)):
        row = ids[now]
        count = used[row, 0] + 1
        if count == 1:
            misses += 1
            if held < capacity:
                held += 1
            else:
                _forget_lowest(ids, used, later, ends)
        if count > most:
            most, ends[count, 0] = count, NONE
        if ends[count, 0] == NONE:
            ends[count, 0] = now
        else:
            later[ends[count, 1]] = now
        ends[count, 1], later[now] = now, NONE
        used[row, 0], used[row, 1] = count, now
    return misses


@njit(cache=True, nogil=True)
def _forget_lowest(ids, used, later, ends):  # type: ignore[no-untyped-def]
    """Take the row out that was the first to reach the lowest count."""
    lowest = 1  # the row that came in last stands here, so that few empty counts are ever passed
    while True:
        use = ends[lowest, 0]
        while use != NONE and used[ids[use], 1] != use:
            use = later[use]
        if use != NONE:
            break
        ends[lowest, 0] = NONE
        lowest += 1
    ends[lowest, 0] = later[use]
    used[ids[use], 0], used[ids[use], 1] = 0, NONE


CACHE = eviction.cache(
    "LFU",
    "The row used in the fewest batches since it came in goes; counts do not age.",
    Lfu(),
    no_rows,
    (_touch, _make_room, _enter),
    _alone,
)
