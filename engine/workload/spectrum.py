"""Popularity spectrum: the rows of a table sorted into classes of equal popularity: all that expected values ever need.

Small tables are folded rank by rank, with the hash that drawing uses; in large ones, what lies beyond the last row is
so thin that every row gets the same of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.hashing import fold
from ..core.jit import entry
from .popularity import Popularity, cells

EXACT_ROWS = 65_536
EXACT_RANKS = 2 * EXACT_ROWS
CLASSES_PER_E = 64


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Classes of rows, hottest first: `rows` of them (a real number) with the share `p` of lookups each.

    `start` are the T positions where each table's classes begin; the shares of a table sum to its weight.
    """

    p: Floats
    rows: Floats
    start: Ints


@lru_cache(maxsize=4096)
def spectrum(popularity: Popularity) -> Spectrum:
    """Return the classes of one table; a class spans at most 1.6 % in popularity and keeps its mass exactly."""
    if popularity.rows > EXACT_ROWS:
        return _classes(*_spread(popularity))
    return _classes(row_shares(popularity), np.ones(popularity.rows))


@lru_cache(maxsize=8)  # one of a thousand unlike tables has 30 MB
def spectra(popularities: tuple[Popularity, ...]) -> Spectrum:
    """Return the classes of several tables, end to end, each summing to 1."""
    parts = [spectrum(popularity) for popularity in popularities]
    start = np.cumsum([0] + [len(part.p) for part in parts[:-1]])
    return Spectrum(np.concatenate([part.p for part in parts]), np.concatenate([part.rows for part in parts]), start)


@lru_cache(maxsize=64)
def id_space(popularities: tuple[Popularity, ...], pooling: tuple[int, ...]) -> Spectrum:
    """Return the classes of all tables' rows as one space, each table weighted by its pooling."""
    parts = [spectrum(popularity) for popularity in popularities]
    share = np.array(pooling) / sum(pooling)
    p = np.concatenate([weight * part.p for weight, part in zip(share, parts, strict=True)])
    return _classes(p, np.concatenate([part.rows for part in parts]))


def head_mass(space: Spectrum, hottest: float | Sequence[float] | Floats) -> Floats:
    """Return the share of lookups that the `hottest` rows of a space take."""
    rows = np.concatenate(([0.0], np.cumsum(space.rows)))
    mass = np.concatenate(([0.0], np.cumsum(space.rows * space.p)))
    return np.interp(np.asarray(hottest, dtype=np.float64), rows, mass)


def row_shares(popularity: Popularity) -> Floats:
    """Return the share of lookups of each row of a table of at most EXACT_ROWS rows."""
    part = cells(popularity)
    p = np.repeat(part.mass / part.width, np.clip(EXACT_RANKS - part.first, 0, part.width))
    row = np.zeros(popularity.rows)
    _fold_ranks(p, row)
    row += (1.0 - row.sum()) / popularity.rows if part.width.sum() > EXACT_RANKS else 0.0
    return row


@entry
def _fold_ranks(p: Floats, row: Floats) -> None:
    for rank in range(len(p)):
        row[rank if rank < len(row) else fold(rank, len(row))] += p[rank]


def _spread(popularity: Popularity) -> tuple[Floats, Floats]:
    part = cells(popularity)
    ranks = np.clip(popularity.rows - part.first, 0, part.width).astype(np.float64)
    p = part.mass / part.width
    beyond = max(0.0, 1.0 - float(p @ ranks)) if part.width.sum() > popularity.rows else 0.0
    untouched = popularity.rows - ranks.sum()
    return np.append(p, 0.0) + beyond / popularity.rows, np.append(ranks, untouched)


def _classes(p: Floats, rows: Floats) -> Spectrum:
    touched = (p > 0) & (rows > 0)
    p, rows = p[touched], rows[touched]
    index = np.floor(-CLASSES_PER_E * np.log(p)).astype(np.int64)
    index -= index.min()
    count, mass = (np.bincount(index, weights=part).astype(np.float64) for part in (rows, rows * p))
    some = count > 0
    return Spectrum(mass[some] / count[some], count[some], np.array([0]))
