"""Blocks of a file's lookups: counted table by table, one in four held back from the fit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...core.arrays import Floats, Ints, Words

BLOCKS, HELD_BACK = 32, 4  # every fourth block is held back
MOST_SAMPLES, MOST_LOOKUPS = 2_000_000, 1 << 23  # of a file, and of one table
TOP = (0.001, 0.01, 0.1)  # of a table's rows


class Lookups(Protocol):
    """A file of lookups: a recording with labels, or a trace without."""

    @property
    def name(self) -> str:
        """The file's name."""

    @property
    def format(self) -> str:
        """The name of its format."""

    @property
    def order(self) -> str:
        """In which order its samples stand."""

    @property
    def hashed(self) -> bool:
        """Whether ids say nothing of how many rows there are."""

    @property
    def tables(self) -> int:
        """How many tables there are."""

    @property
    def samples(self) -> int:
        """How many samples each table has lookups of."""

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return a table's lookups of samples `low` to `high`, in their order."""

    def bag_lengths(self, table: int) -> Ints | int:
        """Return how many lookups of a table each sample has, or the one number that all have."""


@dataclass(frozen=True, slots=True, eq=False)
class LookupCounts:
    """A table's lookups: row numbers, block by block in the file's order; `rows` are numbered by their ids."""

    rows: int
    blocks: tuple[Ints, ...]

    @property
    def held(self) -> tuple[Ints, ...]:
        """The blocks that are held back."""
        return self.blocks[HELD_BACK - 1 :: HELD_BACK]

    @property
    def fitted(self) -> Ints:
        """The lookups of all other blocks."""
        return np.concatenate([block for at, block in enumerate(self.blocks) if at % HELD_BACK != HELD_BACK - 1])

    @property
    def sizes(self) -> list[int]:
        """The lookups of each block."""
        return list(map(len, self.blocks))


@dataclass(frozen=True, slots=True)
class Measured:
    """What held-back lookups did: shares of them.

    `top` went to the shares TOP of rows that the fitted blocks used most; `unseen` to rows that these never used; `distinct`
    are different rows per lookup of a block. They are of `lookups`.
    """

    top: tuple[float, ...] = (1.0,) * len(TOP)
    unseen: float = 0.0
    distinct: float = 1.0
    lookups: int = 0

    @property
    def shares(self) -> tuple[float, ...]:
        """All shares, in their order."""
        return *self.top, self.unseen, self.distinct

    def apart(self, other: "Measured") -> float:
        """Return the largest difference between two as a share of lookups, beyond twice what chance makes."""
        chance = 2 * (0.25 / max(self.lookups, 1) + 0.25 / max(other.lookups, 1)) ** 0.5
        return float(max(0.0, *(abs(one - two) - chance for one, two in zip(self.shares, other.shares, strict=True))))


def blocks(samples: int, most: int) -> list[tuple[int, int]]:
    """Return where blocks of samples begin and end: all of them, or `most` spread over the file."""
    size = max(min(samples, most) // BLOCKS, 1)
    starts = np.linspace(0, samples - size, min(BLOCKS, samples)).astype(np.int64)
    ends = np.append(starts[1:], samples) if samples <= most else starts + size
    return [(int(low), int(high)) for low, high in zip(starts, ends, strict=True)]


def counted(file: Lookups, table: int, parts: list[tuple[int, int]], whole: bool) -> LookupCounts:
    """Count a table; `whole` says that ids are rows' numbers, so the largest tells how many there are."""
    found = [file.lookups(table, low, high) for low, high in parts]
    different, rows = np.unique(np.concatenate(found), return_inverse=True)
    if not len(different):
        return LookupCounts(0, ())
    numbers = whole and int(different[-1]) < 2**63  # negative ones are hashes, not numbers of rows
    return _split(int(different[-1]) + 1 if numbers else len(different), rows.astype(np.int64), list(map(len, found)))


def generated(ids: Callable[[int], Ints], sizes: list[int]) -> LookupCounts:
    """Return as many lookups of a generator as a file has, in blocks of the same sizes."""
    made: list[Ints] = []
    lookups = sum(sizes)
    while sum(map(len, made)) < lookups:
        made.append(ids(len(made)))
    every = np.concatenate(made)[:lookups]
    return _split(int(every.max()) + 1, every, sizes)


def _split(rows: int, every: Ints, sizes: list[int]) -> LookupCounts:
    return LookupCounts(rows, tuple(np.split(every, np.cumsum(sizes[:-1]))))


def measured(found: LookupCounts, rows: int) -> Measured:
    """Measure held-back lookups by what the fitted ones used most, in a table of so many rows."""
    held = np.concatenate(found.held)
    often = np.bincount(found.fitted, minlength=int(held.max(initial=0)) + 1)
    now = np.bincount(held, minlength=len(often))
    by_use = np.concatenate(([0], np.cumsum(now[np.argsort(-often, kind="stable")]))) / max(len(held), 1)
    used = int(np.count_nonzero(often))
    top = [float(by_use[min(max(round(share * rows), 1), used)]) for share in TOP]
    different = sum(len(np.unique(block)) for block in found.held) / max(len(held), 1)
    return Measured(tuple(top), float(now[often == 0].sum()) / max(len(held), 1), different, len(held))


def rarity(rows: Ints, some: int) -> Floats:
    """Return how rare the rows of the first lookups are among all: the rank of their count, from 0 to 1."""
    values = np.bincount(rows)[rows[:some]]
    order = np.sort(values)
    low, high = np.searchsorted(order, values, "left"), np.searchsorted(order, values, "right")
    return np.asarray((low + high) / 2 / len(values), dtype=np.float64)
