"""The ways in which ids become row numbers, as a mapping names them, and an index that numbers ids in the order first seen."""

import re
from typing import Any

import numpy as np

from ...core.arrays import Ints, Words
from ...core.hashing import GOLDEN, mix
from ...core.jit import entry
from ...errors import BadFile
from .mapped import touched
from .samples import scratch

HASHED, AS_THEY_ARE, FIRST_SEEN = "hashed", "as they are", "first seen first"
WHERE_THEY_FIT = "first seen where they fit"  # in the order first seen if all of a column fit into its table, else all hashed
INTO = re.compile(r"hashed into ([1-9][0-9_]{0,14})")
MOST_SEEN = 1 << 25  # distinct ids of a column that are numbered: an index of .8 GiB
PAGE = 4096


def known(rows: str) -> bool:
    """Return whether a text says how ids become rows."""
    return rows in (WHERE_THEY_FIT, HASHED, AS_THEY_ARE, FIRST_SEEN) or bool(INTO.fullmatch(rows))


def into(rows: str) -> int:
    """Return the number of rows that ids are hashed into before a model is known, 0 where they are not."""
    match = INTO.fullmatch(rows)
    return int(match[1]) if match else 0


class IdIndex:
    """The distinct tokens of a column, numbered from 0 in the order first seen: an open hash table, at most half full.

    `keys` (S,) are tokens, `ranks` (S,) int32 their numbers plus 1, 0 in an empty slot. Beyond MOST_SEEN it is `full`, and empty.
    """

    def __init__(self) -> None:
        """Start with no token."""
        self.count, self.full = 0, False
        self.keys, self.ranks = _slots(1 << 10)

    def add(self, tokens: Words) -> bool:
        """Number the tokens that are new; return False once there are too many to number."""
        start = 0
        while start < len(tokens) and not self.full:
            done, self.count = _insert(tokens[start:], self.keys, self.ranks, self.count)
            start += done
            if self.count > MOST_SEEN or (start < len(tokens) and self.count == MOST_SEEN and 2 * self.count >= len(self.keys)):
                self.full, (self.keys, self.ranks) = True, _slots(1)
            elif start < len(tokens):
                self._grow()
        touched(min(self.keys.nbytes, PAGE * len(tokens)) if self.keys.nbytes > PAGE * PAGE else 0)
        return not self.full

    def _grow(self) -> None:
        before, ranks = self.keys, self.ranks
        self.keys, self.ranks = _slots(2 * len(before))
        _rehash(before, ranks, self.keys, self.ranks)

    def numbers(self, tokens: Words) -> Words:
        """Return the numbers of tokens that are all in the index."""
        found = np.empty(len(tokens), np.uint64)
        _look_up(tokens, self.keys, self.ranks, found)
        return found

    def numbers_or_refusal(self, tokens: Words, column: str) -> Words:
        """Return the numbers of tokens; raises BadFile, naming the column, once there are too many to number."""
        if self.full:
            raise BadFile(f'{column} has more than {MOST_SEEN:,} different ids, too many to number; say rows = "{HASHED}".')
        return self.numbers(tokens)

    def tokens(self) -> Words:
        """Return the distinct tokens, in the order of their slots."""
        return np.asarray(self.keys[self.ranks > 0])


def _slots(count: int) -> tuple[Any, Any]:
    return scratch(count, np.uint64), scratch(count, np.int32)


@entry
def folded(rows: np.uint64, tokens: Words) -> Words:
    """Number tokens by SplitMix64 modulo so many rows."""
    found = np.empty(len(tokens), np.uint64)
    for i in range(len(tokens)):
        found[i] = mix(tokens[i] + GOLDEN) % rows
    return found


@entry
def _insert(tokens: Words, keys: Words, ranks: Any, count: int) -> tuple[int, int]:
    """Number new tokens until the table is half full; return how many tokens are done, and how many are distinct by then."""
    mask = np.uint64(len(keys) - 1)
    for i in range(len(tokens)):
        slot = mix(tokens[i] + GOLDEN) & mask
        while ranks[slot] and keys[slot] != tokens[i]:
            slot = (slot + np.uint64(1)) & mask
        if not ranks[slot]:
            if 2 * (count + 1) > len(keys):
                return i, count
            count += 1
            keys[slot], ranks[slot] = tokens[i], count
    return len(tokens), count


@entry
def _rehash(before: Words, ranks_before: Any, keys: Words, ranks: Any) -> None:
    """Move the entries of a smaller table into an empty one."""
    mask = np.uint64(len(keys) - 1)
    for i in range(len(before)):
        if ranks_before[i]:
            slot = mix(before[i] + GOLDEN) & mask
            while ranks[slot]:
                slot = (slot + np.uint64(1)) & mask
            keys[slot], ranks[slot] = before[i], ranks_before[i]


@entry
def _look_up(tokens: Words, keys: Words, ranks: Any, found: Words) -> None:
    mask = np.uint64(len(keys) - 1)
    for i in range(len(tokens)):
        slot = mix(tokens[i] + GOLDEN) & mask
        while keys[slot] != tokens[i] or not ranks[slot]:
            slot = (slot + np.uint64(1)) & mask
        found[i] = np.uint64(ranks[slot] - 1)


@entry
def numbered_rows(tokens: Words, begins: Ints, lengths: Ints, keys: Words, ranks: Any, first: int, rows: Ints) -> None:
    """Fill in a table's global rows, from `first` on: of each sample's tokens, which begin so and are so many, (n,)."""
    mask, at = np.uint64(len(keys) - 1), 0
    for sample in range(len(begins)):
        for place in range(begins[sample], begins[sample] + lengths[sample]):
            slot = mix(tokens[place] + GOLDEN) & mask
            while keys[slot] != tokens[place] or not ranks[slot]:
                slot = (slot + np.uint64(1)) & mask
            rows[at] = first + ranks[slot] - 1
            at += 1
