"""The ways in which ids become row numbers, as a mapping names them, and an index that numbers ids in the order first seen."""

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from ...core import figures
from ...core.arrays import Ints, Words
from ...core.hashing import GOLDEN, mix
from ...core.jit import entry, inner
from ...errors import BadFile

HASHED, AS_THEY_ARE, FIRST_SEEN = "hashed", "as they are", "first seen first"
WHERE_THEY_FIT = "first seen where they fit"  # in the order first seen if all of a column fit into its table, else all hashed
INTO = re.compile(r"hashed into ([1-9][0-9_]{0,14})")
MOST_SEEN, MOST_TOGETHER = 1 << 25, 1 << 26  # distinct ids that are numbered, of a column and of all: an index takes 16 B an id
NUMBER_BITS, HASH_SHIFT = np.uint32(26), np.uint64(58)
NUMBER = np.uint32((1 << 26) - 1)
CHUNK = 64  # tokens that are looked for at the same time


def known(rows: str) -> bool:
    """Return whether a text says how ids become rows."""
    return rows in (WHERE_THEY_FIT, HASHED, AS_THEY_ARE, FIRST_SEEN) or bool(INTO.fullmatch(rows))


def into(rows: str) -> int:
    """Return the number of rows that ids are hashed into before a model is known, 0 where they are not."""
    match = INTO.fullmatch(rows)
    return int(match[1]) if match else 0


class IdIndex:
    """The distinct tokens of a column, numbered from 0 in the order first seen: an open hash table, at most half full.

    `known` (K,) are the first `count` distinct tokens in that order. `slots` (S,) uint32 hold a token's number plus 1 in their
    lower 26 bits, and 6 bits of its hash above, so that most other tokens are told apart without a look at `known`; an empty slot
    is 0. Beyond MOST_SEEN distinct tokens the index is `full`, and holds nothing.
    """

    def __init__(self) -> None:
        """Start with no token."""
        self.count, self.full = 0, False
        self.known, self.slots = np.empty(1 << 9, np.uint64), np.zeros(1 << 10, np.uint32)

    def add(self, tokens: Words) -> bool:
        """Number the tokens that are new; return False once there are too many to number."""
        start = 0
        while start < len(tokens) and not self.full:
            done, self.count, _ = _insert(tokens[start:], self.known, self.slots, self.count)
            start += done
            if self.count > MOST_SEEN:
                self.drop()
            elif start < len(tokens):
                self._grow()
        return not self.full

    def drop(self) -> None:
        """Forget all tokens: they are too many to be numbered."""
        self.full, self.known, self.slots = True, self.known[:0].copy(), self.slots[:1].copy()

    def _grow(self) -> None:
        known, size = np.empty(2 * len(self.known), np.uint64), 2 * len(self.slots)
        known[: self.count] = self.known[: self.count]
        self.known, self.slots = known, np.zeros(0, np.uint32)  # the old slots are free before the new ones are taken
        self.slots = np.zeros(size, np.uint32)
        _enter(self.known, self.count, self.slots)

    def numbers(self, tokens: Words) -> Words:
        """Return the numbers of tokens that are all in the index."""
        found = np.empty(len(tokens), np.uint64)
        _look_up(tokens, self.known, self.slots, found)
        return found

    def numbers_or_refusal(self, tokens: Words, column: str) -> Words:
        """Return the numbers of tokens; raises BadFile, naming the column, once there are too many to number."""
        if self.full:
            raise BadFile(
                f'{column} has more than {figures.count(MOST_SEEN)} different ids, too many to number; say rows = "{HASHED}".'
            )
        return self.numbers(tokens)

    def tokens(self) -> Words:
        """Return the distinct tokens, in the order first seen."""
        return self.known[: self.count]


def keep_within(indexes: Collection[IdIndex], most: int = MOST_TOGETHER) -> None:
    """Drop the largest indexes until the others hold at most so many ids together, whatever the computer's memory."""
    while sum(index.count for index in indexes if not index.full) > most:
        max((index for index in indexes if not index.full), key=lambda index: index.count).drop()


@entry
def folded(rows: np.uint64, tokens: Words) -> Words:
    """Number tokens by SplitMix64 modulo so many rows."""
    found = np.empty(len(tokens), np.uint64)
    for i in range(len(tokens)):
        found[i] = mix(tokens[i] + GOLDEN) % rows
    return found


@entry
def _insert(tokens: Words, known: Words, slots: Any, count: int) -> tuple[int, int, Any]:
    """Number new tokens until the table may be half full; return how many tokens are done, and how many are distinct by then.

    A chunk's slots and tokens are read once before they are needed, all at the same time, as each waits for the memory; the third
    of the returned values keeps that from being left out.
    """
    mask, places, read, start = np.uint64(len(slots) - 1), np.empty(CHUNK, np.uint64), np.uint64(0), 0
    while start < len(tokens):
        size = min(CHUNK, len(tokens) - start)
        if 2 * (count + size) > len(slots):
            break
        for i in range(size):
            places[i] = mix(tokens[start + i] + GOLDEN)
            read ^= np.uint64(slots[places[i] & mask])
        for i in range(size):
            number = slots[places[i] & mask] & NUMBER
            if number:
                read ^= known[number - 1]
        for i in range(size):
            slot = _slot(tokens[start + i], places[i], known, slots)
            if slots[slot] == 0:
                known[count] = tokens[start + i]
                count += 1
                slots[slot] = _entry(places[i], count)
        start += size
    return start, count, read


@inner
def _entry(word: Any, number: Any) -> Any:
    """Return what a slot holds of a token's hash and number."""
    return (np.uint32(word >> HASH_SHIFT) << NUMBER_BITS) | np.uint32(number)


@inner
def _slot(token: Any, word: Any, known: Any, slots: Any) -> Any:
    """Return the slot of a token with the hash `word`, or the empty one where it belongs."""
    mask = np.uint64(len(slots) - 1)
    slot, tag = word & mask, np.uint32(word >> HASH_SHIFT)
    while slots[slot] != 0 and not (slots[slot] >> NUMBER_BITS == tag and known[(slots[slot] & NUMBER) - 1] == token):
        slot = (slot + np.uint64(1)) & mask
    return slot


@entry
def _enter(known: Words, count: int, slots: Any) -> None:
    """Enter known tokens into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for i in range(count):
        word = mix(known[i] + GOLDEN)
        slot = word & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = _entry(word, i + 1)


@entry
def _look_up(tokens: Words, known: Words, slots: Any, found: Words) -> None:
    for i in range(len(tokens)):
        found[i] = np.uint64((slots[_slot(tokens[i], mix(tokens[i] + GOLDEN), known, slots)] & NUMBER) - 1)


@entry
def numbered_rows(tokens: Words, begins: Ints, lengths: Ints, known: Words, slots: Any, first: int, rows: Ints) -> None:
    """Fill in a table's global rows, from `first` on: of each sample's tokens, which begin so and are so many, (n,)."""
    at = 0
    for sample in range(len(begins)):
        for place in range(begins[sample], begins[sample] + lengths[sample]):
            token = tokens[place]
            rows[at] = first + np.int64(slots[_slot(token, mix(token + GOLDEN), known, slots)] & NUMBER) - 1
            at += 1
