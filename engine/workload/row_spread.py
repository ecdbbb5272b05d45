"""The spread of one table's rows over parts of a memory, such as channels.

The spread gives the lookups and the unique rows of each part. No memory knows which rows are popular: a hash of a row's number
selects the row's part, so that all parts have equally many rows. The hottest rows are few and have many lookups, so their parts
are computed; all other rows are spread evenly. A table can state the lookups of its busiest part instead
(`data.hot_rank_factor`): a few popular rows make them, so unique rows stay as a hash spreads them. With input dedup a part gets
an id once from each GPU, so its lookups are spread as its unique rows are.
"""

from functools import lru_cache
from threading import Lock
from typing import NamedTuple

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Flags, Floats, Index, Ints
from ..core.hashing import GOLDEN, mix, unit
from ..core.jit import entry_kernel
from ..core.memo import memoised
from ..scenario.data import by_table
from ..scenario.scenario import Scenario, per_table
from .accesses import expected_accesses, sent_shares
from .expected import gap_rate, unused_chance
from .popularity import Popularity, popularities, rank_cells
from .spectrum import EXACT_ROWS, row_shares

MAX_KEPT_NUMBERS = 2**21  # numbers of a workload's spreads that are kept
FILL_LOCK = Lock()  # sessions are threads that share the kept spreads, and their kernels run in parallel
HOT_ROWS = 1024  # hottest rows of a table whose parts are computed
SALT = np.uint64(0x5851F42D4C957F2D)  # makes parts independent of how ranks fold into rows


class RowLayout(NamedTuple):
    """How the rows of tables that several parts share are spread, by table.

    hot_rank_factors: the busiest part's lookups over the mean, (T,); 0 for rows that a hash spreads.
    is_deduped: flags of the tables of which a part gets each id once from a GPU, (T,).
    """

    hot_rank_factors: Floats
    is_deduped: Flags

    def spread(self, table: int, hashed: Floats) -> Floats:
        """Return a table's lookups and unique rows by part, (2, P), from hashed ones."""
        factor, (lookups, rows) = float(self.hot_rank_factors[table]), hashed
        if self.is_deduped[table]:
            return np.array([lookups.sum() * rows / rows.sum(), rows]) if rows.any() else hashed
        return np.array([lookups.sum() * hot_rank_shares(factor, len(rows)), rows]) if factor else hashed

    def spreads_by_hash(self, table: int) -> bool:
        """Return whether a hash alone spreads a table's lookups."""
        return not (self.hot_rank_factors[table] or self.is_deduped[table])


def hot_rank_shares(factor: float, parts: int) -> Floats:
    """Return each part's share of a table's lookups, (P,); the first is the busiest."""
    busiest = min(factor, parts) / parts
    return np.array([busiest, *[(1 - busiest) / max(parts - 1, 1)] * (parts - 1)])


def row_layout(s: Scenario) -> RowLayout:
    """Return how the rows of a scenario's tables are spread."""
    return RowLayout(np.array(by_table(s.data, "hot_rank_factor", s.model.num_tables)), sent_shares(s) < 1)


class Spreads(NamedTuple):
    """A batch's accesses by table, and their spread over parts of a memory.

    table_demand: the lookups and the unique rows of each table, (2, T).
    first_rows: the global number of each table's first row, (T,).
    laws: the popularity of each table.
    locality: the probability that a use of a row is soon repeated.
    layout: how the rows are spread.
    spreads_by_parts: results so far, by the number P of parts: flags of the tables that are computed, (T,), and the lookups and
        unique rows of each part, (T, 2, P).
    """

    table_demand: Floats
    first_rows: Ints
    laws: tuple[Popularity, ...]
    locality: float
    layout: RowLayout
    spreads_by_parts: dict[int, tuple[Flags, Floats]]

    def spread_over(self, parts: int, tables: Ints) -> Floats:
        """Return the lookups and unique rows of each of P parts, (T, 2, P).

        Only the given tables are sure to be computed; others may have arbitrary numbers.
        """
        with FILL_LOCK:
            if parts not in self.spreads_by_parts:
                if total(amounts.size for _, amounts in self.spreads_by_parts.values()) > MAX_KEPT_NUMBERS:
                    self.spreads_by_parts.clear()
                self.spreads_by_parts[parts] = np.zeros(len(self.laws), dtype=np.bool_), np.empty((len(self.laws), 2, parts))
            is_entered, part_amounts = self.spreads_by_parts[parts]
            alike_tables: dict[tuple[int, float, float], list[int]] = {}
            for table in tables[~is_entered[tables]].tolist():
                alike_tables.setdefault((id(self.laws[table]), *self.table_demand[:, table].tolist()), []).append(table)
            for (_, lookups, unique), group in alike_tables.items():
                enter_spread(self.laws[group[0]], lookups, unique, self.locality, self.first_rows, np.array(group), part_amounts)
                is_entered[group] = True
                for table in group:
                    if not self.layout.spreads_by_hash(table):
                        part_amounts[table] = self.layout.spread(table, part_amounts[table])
        return part_amounts


@memoised(most=16)
def spreads(s: Scenario) -> Spreads:
    """Return the spreads of a scenario's tables, by the workload and input dedup."""
    accesses, rows = expected_accesses(s), per_table(s.model, "num_embeddings")
    tables = np.array([accesses.lookups, accesses.unique_rows])
    return Spreads(tables, np.cumsum((0, *rows))[:-1], popularities(s), s.data.locality, row_layout(s), {})


@entry_kernel
def fill_row_parts(rows: Ints, parts: Index, row_parts: Ints) -> None:
    """Write the number of each row's part into `row_parts`.

    A hash of the row's global number selects one of `parts` parts.
    """
    for i in range(len(rows)):
        row_parts[i] = np.int64(unit(mix(np.uint64(rows[i]) * GOLDEN + SALT)) * parts)


def part_of(rows: Ints, parts: int) -> Ints:
    """Return the number of each row's part, (n,), from 0 to `parts` - 1.

    `rows` are global row numbers.
    """
    row_parts = np.empty(len(rows), dtype=np.int64)
    fill_row_parts(rows, parts, row_parts)
    return row_parts


@entry_kernel
def spread_hot(first_rows: Ints, tables: Ints, rows: Ints, hot: Floats, rest: Floats, part_amounts: Floats) -> None:
    """Write the lookups and unique rows of each part into `part_amounts`, for some tables.

    A part gets the demand `hot` (2, rows) of the hottest `rows` that it holds, and an even share of the `rest` (2,).
    """
    parts = part_amounts.shape[2]
    for table in tables:
        for kind in range(2):
            for part in range(parts):
                part_amounts[table, kind, part] = 0.0
        for i in range(len(rows)):
            owner = np.int64(unit(mix(np.uint64(first_rows[table] + rows[i]) * GOLDEN + SALT)) * parts)
            part_amounts[table, 0, owner] += hot[0, i]
            part_amounts[table, 1, owner] += hot[1, i]
        for kind in range(2):
            for part in range(parts):
                part_amounts[table, kind, part] += rest[kind] / parts


def enter_spread(
    law: Popularity, lookups: float, unique: float, locality: float, first_rows: Ints, tables: Ints, part_amounts: Floats
) -> None:
    """Write the expected lookups and unique rows of each part into `part_amounts`, (T, 2, P).

    All `tables` have equal popularity and demand: each has `lookups` and `unique` rows. `first_rows` (T,) are
    the global numbers of all tables' first rows.
    """
    rows, hot, (hot_lookups, hot_unique) = _hot_demand(law, lookups, locality)
    spread_hot(
        first_rows, tables, rows, hot, np.array([max(lookups - hot_lookups, 0.0), max(unique - hot_unique, 0.0)]), part_amounts
    )


@lru_cache(maxsize=1024)
def _hot_demand(law: Popularity, lookups: float, locality: float) -> tuple[Ints, Floats, Floats]:
    """Return a table's hottest rows, (2, rows) expected lookups and uses in a batch, and sums."""
    rows, p = _hottest(law)
    hot = np.array([lookups * p, 1 - unused_chance(lookups * gap_rate(p), locality)])
    return rows, hot, np.array([amounts.sum() for amounts in hot])


def counted_spread(ids: Ints, parts: int) -> Floats:
    """Return the lookups and unique rows of each part in one batch, (2, P).

    The numbers are counted from the ids of one table.
    """
    rows, uses = np.unique(ids, return_counts=True)
    row_parts = part_of(rows, parts)
    return np.array([np.bincount(row_parts, weights=weights, minlength=parts) for weights in (uses, np.ones(len(rows)))])


@lru_cache(maxsize=4096)
def _hottest(law: Popularity) -> tuple[Ints, Floats]:
    """Return the numbers of a table's hottest rows inside the table, and each row's share of lookups."""
    if law.rows > EXACT_ROWS:  # a rank is a row there
        law_cells = rank_cells(law)
        hot_cells = law_cells.first_ranks < HOT_ROWS
        widths = law_cells.widths[hot_cells]
        p = np.repeat(law_cells.mass[hot_cells] / widths, np.minimum(widths, HOT_ROWS))[:HOT_ROWS]
        return np.arange(len(p)), p
    p = row_shares(law)
    rows = np.argsort(-p, kind="stable")[:HOT_ROWS]
    return rows, p[rows]
