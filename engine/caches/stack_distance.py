"""Hits of an LRU cache at every capacity at once, from one pass over the ids: the stack distances of Mattson et al. (1970).

The distance of a lookup is how many different rows were used since its row's last use, that row included; a cache hits if
it holds at least so many. A bit marks each row's last use on a line of time, and a Fenwick tree over words of 64 bits
counts the bits behind it. The line is squeezed when it is full, so memory follows the different rows alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from ..core.arrays import Floats, Index, Ints, Slots, Words
from . import row_index
from .row_index import FILLED, NONE, ROW, USED, Held, find, hang

NOW = row_index.OWN_STATE
CHUNK = 2**16
ENDLESS = 2**31 - 1
MOST_IDS = 2**31 - 1
SPREAD, FEW = 8, 2**20  # with more rows than so many an id, an array over all rows would be mostly empty


@dataclass(frozen=True, slots=True, eq=False)
class HitCurve:
    """`hits[c]` of the `lookups` find their row in an LRU cache of c rows, empty at first; c runs up to all different rows."""

    lookups: int
    hits: Ints

    def hit_rate(self, rows: Floats | Ints | float) -> Floats:
        """Return the share of lookups that hit, for one capacity or many, in whole rows."""
        held = np.clip(np.floor(np.asarray(rows, dtype=np.float64)), 0, len(self.hits) - 1).astype(np.int64)
        return np.asarray(self.hits[held] / max(self.lookups, 1), dtype=np.float64)

    def misses(self, rows: Floats | Ints | float) -> Ints:
        """Return the lookups that miss, for one capacity or many."""
        held = np.clip(np.floor(np.asarray(rows, dtype=np.float64)), 0, len(self.hits) - 1).astype(np.int64)
        return np.asarray(self.lookups - self.hits[held])


def curve(batches: Iterable[Ints], unseen: int = 0) -> HitCurve:
    """Return the hits at every capacity; the first `unseen` batches fill the caches and are not counted."""
    if isinstance(batches, Sequence) and (rows := dense_rows(batches)):
        return _of_few(np.concatenate(batches), rows, sum(map(len, batches[:unseen])))
    held, line, lookups = row_index.empty(ENDLESS, 0, (0,)), line_of_time(0, 2 * CHUNK), 0
    counts = np.zeros(1, dtype=np.int64)
    for n, ids in enumerate(batches):
        lookups += len(ids) * (n >= unseen)
        for first in range(0, len(ids), CHUNK):
            part = ids[first : first + CHUNK]
            held = row_index.with_room(held, len(part))
            if int(held.state[NOW]) + len(part) > 64 * len(line[0]):
                line = _squeezed(held)
            counts = np.concatenate((counts, np.zeros(max(0, len(held.cell) + 1 - len(counts)), dtype=np.int64)))
            _measure(part, *held, *line, counts, int(n >= unseen))
    return HitCurve(lookups, np.cumsum(counts[: int(held.state[FILLED]) + 1]))


def dense_rows(batches: Sequence[Ints]) -> int:
    """Return how many rows an array over all rows must have, or 0 where a hash, several times slower, is worth its memory."""
    filled = [ids for ids in batches if len(ids)]
    count = sum(map(len, filled))
    if not filled or count > MOST_IDS or min(int(ids.min()) for ids in filled) < 0:
        return 0
    rows = max(int(ids.max()) for ids in filled) + 1
    return rows if rows <= SPREAD * count + FEW else 0


def _of_few(ids: Ints, rows: int, first: int) -> HitCurve:
    counts, last = np.zeros(rows + 1, dtype=np.int64), np.full(rows, NONE, dtype=np.int32)
    seen = _measure_few(ids, first, last, *line_of_time(0, len(ids)), counts)
    return HitCurve(len(ids) - first, np.cumsum(counts[: seen + 1]))


@njit(cache=True, nogil=True)
def _measure_few(ids: Ints, first: int, last: Slots, word: Words, tree: Ints, counts: Ints) -> Any:
    """Count distances from use `first` on; `last` is each row's last use, and the line of time is long enough for all."""
    seen = 0
    for now in range(len(ids)):
        before = last[ids[now]]
        if before == NONE:
            seen += 1
        else:
            counts[seen - marked_before(before, word, tree)] += now >= first
            flip(before, -1, word, tree)
        flip(now, 1, word, tree)
        last[ids[now]] = now
    return seen


def _squeezed(held: Held) -> tuple[Words, Ints]:
    """Move the last uses to the start of a new line, in their order."""
    rows = int(held.state[FILLED])
    order = np.argsort(held.cell[:rows, USED])
    held.cell[order, USED] = np.arange(rows)
    held.state[NOW] = rows
    return line_of_time(rows, max(2 * CHUNK, 4 * rows))


def line_of_time(marked: int, length: int) -> tuple[Words, Ints]:
    """Return a line of time with its first places marked, and the tree over it."""
    words = length // 64 + 1
    bits = np.zeros(64 * words, dtype=np.uint8)
    bits[:marked] = 1
    word = np.packbits(bits, bitorder="little").view(np.uint64).copy()
    sums = np.concatenate(([0], np.cumsum(bits.reshape(words, 64).sum(axis=1, dtype=np.int64))))
    at = np.arange(1, words + 1)
    return word, np.concatenate(([0], sums[at] - sums[at - (at & -at)]))


@njit(cache=True, nogil=True)
def _measure(ids: Ints, cell: Ints, bucket: Slots, state: Ints, word: Words, tree: Ints, counts: Ints, counted: int) -> None:
    for row in ids:
        slot, now = find(cell, bucket, row), state[NOW]
        if slot == NONE:
            slot = state[FILLED]
            state[FILLED] += 1
            cell[slot, ROW] = row
            hang(cell, bucket, slot)
        else:
            last = cell[slot, USED]
            if last == now - 1:
                counts[1] += counted
                continue
            counts[state[FILLED] - marked_before(last, word, tree)] += counted
            flip(last, -1, word, tree)
        flip(now, 1, word, tree)
        cell[slot, USED] = now
        state[NOW] = now + 1


@njit(cache=True, nogil=True)
def marked_before(place: Index, word: Words, tree: Ints) -> Any:
    """Return how many places before this one are marked."""
    at = place >> 6
    below = word[at] & ((np.uint64(1) << np.uint64(place & 63)) - np.uint64(1))
    total = ones(below)
    while at > 0:
        total += tree[at]
        at &= at - 1
    return total


@njit(cache=True, nogil=True)
def ones(word: np.uint64) -> Any:
    """Return how many bits of a word are 1."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def flip(place: Index, change: int, word: Words, tree: Ints) -> None:
    """Mark a place (change 1) or take its mark away (-1)."""
    at = place >> 6
    word[at] ^= np.uint64(1) << np.uint64(place & 63)
    at += 1
    while at < len(tree):
        tree[at] += change
        at += at & -at
