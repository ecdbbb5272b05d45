"""Hits of an LRU cache at every capacity at once, from one pass over the ids: the stack distances of Mattson et al. (1970).

The distance of a lookup is how many different rows were used since its row's last use, that row included; a cache hits if
it holds at least so many. A bit marks each row's last use on a line of time, and a Fenwick tree over words of 64 bits
counts the bits behind it. A row that comes in during a batch was not there when it began, and its later lookups in that
batch count as missed with the first one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Floats, Index, Ints, Slots, Words
from ..core.jit import entry, inner
from ..workload.batch import EMPTY, find

MOST_LOOKUPS = 10_000_000
MOST_IDS = 2**18  # beyond, rows are numbered anew: those that are used then lie close together
NEVER = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class HitCurve:
    """`hits[c]` of the `lookups` find their row in an LRU cache of c rows, empty at first; c runs up to all different rows."""

    lookups: int
    hits: Ints

    def hit_rate(self, rows: Floats | Ints | float) -> Floats:
        """Return the share of lookups that hit, for one capacity or many, in whole rows."""
        return np.asarray((self.lookups - self.misses(rows)) / max(self.lookups, 1), dtype=np.float64)

    def misses(self, rows: Floats | Ints | float) -> Ints:
        """Return the lookups that miss, for one capacity or many."""
        held = np.clip(np.floor(np.asarray(rows, dtype=np.float64)), 0, len(self.hits) - 1).astype(np.int64)
        return np.asarray(self.lookups - self.hits[held])


def curve(batches: Iterable[Ints], unseen: int = 0) -> HitCurve:
    """Return the hits at every capacity; the first `unseen` batches fill the caches and are not counted."""
    every = list(batches)
    counted = sum(map(len, every[unseen:]))
    if not any(map(len, every)):
        return HitCurve(0, np.zeros(1, dtype=np.int64))
    found = distances(every)
    now = found.now[len(found.now) - counted :]
    return HitCurve(counted, np.cumsum(np.bincount(now[now != NEVER], minlength=int(found.rows[-1]) + 1)))


class Distances(NamedTuple):
    """Of each lookup the rows that a cache must hold to hit it, and to hit it and all before it in the batch of the same row.

    Batch n has the lookups from `first[n]` on; `rows` are the different rows used up to its end.
    """

    now: NDArray[np.int32]
    begun: NDArray[np.int32]
    first: Ints
    rows: Ints


def distances(batches: Sequence[Ints]) -> Distances:
    """Measure the distances of every lookup of some batches, not all of them empty."""
    ids = np.concatenate(batches)
    if ids.max() > MOST_IDS:
        slots = 2 * min(len(ids), int(ids.max()) + 1)
        bits = (slots - 1).bit_length()
        room = np.full(1 << bits, EMPTY), np.empty(1 << bits, dtype=np.int32), np.uint64(64 - bits)
        ids = _numbered(ids, *room, np.empty_like(ids))
    first = np.cumsum([0, *map(len, batches)])
    now, begun = np.empty((2, len(ids)), dtype=np.int32)
    rows = np.zeros(len(batches), dtype=np.int64)
    last = np.zeros((2, int(ids.max()) + 1), dtype=np.int32)
    words = len(ids) // 64 + 1  # of a line of time with no place marked, and of the tree over it
    _measure(ids, first, last, np.zeros(words, dtype=np.uint64), np.zeros(words + 1, dtype=np.int64), now, begun, rows)
    return Distances(now, begun, first[:-1], rows)


def moved(found: Distances, capacity: int) -> Floats:
    """Return of batches, none of them empty, lookups that miss, rows that go, lookups of rows not held when it began, (3, N)."""
    misses = np.add.reduceat(found.now > capacity, found.first, dtype=np.int64)
    late = np.add.reduceat(found.begun > capacity, found.first, dtype=np.int64)
    come = np.diff(np.minimum(found.rows, capacity), prepend=0) if capacity else misses
    return np.array([misses, misses - come if capacity else misses, late], dtype=np.float64)


@entry
def _numbered(ids: Ints, slots: Ints, held: Slots, shift: np.uint64, numbers: Ints) -> Ints:
    """Number different ids from 0 in the order in which they come; there are twice as many `slots`, a power of two."""
    seen = 0
    for i in range(len(ids)):
        slot = find(slots, ids[i], shift)
        if slots[slot] == EMPTY:
            slots[slot], held[slot] = ids[i], seen
            seen += 1
        numbers[i] = held[slot]
    return numbers


@entry
def _measure(ids: Ints, first: Ints, last: Slots, word: Words, tree: Ints, now: Slots, begun: Slots, rows: Ints) -> None:
    """`last` is each row's last use, counted from 1, and the largest distance of its uses in that batch."""
    seen = 0
    for n in range(len(first) - 1):
        for i in range(first[n], first[n + 1]):
            used, now[i] = np.int64(last[0, ids[i]]) - 1, NEVER
            if used < 0:
                seen += 1
            else:
                now[i] = seen - _marked_before(used, word, tree)
                _flip(used, -1, word, tree)
            _flip(i, 1, word, tree)
            begun[i] = now[i] if used < first[n] else max(now[i], last[1, ids[i]])
            last[0, ids[i]], last[1, ids[i]] = i + 1, begun[i]
        rows[n] = seen


@inner
def _marked_before(place: Index, word: Words, tree: Ints) -> Any:
    """Return how many places before this one are marked."""
    at = place >> 6
    below = word[at] & ((np.uint64(1) << np.uint64(place & 63)) - np.uint64(1))
    total = _ones(below)
    while at > 0:
        total += tree[at]
        at &= at - 1
    return total


@inner
def _ones(word: np.uint64) -> Any:
    """Return how many bits of a word are 1."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def _flip(place: Index, change: int, word: Words, tree: Ints) -> None:
    """Mark a place (change 1) or take its mark away (-1)."""
    at = place >> 6
    word[at] ^= np.uint64(1) << np.uint64(place & 63)
    at += 1
    while at < len(tree):
        tree[at] += change
        at += at & -at
