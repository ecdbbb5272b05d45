"""Frequency-static: the hottest rows stay for good; all others are fetched for each batch and sent home after it."""

from collections.abc import Sequence

import numpy as np
from numba import njit

from ...core.arrays import Ints
from ...errors import BadInput
from ..eviction import EVICTED, HELD, MISSED_LOOKUPS, MISSES, REFUSED, UNIQUE, is_new
from ..policy import COUNTS, Cache, Moves, Room, moves
from ..row_index import NONE, Held, find, holding


def run(batches: Sequence[Ints], room: Room) -> Moves:
    """Serve batches; a batch of many cold rows never fails, since they need no room to stay."""
    (cell, bucket, _), counts = _hot(room), np.zeros((len(batches), COUNTS), dtype=np.int64)
    for n, ids in enumerate(batches):
        _serve(cell, bucket, ids, counts[n])
    counts[:, HELD] = len(cell) if room.rows > 0 else 0
    return moves(batches, counts)


def singly(ids: Ints, room: Room) -> int:
    """Return how many of the ids are cold."""
    counts = np.zeros(COUNTS, dtype=np.int64)
    _serve(*_hot(room)[:2], ids, counts)
    return int(counts[MISSED_LOOKUPS])


def _hot(room: Room) -> Held:
    if room.hot_first is None:
        raise BadInput("A frequency-static cache must know which rows are hot; give Room.hot_first, rows by falling frequency.")
    return holding(np.asarray(room.hot_first[: max(0, room.rows)], dtype=np.int64))


@njit(cache=True, nogil=True)
def _serve(cell, bucket, ids, counts):  # type: ignore[no-untyped-def]
    seen = np.full(2 * len(ids) + 1, NONE, dtype=np.int64)
    for row in ids:
        cold = find(cell, bucket, row) == NONE
        new = is_new(row, seen)
        counts[MISSED_LOOKUPS] += cold
        counts[UNIQUE] += new
        counts[MISSES] += new and cold
    counts[EVICTED], counts[REFUSED] = counts[MISSES], counts[MISSES]


CACHE = Cache("Frequency-static", "The rows most frequent in the data stay for good; no other row does.", run, singly)
