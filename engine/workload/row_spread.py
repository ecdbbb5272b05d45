"""Rows of one table spread over parts of a memory: which part has which row, and so what each part is asked for.

No memory knows which rows are popular: a row's part is drawn by a hash of its number, so that all parts have as many rows.
The hottest rows are few and heavy, and the part that the hash gives them is taken as it is; all others spread evenly.
"""

from functools import lru_cache

import numpy as np

from ..core.arrays import Floats, Index, Ints
from ..core.hashing import GOLDEN, mix, unit
from ..core.jit import entry
from .expected import gap_rate, unused
from .popularity import Popularity, cells
from .spectrum import EXACT_ROWS, row_shares

HOT = 1024  # rows of a table whose part is looked at
SALT = np.uint64(0x5851F42D4C957F2D)  # so that parts do not hang on how ranks fold into rows


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


def expected_spread(law: Popularity, first: int, lookups: float, unique: float, locality: float, parts: int) -> Floats:
    """Return (2, parts) the lookups, and the unique rows, that each part is expected to have of a table's batch.

    `first` is the number of the table's first row; `lookups` and `unique` are the whole table's.
    """
    rows, p = _hottest(law)
    where = part_of(first + rows, parts)
    touched = 1 - unused(lookups * gap_rate(p), locality)
    found = np.empty((2, parts))
    for row, (whole, hot) in enumerate(((lookups, lookups * p), (unique, touched))):
        found[row] = np.bincount(where, weights=hot, minlength=parts) + max(whole - hot.sum(), 0.0) / parts
    return found


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
