"""The rows that a cache holds, a batch at a time, where who goes follows from the row itself or from the future.

Rows of the batch itself are never pushed out; what does not fit beside them is fetched and sent home again.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Ints


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


class BatchHits(NamedTuple):
    """A batch's rows, which of them are held and where, and how many lookups ask for the others."""

    rows: Ints
    held: NDArray[np.bool_]
    place: Ints
    missed_lookups: float


def most_frequent(rows: int) -> HeldRows:
    """Return a shelf of the first ranks; none for an empty one."""
    return HeldRows(np.arange(rows), np.zeros(rows, dtype=np.int64))


def by_frequency(shelf: HeldRows, capacity: float, ranks: Ints) -> tuple[HeldRows, CacheMoves]:
    """Serve a batch of ranks with a cache of `capacity` rows, of which the rarest goes first."""
    found = _find(shelf, ranks)
    free = np.ones(len(shelf.rows), dtype=np.bool_)
    free[found.place[found.held]] = False
    spare, fresh = np.flatnonzero(free), found.rows[~found.held]
    over = max(0, len(shelf.rows) + len(fresh) - int(capacity))
    going = min(over, len(spare))
    keep = np.ones(len(shelf.rows), dtype=np.bool_)
    keep[spare[len(spare) - going :]] = False
    after = _with(HeldRows(shelf.rows[keep], shelf.used[keep]), fresh[: len(fresh) - (over - going)], 0)
    return after, CacheMoves(found.missed_lookups, len(fresh), over, len(found.rows))


def look_ahead(shelf: HeldRows, batches: int, turn: int, ids: Ints) -> tuple[HeldRows, CacheMoves]:
    """Serve a batch with a cache that knows the next `batches`: a row has stayed if one of the last ones has used it."""
    stays = shelf.used >= turn - batches
    kept = HeldRows(shelf.rows[stays], shelf.used[stays])
    found = _find(kept, ids)
    kept.used[found.place[found.held]] = turn
    fresh = found.rows[~found.held]
    moves = CacheMoves(found.missed_lookups, len(fresh), len(stays) - int(stays.sum()), len(found.rows))
    return _with(kept, fresh, turn), moves


def _find(shelf: HeldRows, ids: Ints) -> BatchHits:
    rows, times = np.unique(ids, return_counts=True)
    place = np.searchsorted(shelf.rows, rows)
    held = place < len(shelf.rows)
    held[held] = shelf.rows[place[held]] == rows[held]
    return BatchHits(rows, held, place, float(times[~held].sum()))


def _with(shelf: HeldRows, rows: Ints, turn: int) -> HeldRows:
    place = np.searchsorted(shelf.rows, rows)
    return HeldRows(np.insert(shelf.rows, place, rows), np.insert(shelf.used, place, turn))
