"""Set-associative by count: in its set of 32 ways a row takes the place of the least used one, unless it was used less itself.

Each row of the tables has a count of all its lookups, held or not, that never ages: a row is refused until it has earned
its place. Refused rows are used where they live (FBGEMM's LFU cache).
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Flags, Ints, Slots
from ...core.jit import entry, inner
from ...workload.caching.locked_sets import WAYS
from .. import row_index as index
from ..row_index import NONE, Held
from .set_associative import set_of, shape

COUNT, WAY = index.OWN, index.OWN + 1
EVERY = 2**62  # rows whose counts are kept: all


class Counted(NamedTuple):
    """The slot in `known` of each way of each set, NONE if empty; `known` has each row's COUNT and the WAY it is held in."""

    ways: Ints
    known: Held


def no_rows(rows: int, ways: int = WAYS) -> Counted:
    """Return an empty cache."""
    return Counted(np.full(shape(rows, ways), NONE, dtype=np.int64), index.empty(EVERY, 2, ()))


def served(cache: Counted, ids: Ints, counts: Ints) -> Counted:
    """Serve one batch, set its counts, and return the cache, grown where it had to."""
    cache = cache._replace(known=index.with_room(cache.known, len(ids)))
    missing = np.empty(len(ids), dtype=np.int64)
    waiting = missing[: _count(*cache.known, ids, counts, missing)]
    most_used = waiting[np.argsort(-cache.known.cell[waiting, COUNT], kind="stable")]
    _take_in(cache.ways, cache.known.cell, most_used, np.zeros(cache.ways.shape, dtype=np.bool_), counts)
    return cache


@entry
def _count(cell: Ints, bucket: Slots, state: Ints, ids: Ints, counts: Ints, missing: Ints) -> Any:
    """Count a batch's lookups; return how many slots of rows in no way were written into `missing`."""
    state[index.TURN] += 1
    waiting = 0
    for row in ids:
        slot = index.find(cell, bucket, row)
        if slot == NONE:
            slot = state[index.FILLED]
            state[index.FILLED] += 1
            cell[slot, index.ROW], cell[slot, COUNT], cell[slot, WAY] = row, 0, NONE
            index.hang(cell, bucket, slot)
        counts[index.MISSED_LOOKUPS] += cell[slot, WAY] == NONE
        cell[slot, COUNT] += 1
        if cell[slot, index.USED] != state[index.TURN]:
            cell[slot, index.USED] = state[index.TURN]
            counts[index.UNIQUE] += 1
            if cell[slot, WAY] == NONE:
                missing[waiting] = slot
                waiting += 1
    counts[index.MISSES] = waiting
    return waiting


@entry
def _take_in(ways: Ints, cell: Ints, missing: Ints, came: Flags, counts: Ints) -> None:
    """Let missing rows have the ways of rows that were used less; `came` marks the ways that they have."""
    for slot in missing:
        own = set_of(cell[slot, index.ROW], len(ways))
        way = _least_used(ways[own], came[own], cell)
        if way == NONE or (ways[own, way] != NONE and cell[ways[own, way], COUNT] > cell[slot, COUNT]):
            counts[index.REFUSED] += 1
            counts[index.EVICTED] += 1
            continue
        if ways[own, way] != NONE:
            cell[ways[own, way], WAY] = NONE
            counts[index.EVICTED] += 1
        ways[own, way], cell[slot, WAY], came[own, way] = slot, way, True


@inner
def _least_used(ways: Ints, came: Flags, cell: Ints) -> Any:
    """Return the way of the least used row, the first empty one if there is any, none of those just filled."""
    least, found = np.int64(EVERY), NONE
    for way in range(len(ways)):
        if ways[way] == NONE:
            return way
        if not came[way] and cell[ways[way], COUNT] < least:
            least, found = cell[ways[way], COUNT], way
    return found
