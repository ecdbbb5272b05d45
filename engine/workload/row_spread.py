"""Rows of one table spread over parts of a memory: which part has which row, and so what each part is asked for.

No memory knows which rows are popular: a row's part is drawn by a hash of its number, so that all parts have as many rows.
The hottest rows are few and heavy, and the part that the hash gives them is taken as it is; all others spread evenly.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..core.arrays import Flags, Floats, Index, Ints
from ..core.hashing import GOLDEN, mix, unit
from ..core.jit import entry
from ..core.memo import remembered
from ..scenario.scenario import Scenario, per_table
from .accesses import expected
from .expected import gap_rate, unused
from .popularity import Popularity, cells, popularities
from .spectrum import EXACT_ROWS, row_shares

MOST = 2**21  # numbers that are kept of how a workload's tables spread
HOT = 1024  # rows of a table whose part is looked at
SALT = np.uint64(0x5851F42D4C957F2D)  # so that parts do not hang on how ranks fold into rows


class Spreads(NamedTuple):
    """What a batch asks of each table, (2, T) lookups and unique rows, and how that spreads over parts, as far as was asked for.

    `first` are the numbers of the tables' first rows, `known` by number of parts which tables are, and their (T, 2, P).
    """

    tables: Floats
    first: Ints
    laws: tuple[Popularity, ...]
    locality: float
    known: dict[int, tuple[Flags, Floats]]

    def over(self, parts: int, tables: Ints) -> Floats:
        """Return what each of `parts` has of each table, (T, 2, P), right for these tables at least."""
        if parts not in self.known:
            if sum(found.size for _, found in self.known.values()) > MOST:
                self.known.clear()
            self.known[parts] = np.zeros(len(self.laws), dtype=np.bool_), np.empty((len(self.laws), 2, parts))
        done, found = self.known[parts]
        for table in tables[~done[tables]].tolist():
            lookups, unique = self.tables[:, table].tolist()
            expected_spread(self.laws[table], int(self.first[table]), lookups, unique, self.locality, found[table])
            done[table] = True
        return found


@remembered(most=16)
def spreads(s: Scenario) -> Spreads:
    """Return what a batch asks of each table; it hangs on the workload alone, on no machine."""
    touched, rows = expected(s), per_table(s.model, "num_embeddings")
    tables = np.array([touched.lookups, touched.unique_rows[0]])
    return Spreads(tables, np.cumsum((0, *rows))[:-1], popularities(s), s.data.locality, {})


@entry
def parts_of(rows: Ints, parts: Index, found: Ints) -> None:
    """Enter the part, of `parts`, that has each row, by the row's number over all tables."""
    for at in range(len(rows)):
        found[at] = np.int64(unit(mix(np.uint64(rows[at]) * GOLDEN + SALT)) * parts)


def part_of(rows: Ints, parts: int) -> Ints:
    """Return which of `parts` has each row, (n,), by the rows' numbers over all tables."""
    found = np.empty(len(rows), dtype=np.int64)
    parts_of(rows, parts, found)
    return found


@entry
def hot_spread(first: Index, rows: Ints, hot: Floats, found: Floats) -> None:
    """Add to each part what the hottest rows that it has are asked for."""
    for at in range(len(rows)):
        part = np.int64(unit(mix(np.uint64(first + rows[at]) * GOLDEN + SALT)) * found.shape[1])
        found[0, part] += hot[0, at]
        found[1, part] += hot[1, at]


def expected_spread(law: Popularity, first: int, lookups: float, unique: float, locality: float, found: Floats) -> None:
    """Enter (2, parts) the lookups, and the unique rows, that each part is expected to have of a table's batch.

    `first` is the number of the table's first row; `lookups` and `unique` are the whole table's.
    """
    rows, hot, (looked, touched) = _asked(law, lookups, locality)
    found[:] = 0.0
    hot_spread(first, rows, hot, found)
    found[0] += max(lookups - looked, 0.0) / found.shape[1]
    found[1] += max(unique - touched, 0.0) / found.shape[1]


@lru_cache(maxsize=1024)
def _asked(law: Popularity, lookups: float, locality: float) -> tuple[Ints, Floats, Floats]:
    """Return a table's hottest rows, the lookups and uses expected of each in a batch, (2, rows), and of all, (2,)."""
    rows, p = _hottest(law)
    hot = np.array([lookups * p, 1 - unused(lookups * gap_rate(p), locality)])
    return rows, hot, np.array([one.sum() for one in hot])


def counted_spread(ids: Ints, parts: int) -> Floats:
    """Return the same, counted from the ids of a table's lookups in one batch."""
    rows, uses = np.unique(ids, return_counts=True)
    where = part_of(rows, parts)
    return np.array([np.bincount(where, weights=weights, minlength=parts) for weights in (uses, np.ones(len(rows)))])


@lru_cache(maxsize=4096)
def _hottest(law: Popularity) -> tuple[Ints, Floats]:
    """Return the numbers in their table of its hottest rows, and the share of lookups of each."""
    if law.rows > EXACT_ROWS:  # a rank is a row there
        found = cells(law)
        some = found.first < HOT
        p = np.repeat((found.mass / found.width)[some], np.minimum(found.width[some], HOT))[:HOT]
        return np.arange(len(p)), p
    p = row_shares(law)
    rows = np.argsort(-p, kind="stable")[:HOT]
    return rows, p[rows]
