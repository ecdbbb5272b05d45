"""The rows that a cache holds, served a batch at a time: hits, misses, and who goes, by the policy's worth of a row.

Rows of the batch itself are never pushed out; what does not fit beside them is fetched and sent home again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from engine.workload.arrays import Floats, Ints


class Moves(NamedTuple):
    """What a batch did: lookups of rows not held when it began, rows fetched, rows that went home, unique rows."""

    missed_lookups: float
    misses: float
    evicted: float
    unique: float


@dataclass(frozen=True, slots=True, eq=False)
class Shelf:
    """Held rows in rising order, and what each is `worth`: the least goes first."""

    rows: Ints
    worth: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Used:
    """Rows of a batch, how often it looks each up, and what each was worth before (0 if not held)."""

    rows: Ints
    times: Ints
    before: Floats


WORTH: Mapping[str, Callable[[Used], Any]] = {
    "lfu": lambda used: used.before + used.times,
    "frequency": lambda used: -used.rows.astype(np.float64),  # rows are ranks: the rarest goes first
}


def empty() -> Shelf:
    """Return a shelf without rows."""
    return Shelf(np.empty(0, dtype=np.int64), np.empty(0))


def holding_most_frequent(rows: int) -> Shelf:
    """Return a shelf of the first ranks."""
    held = np.arange(rows)
    return Shelf(held, -held.astype(np.float64))


def serve(shelf: Shelf, policy: str, capacity: float, ids: Ints) -> tuple[Shelf, Moves]:
    """Serve a batch with a cache of `capacity` rows, and return it after the batch."""
    used, held, place, unseen = _used(shelf, ids)
    worth = shelf.worth.copy()
    own = WORTH[policy](used)
    worth[place[held]] = own[held]
    free = np.ones(len(shelf.rows), dtype=np.bool_)
    free[place[held]] = False
    spare, fresh = np.flatnonzero(free), np.flatnonzero(~held)
    over = max(0, len(shelf.rows) + len(fresh) - int(capacity))
    going = min(over, len(spare))
    keep = np.ones(len(shelf.rows), dtype=np.bool_)
    if going:
        keep[spare[np.argpartition(worth[spare], going - 1)[:going]]] = False
    fitting = fresh[: len(fresh) - (over - going)]
    after = _with(Shelf(shelf.rows[keep], worth[keep]), used.rows[fitting], own[fitting])
    return after, Moves(unseen, len(fresh), over, len(used.rows))


def look_ahead(shelf: Shelf, batches: int, turn: int, ids: Ints) -> tuple[Shelf, Moves]:
    """Serve a batch with a cache that knows the next `batches`: a row has stayed if one of the last ones has used it."""
    stays = shelf.worth >= turn - batches
    gone = len(stays) - int(stays.sum())
    used, held, place, unseen = _used(kept := Shelf(shelf.rows[stays], shelf.worth[stays]), ids)
    kept.worth[place[held]] = turn
    fresh = used.rows[~held]
    return _with(kept, fresh, np.full(len(fresh), float(turn))), Moves(unseen, len(fresh), gone, len(used.rows))


def _used(shelf: Shelf, ids: Ints) -> tuple[Used, "np.typing.NDArray[np.bool_]", Ints, float]:
    """Return the batch's rows, which of them are held, where, and how many lookups ask for the others."""
    rows, times = np.unique(ids, return_counts=True)
    place = np.searchsorted(shelf.rows, rows)
    held = place < len(shelf.rows)
    held[held] = shelf.rows[place[held]] == rows[held]
    before = np.zeros(len(rows))
    before[held] = shelf.worth[place[held]]
    return Used(rows, times, before), held, place, float(times[~held].sum())


def _with(shelf: Shelf, rows: Ints, worth: Floats) -> Shelf:
    place = np.searchsorted(shelf.rows, rows)
    return Shelf(np.insert(shelf.rows, place, rows), np.insert(shelf.worth, place, worth))
