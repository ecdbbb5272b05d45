"""The ways in which ids become row numbers, and an index of distinct ids.

The index has the ids in the order first seen.
"""

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from ...core import figures
from ...core.arithmetic import total
from ...core.arrays import Ints, Words
from ...core.hashing import GOLDEN, mix
from ...core.jit import entry_kernel, inner_kernel
from ...errors import BadFile

HASHED, AS_THEY_ARE, FIRST_SEEN = "hashed", "as they are", "first seen first"
WHERE_THEY_FIT = "first seen where they fit"  # in the order first seen if all of a column fit into its table, else all hashed
HASHED_INTO = re.compile(r"hashed into ([1-9][0-9_]{0,14})")
MOST_SEEN, MOST_TOGETHER = 1 << 25, 1 << 26  # most numbered ids of a column, and of all columns: an index takes 16 B an id
NUMBER_BITS, HASH_SHIFT = np.uint32(26), np.uint64(58)
NUMBER = np.uint32((1 << 26) - 1)
CHUNK = 64  # tokens whose slots are fetched together


def is_numbering(rows: str) -> bool:
    """Return whether a text names a way in which ids become row numbers."""
    return rows in (WHERE_THEY_FIT, HASHED, AS_THEY_ARE, FIRST_SEEN) or bool(HASHED_INTO.fullmatch(rows))


def hashed_rows(rows: str) -> int:
    """Return N for a text "hashed into N", and 0 for all other texts."""
    match = HASHED_INTO.fullmatch(rows)
    return int(match[1]) if match else 0


class IdIndex:
    """The distinct tokens of a column, numbered from 0 in the order first seen.

    The index is an open hash table that is at most half full.

    known_tokens: an array whose first `count` items are the distinct tokens, in order.
    slots: (S,) uint32; 0 for an empty slot, else a token's number plus 1 in the lower 26 bits, and 6 bits of its hash above them.
        Most
        other tokens differ in these 6 bits, so `known_tokens` is rarely read.
    is_full: True after more than MOST_SEEN distinct tokens; the index is then empty.
    """

    def __init__(self) -> None:
        """Start with no token."""
        self.count, self.is_full = 0, False
        self.known_tokens, self.slots = np.empty(1 << 9, np.uint64), np.zeros(1 << 10, np.uint32)

    def add(self, tokens: Words) -> bool:
        """Add tokens to the index; new tokens get the next numbers.

        Return False if there are too many distinct tokens to number.
        """
        start = 0
        while start < len(tokens) and not self.is_full:
            inserted, self.count, _ = _insert(tokens[start:], self.known_tokens, self.slots, self.count)
            start += inserted
            if self.count > MOST_SEEN:
                self.drop()
            elif start < len(tokens):
                self._grow()
        return not self.is_full

    def drop(self) -> None:
        """Delete all tokens, because they are too many to number."""
        self.is_full, self.known_tokens, self.slots = True, self.known_tokens[:0].copy(), self.slots[:1].copy()

    def _grow(self) -> None:
        known_tokens, size = np.empty(2 * len(self.known_tokens), np.uint64), 2 * len(self.slots)
        known_tokens[: self.count] = self.known_tokens[: self.count]
        self.known_tokens = known_tokens
        self.slots = np.zeros(0, np.uint32)  # the old slots are free before the new ones are taken
        self.slots = np.zeros(size, np.uint32)
        _enter(self.known_tokens, self.count, self.slots)

    def numbers(self, tokens: Words) -> Words:
        """Return the numbers of tokens, all of which must be in the index."""
        id_numbers = np.empty(len(tokens), np.uint64)
        _look_up(tokens, self.known_tokens, self.slots, id_numbers)
        return id_numbers

    def numbers_or_refusal(self, tokens: Words, column: str) -> Words:
        """Return the numbers of tokens, all of which must be in the index.

        Raises BadFile, with the name of the column, if there were too many tokens to number.
        """
        if self.is_full:
            raise BadFile(
                f'{column} has more than {figures.count(MOST_SEEN)} different ids, too many to number; say rows = "{HASHED}" '
                "in the mapping."
            )
        return self.numbers(tokens)

    def tokens(self) -> Words:
        """Return the distinct tokens, in the order first seen."""
        return self.known_tokens[: self.count]


def drop_largest(indexes: Collection[IdIndex], max_ids: int = MOST_TOGETHER) -> None:
    """Empty the largest indexes until the others have at most `max_ids` ids together.

    The limit does not depend on the computer's memory.
    """
    while total(index.count for index in indexes if not index.is_full) > max_ids:
        max((index for index in indexes if not index.is_full), key=lambda index: index.count).drop()


@entry_kernel
def fold_tokens(rows: np.uint64, tokens: Words) -> Words:
    """Return the row numbers of hashed tokens: SplitMix64 modulo the number of rows."""
    row_numbers = np.empty(len(tokens), np.uint64)
    for i in range(len(tokens)):
        row_numbers[i] = mix(tokens[i] + GOLDEN) % rows
    return row_numbers


@entry_kernel
def _insert(tokens: Words, known_tokens: Words, slots: Any, count: int) -> tuple[int, int, Any]:
    """Number new tokens until the table may be half full.

    Returns the inserted tokens, the distinct tokens, and a checksum. A chunk's slots and tokens are read ahead, all at the same
    time, as each read waits for the memory; the checksum keeps the compiler from leaving these reads out.
    """
    mask, places, read_ahead, start = np.uint64(len(slots) - 1), np.empty(CHUNK, np.uint64), np.uint64(0), 0
    while start < len(tokens):
        size = min(CHUNK, len(tokens) - start)
        if 2 * (count + size) > len(slots):
            break
        for i in range(size):
            places[i] = mix(tokens[start + i] + GOLDEN)
            read_ahead ^= np.uint64(slots[places[i] & mask])
        for i in range(size):
            number = slots[places[i] & mask] & NUMBER
            if number:
                read_ahead ^= known_tokens[number - 1]
        for i in range(size):
            slot = _slot(tokens[start + i], places[i], known_tokens, slots)
            if slots[slot] == 0:
                known_tokens[count] = tokens[start + i]
                count += 1
                slots[slot] = _slot_word(places[i], count)
        start += size
    return start, count, read_ahead


@inner_kernel
def _slot_word(word: Any, number: Any) -> Any:
    """Return the word of a slot: bits of a token's hash, and the token's number."""
    return (np.uint32(word >> HASH_SHIFT) << NUMBER_BITS) | np.uint32(number)


@inner_kernel
def _slot(token: Any, word: Any, known_tokens: Any, slots: Any) -> Any:
    """Return the slot of a token with the hash `word`, or its empty slot."""
    mask = np.uint64(len(slots) - 1)
    slot, tag = word & mask, np.uint32(word >> HASH_SHIFT)
    while slots[slot] != 0 and not (slots[slot] >> NUMBER_BITS == tag and known_tokens[(slots[slot] & NUMBER) - 1] == token):
        slot = (slot + np.uint64(1)) & mask
    return slot


@entry_kernel
def _enter(known_tokens: Words, count: int, slots: Any) -> None:
    """Enter the first `count` known tokens into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for i in range(count):
        word = mix(known_tokens[i] + GOLDEN)
        slot = word & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = _slot_word(word, i + 1)


@entry_kernel
def _look_up(tokens: Words, known_tokens: Words, slots: Any, id_numbers: Words) -> None:
    for i in range(len(tokens)):
        id_numbers[i] = np.uint64((slots[_slot(tokens[i], mix(tokens[i] + GOLDEN), known_tokens, slots)] & NUMBER) - 1)


@entry_kernel
def fill_numbered_rows(
    tokens: Words, begins: Ints, lengths: Ints, known_tokens: Words, slots: Any, first_row: int, rows: Ints
) -> None:
    """Write the global row numbers of a table's tokens into `rows`.

    The tokens of a sample are at `begins` and have the number `lengths`, each (n,). `known_tokens` and `slots` are those of an
    IdIndex. The table's rows begin at `first_row`.
    """
    position = 0
    for sample in range(len(begins)):
        for place in range(begins[sample], begins[sample] + lengths[sample]):
            token = tokens[place]
            rows[position] = first_row + np.int64(slots[_slot(token, mix(token + GOLDEN), known_tokens, slots)] & NUMBER) - 1
            position += 1
