"""The spectrum of a popularity: a table's rows in classes of equal popularity.

All expected values are computed from it. In small tables, ranks beyond the rows are folded one by one, with the hash that drawing
uses. In large tables these ranks have so few lookups that each row gets the same share of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Floats, Ints
from ..core.hashing import fold
from ..core.jit import entry_kernel
from ..scenario.scenario import Scenario
from .popularity import Popularity, rank_cells, table_kinds

EXACT_ROWS = 65_536
EXACT_RANKS = 2 * EXACT_ROWS
CLASSES_PER_E = 64


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Classes of rows of equal popularity, the hottest first.

    p: the share of lookups of each row of a class.
    rows: the number of rows of each class, a real number.
    start: the first class of each of T tables; the shares of a table sum to its weight.
    """

    p: Floats
    rows: Floats
    start: Ints


@lru_cache(maxsize=4096)
def spectrum(popularity: Popularity) -> Spectrum:
    """Return the classes of one table.

    The popularities of a class differ by at most 1.6 %, and its share of lookups is exact.
    """
    if popularity.rows > EXACT_ROWS:
        return _classes(*_spread(popularity))
    return _classes(row_shares(popularity), np.ones(popularity.rows))


@lru_cache(maxsize=8)  # a spectrum of a thousand unlike tables has 30 MB
def table_spectra(popularities: tuple[Popularity, ...]) -> Spectrum:
    """Return the classes of several tables, one after the other.

    The shares of lookups of each table sum to 1.
    """
    parts = [spectrum(popularity) for popularity in popularities]
    start = np.cumsum([0] + [len(part.p) for part in parts[:-1]])
    return Spectrum(np.concatenate([part.p for part in parts]), np.concatenate([part.rows for part in parts]), start)


def id_space(s: Scenario, tables: Sequence[int] | None = None) -> Spectrum:
    """Return the classes of the rows of several tables together, weighted by pooling.

    `tables` are the tables; None for all tables.
    """
    kinds = table_kinds(s)
    count = kinds.table_counts if tables is None else np.bincount(kinds.kind_of_table[list(tables)], minlength=len(kinds.laws))
    return _id_space(kinds.laws, kinds.pooling, tuple(count.tolist()))


@lru_cache(maxsize=64)
def _id_space(laws: tuple[Popularity, ...], pooling: tuple[int, ...], count: tuple[int, ...]) -> Spectrum:
    present = [(spectrum(law), bags, tables) for law, bags, tables in zip(laws, pooling, count, strict=True) if tables]
    all_lookups = total(bags * tables for _, bags, tables in present)
    p = np.concatenate([bags / all_lookups * part.p for part, bags, _ in present])
    return _classes(p, np.concatenate([tables * part.rows for part, _, tables in present]))


def head_mass(space: Spectrum, hottest: float | Sequence[float] | Floats) -> Floats:
    """Return the share of lookups that go to the `hottest` rows of a spectrum."""
    rows = np.concatenate(([0.0], np.cumsum(space.rows)))
    mass = np.concatenate(([0.0], np.cumsum(space.rows * space.p)))
    return np.interp(np.asarray(hottest, dtype=np.float64), rows, mass)


def row_shares(popularity: Popularity) -> Floats:
    """Return each row's share of lookups, for at most EXACT_ROWS rows."""
    part = rank_cells(popularity)
    p = np.repeat(part.mass / part.widths, np.clip(EXACT_RANKS - part.first_ranks, 0, part.widths))
    row = np.zeros(popularity.rows)
    _fold_ranks(p, row)
    row += (1.0 - row.sum()) / popularity.rows if part.widths.sum() > EXACT_RANKS else 0.0
    return row


@entry_kernel
def _fold_ranks(p: Floats, row: Floats) -> None:
    for rank in range(len(p)):
        row[rank if rank < len(row) else fold(rank, len(row))] += p[rank]


def _spread(popularity: Popularity) -> tuple[Floats, Floats]:
    part = rank_cells(popularity)
    ranks = np.clip(popularity.rows - part.first_ranks, 0, part.widths).astype(np.float64)
    p = part.mass / part.widths
    beyond_share = max(0.0, 1.0 - float(p @ ranks)) if part.widths.sum() > popularity.rows else 0.0
    untouched = popularity.rows - ranks.sum()
    return np.append(p, 0.0) + beyond_share / popularity.rows, np.append(ranks, untouched)


def _classes(p: Floats, rows: Floats) -> Spectrum:
    is_used = (p > 0) & (rows > 0)
    p, rows = p[is_used], rows[is_used]
    index = np.floor(-CLASSES_PER_E * np.log(p)).astype(np.int64)
    index -= index.min()
    count, mass = (np.bincount(index, weights=part).astype(np.float64) for part in (rows, rows * p))
    is_present = count > 0
    return Spectrum(mass[is_present] / count[is_present], count[is_present], np.array([0]))
