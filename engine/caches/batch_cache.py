"""Caches that serve a whole batch at once, by frequency or by looking ahead: who goes follows from the row or the future.

Rows of the batch itself are never pushed out; what does not fit beside them is fetched and sent home again. A frequency-aware
cache relabels rows by falling frequency in the data before it starts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.arrays import Ints
from ..core.hashing import GOLDEN, mix
from ..scenario.scenario import Scenario, per_table
from ..workload.batch import offsets
from ..workload.popularity import cells, popularities

Relabel = Callable[[Ints], Ints]


class CacheMoves(NamedTuple):
    """What a batch did: lookups of rows not held when it began, rows fetched, rows that went home, unique rows.

    Rows `refused` were neither: they had no place in the cache, though they count as fetched and gone.
    """

    missed_lookups: float
    misses: float
    evicted: float
    unique: float
    refused: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class HeldRows:
    """Held rows in rising order, and the number of the batch that `used` each last."""

    rows: Ints
    used: Ints


def most_frequent(rows: int) -> HeldRows:
    """Return a shelf of the first ranks; none for an empty one."""
    return HeldRows(np.arange(rows), np.zeros(rows, dtype=np.int64))


def by_frequency(shelf: HeldRows, capacity: float, ranks: Ints) -> tuple[HeldRows, CacheMoves]:
    """Serve a batch of ranks with a cache of `capacity` rows, of which the rarest goes first."""
    hit, fresh, missed, unique = _find(shelf, ranks)
    spare = np.delete(np.arange(len(shelf.rows)), hit)
    over = max(0, len(shelf.rows) + len(fresh) - int(capacity))
    gone = spare[max(0, len(spare) - over) :]
    left = HeldRows(np.delete(shelf.rows, gone), np.delete(shelf.used, gone))
    return _with(left, fresh[: len(fresh) - (over - len(gone))], 0), CacheMoves(missed, len(fresh), over, unique)


def look_ahead(shelf: HeldRows, batches: int, turn: int, ids: Ints) -> tuple[HeldRows, CacheMoves]:
    """Serve a batch with a cache that knows the next `batches`: a row has stayed if one of the last ones has used it."""
    stays = shelf.used >= turn - batches
    kept = HeldRows(shelf.rows[stays], shelf.used[stays])
    hit, fresh, missed, unique = _find(kept, ids)
    kept.used[hit] = turn
    moves = CacheMoves(missed, len(fresh), len(stays) - int(stays.sum()), unique)
    return _with(kept, fresh, turn), moves


def by_hash(share: float, ids: Ints) -> CacheMoves:
    """Serve a batch where a `share` of all rows, told by a hash of their number, is held and no other comes in."""
    rows, times = np.unique(ids, return_counts=True)
    away = (mix(rows.astype(np.uint64) + GOLDEN) >> np.uint64(11)) * 2.0**-53 >= share
    missing = float(away.sum())
    return CacheMoves(float(times[away].sum()), missing, missing, len(rows), missing)


def _find(shelf: HeldRows, ids: Ints) -> tuple[Ints, Ints, float, int]:
    """Return where the batch's rows are held, those that are not, how many lookups ask for these, and the number of all."""
    rows, times = np.unique(ids, return_counts=True)
    place = np.searchsorted(shelf.rows, rows)
    held = place < len(shelf.rows)
    held[held] = shelf.rows[place[held]] == rows[held]
    return place[held], rows[~held], float(times[~held].sum()), len(rows)


def _with(shelf: HeldRows, rows: Ints, turn: int) -> HeldRows:
    place = np.searchsorted(shelf.rows, rows)
    return HeldRows(np.insert(shelf.rows, place, rows), np.insert(shelf.used, place, turn))


def ranks_by_popularity(s: Scenario) -> Relabel:
    """Return what gives the generator's ids their rank over all tables, 0 for the most popular row.

    Rows of a cell are equally popular and keep their order; what folding adds to a row is too little to move it.
    """
    first, width, p = [], [], []
    for popularity, offset, pooling in zip(popularities(s), offsets(s.model), per_table(s.model, "pooling"), strict=False):
        part = cells(popularity)
        some = np.clip(popularity.rows - part.first, 0, part.width)
        here = some > 0
        first.append(offset + part.first[here])
        width.append(some[here])
        p.append(pooling * part.mass[here] / part.width[here])
    edges, order = np.concatenate(first), np.argsort(-np.concatenate(p), kind="stable")
    sizes = np.concatenate(width)[order]
    rank = np.empty_like(edges)
    rank[order] = np.cumsum(sizes) - sizes

    def relabel(ids: Ints) -> Ints:
        cell = np.searchsorted(edges, ids, side="right") - 1
        ranked: Ints = rank[cell] + ids - edges[cell]
        return ranked

    return relabel


def ranks_by_count(batches: Iterable[Ints]) -> Relabel:
    """Return what gives ids their rank by how often the batches look them up, 0 for the most frequent row."""
    known, times = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for ids in batches:
        rows, more = np.unique(ids, return_counts=True)
        known, index = np.unique(np.concatenate((known, rows)), return_inverse=True)
        times = np.bincount(index, weights=np.concatenate((times, more))).astype(np.int64)
    rank = np.empty_like(known)
    rank[np.argsort(-times, kind="stable")] = np.arange(len(known))

    def relabel(ids: Ints) -> Ints:
        ranked: Ints = rank[np.searchsorted(known, ids)]
        return ranked

    return relabel
