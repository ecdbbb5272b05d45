"""Hits of an LRU cache at every capacity, from one pass over the ids.

The pass computes the stack distance of each lookup (Mattson et al., 1970): the number of different rows that were used since the
last use of the lookup's row, including this row. A cache hits if its capacity is at least this distance. On a line of time, a
bit marks the last use of each row, and a Fenwick tree over words of 64 bits counts the bits after a time. A cache that serves
batches holds, when a batch begins, the rows used last before it: there, distances end where the batch begins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Floats, Index, Ints, Slots, Words
from ..core.jit import entry_kernel, inner_kernel
from ..workload.batch import EMPTY_SLOT, find_slot

MAX_LOOKUPS = 10_000_000
MAX_DENSE_ID = 2**18  # beyond, used rows are renumbered, so that they lie close together
NEVER_USED = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class HitCurve:
    """LRU hits by capacity: `hits[c]` of `lookups` lookups hit in a cache of c rows.

    The cache is empty at first. c goes from 0 to the number of different rows.
    """

    lookups: int
    hits: Ints

    def hit_rate(self, rows: Floats | Ints | float) -> Floats:
        """Return the share of lookups that hit, for one or many capacities in rows."""
        return np.asarray((self.lookups - self.misses(rows)) / max(self.lookups, 1), dtype=np.float64)

    def misses(self, rows: Floats | Ints | float) -> Ints:
        """Return the number of lookups that miss, for one or many capacities in rows."""
        capacities = np.clip(np.floor(np.asarray(rows, dtype=np.float64)), 0, len(self.hits) - 1).astype(np.int64)
        return np.asarray(self.lookups - self.hits[capacities])


def curve(batches: Iterable[Ints], unseen: int = 0) -> HitCurve:
    """Return the hits of an LRU cache at every capacity.

    The first `unseen` batches fill the cache, but their lookups are not counted.
    """
    all_batches = list(batches)
    num_counted = sum(map(len, all_batches[unseen:]))
    if not any(map(len, all_batches)):
        return HitCurve(0, np.zeros(1, dtype=np.int64))
    stack = stack_distances(all_batches, one_by_one=True)
    depths = stack.depths[len(stack.depths) - num_counted :]
    return HitCurve(num_counted, np.cumsum(np.bincount(depths[depths != NEVER_USED], minlength=int(stack.rows[-1]) + 1)))


class StackDistances(NamedTuple):
    """The stack distances of a run's lookups.

    depths: for each lookup, the smallest capacity with which it hits; negative for further lookups of a row in its batch.
    batch_starts: `batch_starts[n]` is the index of the first lookup of batch n.
    rows: number of different rows used up to the end of each batch.
    """

    depths: NDArray[np.int32]
    batch_starts: Ints
    rows: Ints


def stack_distances(batches: Sequence[Ints], one_by_one: bool = False) -> StackDistances:
    """Return the stack distances of every lookup of `batches`.

    They are those when the lookup's batch begins or, `one_by_one`, when its turn comes. At least one batch must have lookups.
    """
    ids = np.concatenate(batches)
    if ids.max() > MAX_DENSE_ID:
        slots = 2 * min(len(ids), int(ids.max()) + 1)
        bits = (slots - 1).bit_length()
        room = np.full(1 << bits, EMPTY_SLOT), np.empty(1 << bits, dtype=np.int32), np.uint64(64 - bits)
        ids = _numbered(ids, *room, np.empty_like(ids))
    starts = np.cumsum([0, *map(len, batches)])
    depths, rows = np.empty(len(ids), dtype=np.int32), np.zeros(len(batches), dtype=np.int64)
    last_use = np.zeros(int(ids.max()) + 1, dtype=np.int32)
    words = len(ids) // 64 + 1  # words of the line of time, and of the tree over it
    tree = np.zeros(words, dtype=np.uint64), np.zeros(words + 1, dtype=np.int64)
    _measure(ids, starts, one_by_one, last_use, *tree, depths, rows)
    return StackDistances(depths, starts[:-1], rows)


def moved_rows(stack: StackDistances, capacity: int) -> Floats:
    """Return the row moves of an LRU cache of `capacity` rows for each batch, (3, N).

    The rows are: missed rows; evicted rows; lookups of missed rows. No batch may be empty.
    """
    misses, missed_lookups = (
        np.add.reduceat(depths > capacity, stack.batch_starts, dtype=np.int64) for depths in (stack.depths, np.abs(stack.depths))
    )
    fetched = np.diff(np.minimum(stack.rows, capacity), prepend=0)
    return np.array([misses, misses - fetched, missed_lookups], dtype=np.float64)


@entry_kernel
def _numbered(ids: Ints, slots: Ints, row_numbers: Slots, shift: np.uint64, numbers: Ints) -> Ints:
    """Number the different ids from 0 in the order of their first use.

    There are twice as many `slots` as ids, a power of two.
    """
    num_unique = 0
    for i in range(len(ids)):
        slot = find_slot(slots, ids[i], shift)
        if slots[slot] == EMPTY_SLOT:
            slots[slot], row_numbers[slot] = ids[i], num_unique
            num_unique += 1
        numbers[i] = row_numbers[slot]
    return numbers


@entry_kernel
def _measure(
    ids: Ints, starts: Ints, one_by_one: bool, last_use: Slots, word: Words, tree: Ints, depths: Slots, rows: Ints
) -> None:
    """Fill `depths` and `rows`; `last_use` has each row's last use, counted from 1, (rows,)."""
    num_unique = 0
    for n in range(len(starts) - 1):
        for start in range(starts[n], starts[n + 1], 1 if one_by_one else max(starts[n + 1] - starts[n], 1)):
            end = start + 1 if one_by_one else starts[n + 1]
            for i in range(start, end):
                last_time = np.int64(last_use[ids[i]]) - 1
                depths[i] = num_unique - _marked_before(last_time, word, tree) if last_time >= 0 else NEVER_USED
            for i in range(start, end):
                last_time = np.int64(last_use[ids[i]]) - 1
                if last_time < 0:
                    num_unique += 1
                else:
                    _flip(last_time, -1, word, tree)
                if last_time >= start:
                    depths[i] = -depths[i]
                _flip(i, 1, word, tree)
                last_use[ids[i]] = i + 1
        rows[n] = num_unique


@inner_kernel
def _marked_before(place: Index, word: Words, tree: Ints) -> Any:
    """Return how many marked places lie before this place."""
    word_index = place >> 6
    lower_bits = word[word_index] & ((np.uint64(1) << np.uint64(place & 63)) - np.uint64(1))
    total = _count_ones(lower_bits)
    while word_index > 0:
        total += tree[word_index]
        word_index &= word_index - 1
    return total


@inner_kernel
def _count_ones(word: np.uint64) -> Any:
    """Return how many bits of a word are 1."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner_kernel
def _flip(place: Index, change: int, word: Words, tree: Ints) -> None:
    """Mark a place (change 1) or remove its mark (-1)."""
    word_index = place >> 6
    word[word_index] ^= np.uint64(1) << np.uint64(place & 63)
    word_index += 1
    while word_index < len(tree):
        tree[word_index] += change
        word_index += word_index & -word_index
