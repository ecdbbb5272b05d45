"""Row index of a cache: slots that hold a row each, found by a hash.

Its memory grows with the rows held, not with the capacity: slots are added when rows are.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Ints, Slots
from ..core.hashing import GOLDEN
from ..core.jit import entry_kernel, inner_kernel

NO_SLOT = -1
MIN_SLOTS = 1024
ROW, LAST_TURN, NEXT_SLOT, POLICY_COLUMN = range(4)
NUM_FILLED, TURN, CAPACITY, POLICY_STATE = range(4)
# Counts of a batch, in the order of `CacheMoves` of `engine/caches/batch_cache.py`.
COUNTS = 5
MISSED_LOOKUPS, MISSES, EVICTED, UNIQUE, REFUSED = range(COUNTS)


class RowIndex(NamedTuple):
    """The slots of a cache; kernels change the arrays in place.

    cell: the columns of slot i in `cell[i]`: its ROW, the LAST_TURN in which it was used, the NEXT_SLOT of its bucket's chain,
        and from POLICY_COLUMN on the columns of the policy. A turn is a batch.
    bucket: the first slot of each bucket's chain; the number of buckets is a power of two.
    state: NUM_FILLED slots, the present TURN, the CAPACITY, and from POLICY_STATE on the state of the policy.
    """

    cell: Ints
    bucket: Slots
    state: Ints


def empty_index(capacity: int, policy_columns: int, own_state: tuple[int, ...]) -> RowIndex:
    """Return an index without rows for `capacity` rows.

    `policy_columns`: number of the policy's columns of a slot. `own_state`: the policy's state.
    """
    return _sized(min(capacity, MIN_SLOTS), POLICY_COLUMN + policy_columns, np.array([0, 0, capacity, *own_state]))


def _sized(slots: int, columns: int, state: Ints) -> RowIndex:
    """Return an index with so many slots, at least one, all empty."""
    slots = max(1, slots)
    buckets = 1 << (2 * slots - 1).bit_length()
    return RowIndex(np.full((slots, columns), NO_SLOT), np.full(buckets, NO_SLOT, dtype=np.int32), state)


def ensure_slots(cache: RowIndex, row_count: int) -> RowIndex:
    """Return the cache with slots for `row_count` more rows, but not beyond its capacity."""
    old_slots, capacity = len(cache.cell), int(cache.state[CAPACITY])
    needed_slots = min(capacity, int(cache.state[NUM_FILLED]) + row_count)
    if needed_slots <= old_slots:
        return cache
    larger = _sized(min(capacity, max(needed_slots, 2 * old_slots)), cache.cell.shape[1], cache.state)
    larger.cell[:old_slots] = cache.cell
    _rehash(*larger)
    return larger


@entry_kernel
def _rehash(cell: Ints, bucket: Slots, state: Ints) -> None:
    for slot in range(state[NUM_FILLED]):
        link_slot(cell, bucket, slot)


@inner_kernel
def bucket_of(row: int, bucket: Slots) -> Any:
    """Return the number of the bucket to which a row belongs."""
    return (np.uint64(row) * GOLDEN >> np.uint64(32)) & np.uint64(len(bucket) - 1)


@inner_kernel
def find_slot(cell: Ints, bucket: Slots, row: int) -> Any:
    """Return the slot that holds `row`; NO_SLOT if no slot does."""
    slot = np.int64(bucket[bucket_of(row, bucket)])
    while slot != NO_SLOT and cell[slot, ROW] != row:
        slot = cell[slot, NEXT_SLOT]
    return slot


@inner_kernel
def link_slot(cell: Ints, bucket: Slots, slot: int) -> None:
    """Link a slot into the chain of the bucket of its row."""
    head = bucket_of(cell[slot, ROW], bucket)
    cell[slot, NEXT_SLOT], bucket[head] = bucket[head], slot


@inner_kernel
def is_new(row: int, row_set: Ints) -> Any:
    """Return whether `row` is missing from the hash set `row_set`, and add the row."""
    position = np.int64((np.uint64(row) * GOLDEN >> np.uint64(32)) % np.uint64(len(row_set)))
    while row_set[position] != NO_SLOT:
        if row_set[position] == row:
            return False
        position += 1
        if position == len(row_set):
            position = np.int64(0)
    row_set[position] = row
    return True
