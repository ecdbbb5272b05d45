"""CLOCK: a hand goes round the slots; a row used since its last visit stays, with its mark taken off, the first other goes."""

from typing import NamedTuple

import numpy as np
from numba import njit

from .. import eviction
from ..row_index import FILLED, OWN, OWN_STATE, TURN, USED, Held, empty

MARKED, HAND = OWN, OWN_STATE
ABSENT, HELD, AGAIN = range(3)


class Clock(NamedTuple):
    """A slot is MARKED when its row is used; the state's HAND is the slot that is visited next."""


def _empty(rows: int) -> Held:
    return empty(rows, 1, (0,))


def _touch(policy, cell, state, slot):  # type: ignore[no-untyped-def]
    cell[slot, MARKED] = 1


def _make_room(policy, cell, state, freed):  # type: ignore[no-untyped-def]
    slot, number = state[HAND], 0
    while number < len(freed):
        if cell[slot, USED] != state[TURN]:
            if cell[slot, MARKED] == 0:
                freed[number], cell[slot, USED] = slot, state[TURN]
                number += 1
            cell[slot, MARKED] = 0
        slot = slot + 1 if slot + 1 < state[FILLED] else 0
    state[HAND] = slot


def _enter(policy, cell, state, slot):  # type: ignore[no-untyped-def]
    cell[slot, MARKED] = 0


@njit(cache=True, nogil=True)
def _alone(ids, rows, capacity):  # type: ignore[no-untyped-def]
    """Count misses; a row is ABSENT, HELD or AGAIN used since the hand's last visit."""
    state, ring = np.full(rows, ABSENT, dtype=np.uint8), np.empty(capacity, dtype=np.int64)
    misses, held, hand = 0, 0, 0
    for row in ids:
        if state[row] != ABSENT:
            state[row] = AGAIN
            continue
        misses += 1
        state[row] = HELD
        if held < capacity:
            ring[held] = row
            held += 1
            continue
        while state[ring[hand]] == AGAIN:
            state[ring[hand]] = HELD
            hand = hand + 1 if hand + 1 < capacity else 0
        state[ring[hand]], ring[hand] = ABSENT, row
        hand = hand + 1 if hand + 1 < capacity else 0
    return misses


CACHE = eviction.cache(
    "CLOCK",
    "A hand goes round the rows; the first that was not used since its last visit goes.",
    Clock(),
    _empty,
    (_touch, _make_room, _enter),
    _alone,
)
