"""A cache of rows: how many it holds, and what moves in and out of it with each batch.

A batch is served at once: its held rows are used, its missing ones come in, in order of their first lookup, and no row
of the batch goes before it is over.
Ids are numbers in one space of rows; `by_table` gives each table a cache of its own instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Floats, Ints
from ..errors import CannotRun
from ..registry import every

COUNTS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """How large a cache is, and what some policies need besides.

    `rows` it holds; `ways` of a set (set-associative); `batches_ahead` that it sees (look-ahead); the rows `hot_first`, by
    falling frequency (static).
    """

    rows: int
    ways: int = 32
    batches_ahead: int = 200
    hot_first: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """What each of N batches did to a cache; every field is (N,).

    `lookups`, of which `missed_lookups` asked for a row that was not held when the batch began; `unique` rows, of which
    `misses` were not held; rows `evicted`, and rows `held` after the batch. Of the misses, `refused` rows found no place:
    they count as evicted at once.
    """

    lookups: Ints
    unique: Ints
    missed_lookups: Ints
    misses: Ints
    evicted: Ints
    held: Ints
    refused: Ints

    @property
    def hits(self) -> Ints:
        """Unique rows that were held when the batch began."""
        return self.unique - self.misses

    @property
    def written_back(self) -> Ints:
        """Rows written to their home: all that went, since a row only comes in to be trained."""
        return self.evicted

    @property
    def hit_rate(self) -> Floats:
        """Share of lookups whose row was held when the batch began."""
        return 1 - self.missed_lookups / np.maximum(self.lookups, 1)


@dataclass(frozen=True)
class Cache:
    """What a cache file exports: `run` serves batches, `singly` serves ids one by one and returns the misses alone.

    `run` raises CannotRun where a batch has more unique rows than the cache can hold.
    """

    title: str
    help: str
    run: Callable[[Sequence[Ints], Room], Moves]
    singly: Callable[[Ints, Room], int]


def caches() -> dict[str, Cache]:
    """Return all cache policies by name."""
    return dict(every("caches"))


def by_table(cache: Cache, batches: Sequence[Ints], layout: Ints, rooms: Sequence[Room]) -> list[Moves]:
    """Serve each table's lookups, `layout[t]` to `layout[t + 1]` of a batch, with a cache of its own."""
    parts = zip(layout[:-1], layout[1:], rooms, strict=True)
    return [cache.run([ids[first:last] for ids in batches], room) for first, last, room in parts]


def moves(batches: Sequence[Ints], counts: Ints) -> Moves:
    """Return the moves of batches from (N, COUNTS) counts in the order of the fields after `lookups`."""
    return Moves(np.array([len(ids) for ids in batches], dtype=np.int64), *counts.T)


def too_small(rows: int, unique: int, batch: int) -> CannotRun:
    """Return the refusal of a batch that does not fit."""
    return CannotRun(
        f"A cache of {rows:,} rows cannot hold the {unique:,} unique rows of batch {batch}; give it {unique:,} rows or more, "
        "or make batches smaller."
    )
