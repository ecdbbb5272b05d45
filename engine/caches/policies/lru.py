"""LRU: the row that has not been used for longest goes."""

from typing import NamedTuple

import numpy as np
from numba import njit

from .. import eviction
from ..row_index import NONE, OWN, OWN_STATE, Held, empty

NEWER, OLDER = OWN, OWN + 1
NEWEST, OLDEST = OWN_STATE, OWN_STATE + 1


class Lru(NamedTuple):
    """Slots in order of age: each knows its NEWER and OLDER neighbour, the state the NEWEST and the OLDEST."""


def _empty(rows: int) -> Held:
    return empty(rows, 2, (NONE, NONE))


@njit(cache=True, nogil=True)
def _first(cell, state, slot):  # type: ignore[no-untyped-def]
    cell[slot, NEWER], cell[slot, OLDER] = NONE, state[NEWEST]
    if state[NEWEST] != NONE:
        cell[state[NEWEST], NEWER] = slot
    else:
        state[OLDEST] = slot
    state[NEWEST] = slot


@njit(cache=True, nogil=True)
def _leave(cell, state, slot):  # type: ignore[no-untyped-def]
    newer, older = cell[slot, NEWER], cell[slot, OLDER]
    if newer == NONE:
        state[NEWEST] = older
    else:
        cell[newer, OLDER] = older
    if older == NONE:
        state[OLDEST] = newer
    else:
        cell[older, NEWER] = newer


def _touch(policy, cell, state, slot):  # type: ignore[no-untyped-def]
    if state[NEWEST] != slot:
        _leave(cell, state, slot)
        _first(cell, state, slot)


def _make_room(policy, cell, state, freed):  # type: ignore[no-untyped-def]
    # The rows of the present batch are the newest, so they are never reached.
    for number in range(len(freed)):
        freed[number] = state[OLDEST]
        _leave(cell, state, state[OLDEST])


def _enter(policy, cell, state, slot):  # type: ignore[no-untyped-def]
    _first(cell, state, slot)


@njit(cache=True, nogil=True)
def _alone(ids, rows, capacity):  # type: ignore[no-untyped-def]
    """Count misses; the ids themselves are the order of age: the oldest use that is its row's last is the row to go."""
    last = np.full(rows, NONE, dtype=np.int32)
    misses, held, oldest = 0, 0, 0
    for now in range(len(ids)):
        row = ids[now]
        if last[row] == NONE:
            misses += 1
            if held < capacity:
                held += 1
            else:
                while last[ids[oldest]] != oldest:
                    oldest += 1
                last[ids[oldest]] = NONE
                oldest += 1
        last[row] = now
    return misses


CACHE = eviction.cache(
    "LRU", "The row that has not been used for longest goes.", Lru(), _empty, (_touch, _make_room, _enter), _alone
)
