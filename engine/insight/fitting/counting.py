"""Lookups of a file, counted by table in blocks; every fourth block is held back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...core.arithmetic import total
from ...core.arrays import Floats, Ints, Words

BLOCKS, HELD_BACK = 32, 4  # every fourth block is held back
MOST_SAMPLES, MOST_LOOKUPS = 2_000_000, 1 << 23  # of a file, and of one table
TOP_SHARES = (0.001, 0.01, 0.1)  # of a table's rows


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
        """How the file's samples are ordered."""

    @property
    def hashed(self) -> bool:
        """Whether ids are hashes, so that the number of rows is unknown."""

    @property
    def tables(self) -> int:
        """The number of tables."""

    @property
    def samples(self) -> int:
        """The number of samples, the same for each table."""

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return a table's lookups of samples `low` to `high`, in their order."""

    def bag_lengths(self, table: int) -> Ints | int:
        """Return a table's lookups in each sample, or one number for all samples."""


@dataclass(frozen=True, slots=True, eq=False)
class LookupCounts:
    """A table's lookups as row numbers, in blocks in the file's order.

    Rows are numbered by rising id. `rows` is the number of rows.
    """

    rows: int
    blocks: tuple[Ints, ...]

    @property
    def held_back(self) -> tuple[Ints, ...]:
        """The blocks of lookups that are held back from the fit."""
        return self.blocks[HELD_BACK - 1 :: HELD_BACK]

    @property
    def fitted_lookups(self) -> Ints:
        """The lookups of all blocks that are not held back."""
        return np.concatenate([block for i, block in enumerate(self.blocks) if i % HELD_BACK != HELD_BACK - 1])

    @property
    def block_sizes(self) -> list[int]:
        """The number of lookups in each block."""
        return list(map(len, self.blocks))


@dataclass(frozen=True, slots=True)
class HeldBackShares:
    """Shares of the held-back lookups of a table.

    top: shares that go to the rows that the fitted blocks use most, for each of TOP_SHARES of the rows.
    unseen: share that goes to rows that the fitted blocks never use.
    distinct: different rows per lookup of a block.
    lookups: the number of held-back lookups.
    """

    top: tuple[float, ...] = (1.0,) * len(TOP_SHARES)
    unseen: float = 0.0
    distinct: float = 1.0
    lookups: int = 0

    @property
    def shares(self) -> tuple[float, ...]:
        """All shares as one tuple, in the order of the fields."""
        return *self.top, self.unseen, self.distinct

    def largest_gap(self, counterpart: "HeldBackShares") -> float:
        """Return the largest difference between two tables' shares that chance does not explain.

        Twice the standard error of a difference is subtracted for chance; the result is at least 0.
        """
        chance = 2 * (0.25 / max(self.lookups, 1) + 0.25 / max(counterpart.lookups, 1)) ** 0.5
        return float(
            max(
                0.0,
                *(abs(share - other_share) - chance for share, other_share in zip(self.shares, counterpart.shares, strict=True)),
            )
        )


def blocks(samples: int, max_samples: int) -> list[tuple[int, int]]:
    """Return (begin, end) of each block of samples to count.

    The blocks cover all samples, or `max_samples` of them spread over the file.
    """
    size = max(min(samples, max_samples) // BLOCKS, 1)
    starts = np.linspace(0, samples - size, min(BLOCKS, samples)).astype(np.int64)
    ends = np.append(starts[1:], samples) if samples <= max_samples else starts + size
    return [(int(low), int(high)) for low, high in zip(starts, ends, strict=True)]


def count_table(file: Lookups, table: int, parts: list[tuple[int, int]], ids_are_rows: bool) -> LookupCounts:
    """Count a table's lookups in blocks.

    With `ids_are_rows`, the number of rows follows from the largest id.
    """
    block_lookups = [file.lookups(table, low, high) for low, high in parts]
    different, rows = np.unique(np.concatenate(block_lookups), return_inverse=True)
    if not len(different):
        return LookupCounts(0, ())
    numbers = ids_are_rows and int(different[-1]) < 2**63  # negative ones are hashes, not numbers of rows
    return _split(int(different[-1]) + 1 if numbers else len(different), rows.astype(np.int64), list(map(len, block_lookups)))


def generated_counts(ids: Callable[[int], Ints], sizes: list[int]) -> LookupCounts:
    """Return the generator's lookups, in blocks of `sizes` lookups as in the file."""
    batches: list[Ints] = []
    lookups = total(sizes)
    while sum(map(len, batches)) < lookups:
        batches.append(ids(len(batches)))
    row_numbers = np.concatenate(batches)[:lookups]
    return _split(int(row_numbers.max()) + 1, row_numbers, sizes)


def _split(rows: int, row_numbers: Ints, sizes: list[int]) -> LookupCounts:
    return LookupCounts(rows, tuple(np.split(row_numbers, np.cumsum(sizes[:-1]))))


def held_back_shares(counts: LookupCounts, rows: int) -> HeldBackShares:
    """Return the shares of held-back lookups that go to the rows most used when fitting.

    The table has `rows` rows.
    """
    held_back = np.concatenate(counts.held_back)
    fitted_uses = np.bincount(counts.fitted_lookups, minlength=int(held_back.max(initial=0)) + 1)
    held_back_uses = np.bincount(held_back, minlength=len(fitted_uses))
    by_use = np.concatenate(([0], np.cumsum(held_back_uses[np.argsort(-fitted_uses, kind="stable")]))) / max(len(held_back), 1)
    rows_used = int(np.count_nonzero(fitted_uses))
    top = [float(by_use[min(max(round(share * rows), 1), rows_used)]) for share in TOP_SHARES]
    different = sum(len(np.unique(block)) for block in counts.held_back) / max(len(held_back), 1)
    return HeldBackShares(
        tuple(top), float(held_back_uses[fitted_uses == 0].sum()) / max(len(held_back), 1), different, len(held_back)
    )


def rarity(rows: Ints, max_lookups: int) -> Floats:
    """Return, for each of the first `max_lookups` lookups, the rarity of its row.

    It is the rank of the row's count among these lookups, from 0 to 1.
    """
    values = np.bincount(rows)[rows[:max_lookups]]
    order = np.sort(values)
    low, high = np.searchsorted(order, values, "left"), np.searchsorted(order, values, "right")
    return np.asarray((low + high) / 2 / len(values), dtype=np.float64)
