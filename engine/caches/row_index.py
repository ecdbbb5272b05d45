"""Row index of a cache: slot i holds one row, and a hash finds the slot of a row.

Memory follows the rows that are held, not the capacity: slots are added as rows come in.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Ints, Slots
from ..core.hashing import GOLDEN
from ..core.jit import entry, inner

NONE = -1
FEWEST = 1024
ROW, USED, CHAINED, OWN = range(4)
FILLED, TURN, CAPACITY, OWN_STATE = range(4)
# What a batch did, in the order of `CacheMoves` of `engine/caches/batch_cache.py`.
COUNTS = 5
MISSED_LOOKUPS, MISSES, EVICTED, UNIQUE, REFUSED = range(COUNTS)


class Held(NamedTuple):
    """Slots of a cache; kernels change the arrays in place.

    `cell[i]` is slot i: its ROW, the turn in which it was last USED (a turn is a batch), the next slot CHAINED in its bucket,
    and from OWN on what a policy keeps of it. `bucket` heads the chains, a power of two of them. `state` is the slots FILLED,
    the present TURN, the CAPACITY, and from OWN_STATE on the policy's own.
    """

    cell: Ints
    bucket: Slots
    state: Ints


def empty(capacity: int, own: int, own_state: tuple[int, ...]) -> Held:
    """Return no rows; `own` columns a slot and the `own_state` are the policy's."""
    return _sized(min(capacity, FEWEST), OWN + own, np.array([0, 0, capacity, *own_state]))


def _sized(slots: int, columns: int, state: Ints) -> Held:
    slots = max(1, slots)
    buckets = 1 << (2 * slots - 1).bit_length()
    return Held(np.full((slots, columns), NONE), np.full(buckets, NONE, dtype=np.int32), state)


def with_room(held: Held, more: int) -> Held:
    """Return the cache with slots for `more` rows, as far as its capacity allows."""
    before, capacity = len(held.cell), int(held.state[CAPACITY])
    needed = min(capacity, int(held.state[FILLED]) + more)
    if needed <= before:
        return held
    larger = _sized(min(capacity, max(needed, 2 * before)), held.cell.shape[1], held.state)
    larger.cell[:before] = held.cell
    _rehash(*larger)
    return larger


@entry
def _rehash(cell: Ints, bucket: Slots, state: Ints) -> None:
    for slot in range(state[FILLED]):
        hang(cell, bucket, slot)


@inner
def place(row: int, bucket: Slots) -> Any:
    """Return the bucket that a row belongs to."""
    return (np.uint64(row) * GOLDEN >> np.uint64(32)) & np.uint64(len(bucket) - 1)


@inner
def find(cell: Ints, bucket: Slots, row: int) -> Any:
    """Return the slot that holds `row`, or NONE."""
    slot = np.int64(bucket[place(row, bucket)])
    while slot != NONE and cell[slot, ROW] != row:
        slot = cell[slot, CHAINED]
    return slot


@inner
def hang(cell: Ints, bucket: Slots, slot: int) -> None:
    """Let the row of a slot be found."""
    head = place(cell[slot, ROW], bucket)
    cell[slot, CHAINED], bucket[head] = bucket[head], slot


@inner
def unhang(cell: Ints, bucket: Slots, slot: int) -> None:
    """Let the row of a slot be found no more."""
    head = place(cell[slot, ROW], bucket)
    if bucket[head] == slot:
        bucket[head] = cell[slot, CHAINED]
        return
    before = np.int64(bucket[head])
    while cell[before, CHAINED] != slot:
        before = cell[before, CHAINED]
    cell[before, CHAINED] = cell[slot, CHAINED]


@inner
def is_new(row: int, seen: Ints) -> Any:
    """Return whether `row` is not in the hash set `seen` yet, and put it there."""
    at = np.int64((np.uint64(row) * GOLDEN >> np.uint64(32)) % np.uint64(len(seen)))
    while seen[at] != NONE:
        if seen[at] == row:
            return False
        at += 1
        if at == len(seen):
            at = np.int64(0)
    seen[at] = row
    return True
