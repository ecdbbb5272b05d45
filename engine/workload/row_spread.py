"""Rows of one table spread over parts of a memory: which part has which row, and so what each part is asked for.

No memory knows which rows are popular: a row's part is drawn by a hash of its number, so that all parts have as many rows.
The hottest rows are few and heavy, and the part that the hash gives them is taken as it is; all others spread evenly.
"""

from functools import lru_cache
from threading import Lock
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
FILLING = Lock()  # sessions are threads that share what is kept, and kernels of theirs run beside each other
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
        with FILLING:
            if parts not in self.known:
                if sum(found.size for _, found in self.known.values()) > MOST:
                    self.known.clear()
                self.known[parts] = np.zeros(len(self.laws), dtype=np.bool_), np.empty((len(self.laws), 2, parts))
            done, found = self.known[parts]
            alike: dict[tuple[int, float, float], list[int]] = {}
            for table in tables[~done[tables]].tolist():
                alike.setdefault((id(self.laws[table]), *self.tables[:, table].tolist()), []).append(table)
            for (_, lookups, unique), some in alike.items():
                enter_spread(self.laws[some[0]], lookups, unique, self.locality, self.first, np.array(some), found)
                done[some] = True
        return found


@remembered(most=16)
def spreads(s: Scenario) -> Spreads:
    """Return what a batch asks of each table; it hangs on the workload alone, on no machine."""
    touched, rows = expected(s), per_table(s.model, "num_embeddings")
    tables = np.array([touched.lookups, touched.unique_rows])
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
def spread_hot(first: Ints, tables: Ints, rows: Ints, hot: Floats, rest: Floats, found: Floats) -> None:
    """Enter what each part has of some tables: what its hottest rows are asked for, and an even share of the `rest`, (2,)."""
    parts = found.shape[2]
    for table in tables:
        for which in range(2):
            for part in range(parts):
                found[table, which, part] = 0.0
        for at in range(len(rows)):
            has = np.int64(unit(mix(np.uint64(first[table] + rows[at]) * GOLDEN + SALT)) * parts)
            found[table, 0, has] += hot[0, at]
            found[table, 1, has] += hot[1, at]
        for which in range(2):
            for part in range(parts):
                found[table, which, part] += rest[which] / parts


def enter_spread(
    law: Popularity, lookups: float, unique: float, locality: float, first: Ints, tables: Ints, found: Floats
) -> None:
    """Enter (T, 2, P) the lookups, and the unique rows, that each part is expected to have of the batch of some alike `tables`.

    `first` (T,) are the numbers of all tables' first rows; `lookups` and `unique` are a whole table's.
    """
    rows, hot, (looked, touched) = _asked(law, lookups, locality)
    spread_hot(first, tables, rows, hot, np.array([max(lookups - looked, 0.0), max(unique - touched, 0.0)]), found)


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
