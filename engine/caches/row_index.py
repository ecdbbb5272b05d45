"""Row index of a cache: slots that each hold one row, found by a hash.

Memory follows the held rows, not the capacity: slots are added as rows come in.
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
# Counts of a batch, in the order of `CacheMoves` of `engine/caches/batch_cache.py`.
COUNTS = 5
MISSED_LOOKUPS, MISSES, EVICTED, UNIQUE, REFUSED = range(COUNTS)


class Held(NamedTuple):
    """Slots of a cache; kernels change the arrays in place.

    cell: `cell[i]` is slot i: its ROW, the turn in which it was last USED (a turn is a batch), the next slot CHAINED in its
        bucket, and from OWN on the policy's columns.
    bucket: heads of the chains, a power of two of them.
    state: the number of slots FILLED, the present TURN, the CAPACITY, and from OWN_STATE on the policy's state.
    """

    cell: Ints
    bucket: Slots
    state: Ints


def empty(capacity: int, policy_columns: int, own_state: tuple[int, ...]) -> Held:
    """Return an index without rows, with `policy_columns` columns a slot and the policy's `own_state`."""
    return _sized(min(capacity, FEWEST), OWN + policy_columns, np.array([0, 0, capacity, *own_state]))


def _sized(slots: int, columns: int, state: Ints) -> Held:
    """Return an index with so many slots, at least one, all empty."""
    slots = max(1, slots)
    buckets = 1 << (2 * slots - 1).bit_length()
    return Held(np.full((slots, columns), NONE), np.full(buckets, NONE, dtype=np.int32), state)


def with_room(cache: Held, row_count: int) -> Held:
    """Return the cache with slots for `row_count` more rows, as far as its capacity allows."""
    old_slots, capacity = len(cache.cell), int(cache.state[CAPACITY])
    needed_slots = min(capacity, int(cache.state[FILLED]) + row_count)
    if needed_slots <= old_slots:
        return cache
    larger = _sized(min(capacity, max(needed_slots, 2 * old_slots)), cache.cell.shape[1], cache.state)
    larger.cell[:old_slots] = cache.cell
    _rehash(*larger)
    return larger


@entry
def _rehash(cell: Ints, bucket: Slots, state: Ints) -> None:
    for slot in range(state[FILLED]):
        hang(cell, bucket, slot)


@inner
def place(row: int, bucket: Slots) -> Any:
    """Return the bucket of a row."""
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
    """Link a slot into the chain of its row's bucket."""
    head = place(cell[slot, ROW], bucket)
    cell[slot, CHAINED], bucket[head] = bucket[head], slot


@inner
def unhang(cell: Ints, bucket: Slots, slot: int) -> None:
    """Remove a slot from the chain of its row's bucket."""
    head = place(cell[slot, ROW], bucket)
    if bucket[head] == slot:
        bucket[head] = cell[slot, CHAINED]
        return
    previous = np.int64(bucket[head])
    while cell[previous, CHAINED] != slot:
        previous = cell[previous, CHAINED]
    cell[previous, CHAINED] = cell[slot, CHAINED]


@inner
def is_new(row: int, row_set: Ints) -> Any:
    """Return whether `row` is missing from the hash set `row_set`, and add the row."""
    position = np.int64((np.uint64(row) * GOLDEN >> np.uint64(32)) % np.uint64(len(row_set)))
    while row_set[position] != NONE:
        if row_set[position] == row:
            return False
        position += 1
        if position == len(row_set):
            position = np.int64(0)
    row_set[position] = row
    return True
