"""An exact LRU cache of rows, over the ids of all tables, batch by batch.

Memory follows the rows that are held, not the capacity: slots are added as rows come in.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from ..core.arrays import Index, Ints, Slots
from .row_index import FEWEST, NONE, place


@dataclass(frozen=True, slots=True, eq=False)
class Lru:
    """A cache of at most `capacity` rows; `admit` changes the arrays in place.

    Slot i holds row `row[i]`; `links[i]` are its neighbours in age (0 newer, 1 older), the next slot in its bucket (2)
    and the batch that its row came in (3); `bucket` heads the chains, a power of two of them; `ends` is (newest slot, oldest
    slot, slots in use, batches served).
    """

    capacity: int
    row: Ints
    links: Slots
    bucket: Slots
    ends: Ints


def lru(capacity_rows: float) -> Lru:
    """Return an empty cache of `capacity_rows` whole rows; zero or less holds nothing."""
    return _sized(max(0, int(capacity_rows)), FEWEST, np.array([NONE, NONE, 0, 0]))


def admit(cache: Lru, ids: Ints) -> tuple[Lru, int, int]:
    """Look a batch's ids up in order and keep each.

    Return the cache, grown where it had to, the misses, and the lookups of rows that it did not hold when the batch began.
    """
    if cache.capacity == 0:
        return cache, len(ids), len(ids)
    needed = min(cache.capacity, int(cache.ends[2]) + len(ids))
    if needed > len(cache.row):
        cache = _grown(cache, min(cache.capacity, max(needed, 2 * len(cache.row))))
    misses, missed_lookups = _admit(ids, cache.capacity, cache.row, cache.links, cache.bucket, cache.ends)
    return cache, int(misses), int(missed_lookups)


def _sized(capacity: int, slots: int, ends: Ints) -> Lru:
    buckets = 1 << max(1, (2 * slots - 1).bit_length())
    links = np.full((slots, 4), NONE, dtype=np.int32)
    return Lru(capacity, np.empty(slots, dtype=np.int64), links, np.full(buckets, NONE, dtype=np.int32), ends)


def _grown(cache: Lru, slots: int) -> Lru:
    larger = _sized(cache.capacity, slots, cache.ends)
    used = int(cache.ends[2])
    larger.row[:used], larger.links[:used] = cache.row[:used], cache.links[:used]
    _rehash(used, larger.row, larger.links, larger.bucket)
    return larger


@njit(cache=True, nogil=True)
def _rehash(used: int, row: Ints, links: Slots, bucket: Slots) -> None:
    for slot in range(used):
        head = place(row[slot], bucket)
        links[slot, 2], bucket[head] = bucket[head], slot


@njit(cache=True, nogil=True)
def _admit(ids: Ints, capacity: int, row: Ints, links: Slots, bucket: Slots, ends: Ints) -> Any:
    misses, missed_lookups = 0, 0
    ends[3] += 1
    for wanted in ids:
        head = place(wanted, bucket)
        slot = bucket[head]
        while slot != NONE and row[slot] != wanted:
            slot = links[slot, 2]
        if slot == NONE:
            misses += 1
            slot = vacate(capacity, row, links, bucket, ends)
            row[slot], links[slot, 3] = wanted, ends[3]
            links[slot, 2], bucket[head] = bucket[head], slot
            missed_lookups += 1
        else:
            missed_lookups += links[slot, 3] == ends[3]
            if slot == ends[0]:
                continue
            unlink(slot, links, ends)
        links[slot, 0], links[slot, 1] = NONE, ends[0]
        if ends[0] != NONE:
            links[ends[0], 0] = slot
        else:
            ends[1] = slot
        ends[0] = slot
    return misses, missed_lookups


@njit(cache=True, nogil=True)
def vacate(capacity: int, row: Ints, links: Slots, bucket: Slots, ends: Ints) -> Any:
    """Return a slot in no list: a fresh one, or, when the cache is full, the oldest row's."""
    if ends[2] < capacity:
        ends[2] += 1
        return np.int32(ends[2] - 1)
    slot = np.int32(ends[1])
    unlink(slot, links, ends)
    head = place(row[slot], bucket)
    if bucket[head] == slot:
        bucket[head] = links[slot, 2]
        return slot
    before = bucket[head]
    while links[before, 2] != slot:
        before = links[before, 2]
    links[before, 2] = links[slot, 2]
    return slot


@njit(cache=True, nogil=True)
def unlink(slot: Index, links: Slots, ends: Ints) -> None:
    """Take a slot out of the order of ages."""
    newer, older = links[slot, 0], links[slot, 1]
    if newer == NONE:
        ends[0] = older
    else:
        links[newer, 1] = older
    if older == NONE:
        ends[1] = newer
    else:
        links[older, 0] = newer
