"""How ids become rows' numbers before a model is known: hashed into so many, or in the order in which they are first seen."""

import re
from collections.abc import Callable
from functools import partial

import numpy as np

from ...core.arrays import Ints, Words
from ...core.hashing import GOLDEN, mix
from ...core.jit import entry
from ...errors import BadFile

HASHED, AS_THEY_ARE, FIRST_SEEN = "hashed", "as they are", "first seen first"
INTO = re.compile(r"hashed into ([1-9][0-9_]{0,14})")
MOST_SEEN = 1 << 25  # different ids of a column that are numbered: a table of 1 GiB
Numbers = Callable[[Words], Words]


def known(rows: str) -> bool:
    """Return whether a text says how ids become rows."""
    return rows in (HASHED, AS_THEY_ARE, FIRST_SEEN) or bool(INTO.fullmatch(rows))


def numbering(rows: str, name: str, column: str) -> Numbers | None:
    """Return what numbers a column's tokens; None where they stay as they are, to be hashed into the model's rows or not."""
    if match := INTO.fullmatch(rows):
        return partial(_folded, np.uint64(int(match[1])))
    return FirstSeen(name, column) if rows == FIRST_SEEN else None


class FirstSeen:
    """Numbers tokens by when they are first seen, from 0 on."""

    def __init__(self, name: str, column: str) -> None:
        """Start with none seen; the file's and the column's name are for a message."""
        self._told, self._count = f"{name}: {column}", 0
        self._keys, self._numbers = np.zeros(1 << 10, np.uint64), np.full(1 << 10, -1, np.int64)

    def __call__(self, tokens: Words) -> Words:
        """Return the numbers of some tokens, in their order; raises BadFile where too many differ."""
        found, start = np.empty(len(tokens), np.uint64), 0
        while start < len(tokens):
            done, self._count = _number(tokens[start:], found[start:], self._keys, self._numbers, self._count)
            start += done
            if start < len(tokens):
                self._grow()
        return found

    def _grow(self) -> None:
        if self._count >= MOST_SEEN:
            raise BadFile(f'{self._told} has more than {MOST_SEEN:,} different ids, too many to number; say rows = "{HASHED}".')
        there = self._numbers >= 0
        seen = self._keys[there][np.argsort(self._numbers[there])]
        self._keys, self._numbers = np.zeros(2 * len(self._keys), np.uint64), np.full(2 * len(self._keys), -1, np.int64)
        _number(seen, np.empty(len(seen), np.uint64), self._keys, self._numbers, 0)


@entry
def _folded(rows: np.uint64, tokens: Words) -> Words:
    """Number tokens by SplitMix64 modulo so many rows."""
    found = np.empty(len(tokens), np.uint64)
    for i in range(len(tokens)):
        found[i] = mix(tokens[i] + GOLDEN) % rows
    return found


@entry
def _number(tokens: Words, found: Words, keys: Words, numbers: Ints, count: int) -> tuple[int, int]:
    """Number tokens until the table is half full; return how many, and how many are seen by then."""
    mask = np.uint64(len(keys) - 1)
    for i in range(len(tokens)):
        if 2 * (count + 1) > len(keys):
            return i, count
        slot = mix(tokens[i] + GOLDEN) & mask
        while numbers[slot] >= 0 and keys[slot] != tokens[i]:
            slot = (slot + np.uint64(1)) & mask
        if numbers[slot] < 0:
            keys[slot], numbers[slot] = tokens[i], count
            count += 1
        found[i] = np.uint64(numbers[slot])
    return len(tokens), count
