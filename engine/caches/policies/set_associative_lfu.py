"""Set-associative LFU cache: a row replaces the least used row of its set.

A set has 32 ways. A row that was used less often than the least used row of its set is refused. Each row of the tables has a
count of all its lookups, in the cache or not, which never ages: a row is refused until its count is high enough. Refused rows
are used in their own memory (as in FBGEMM's LFU cache).
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Flags, Ints, Slots
from ...core.jit import entry_kernel, inner_kernel
from ...workload.caching.locked_sets import WAYS
from .. import row_index as index
from ..row_index import NO_SLOT, RowIndex
from .set_associative import set_of, shape

COUNT, WAY = index.POLICY_COLUMN, index.POLICY_COLUMN + 1
UNBOUNDED_ROWS = 2**62  # more rows than any table has: all rows have a count


class CountedSets(NamedTuple):
    """The state of the cache: the slot in `row_index` of each way's row.

    `ways` is by set and way; the slot of an empty way is NO_SLOT. For each row, `row_index` has its COUNT and its WAY.
    """

    ways: Ints
    row_index: RowIndex


def no_rows(rows: int, ways: int = WAYS) -> CountedSets:
    """Return an empty cache for `rows` rows, in sets of `ways` ways."""
    return CountedSets(np.full(shape(rows, ways), NO_SLOT, dtype=np.int64), index.empty_index(UNBOUNDED_ROWS, 2, ()))


def serve_batch(cache: CountedSets, ids: Ints, counts: Ints) -> CountedSets:
    """Serve one batch, fill `counts` with its row moves, and return the cache.

    `row_index` gets more slots if needed.
    """
    cache = cache._replace(row_index=index.ensure_slots(cache.row_index, len(ids)))
    missing_slots = np.empty(len(ids), dtype=np.int64)
    waiting = missing_slots[: _count(*cache.row_index, ids, counts, missing_slots)]
    most_used = waiting[np.argsort(-cache.row_index.cell[waiting, COUNT], kind="stable")]
    _take_in(cache.ways, cache.row_index.cell, most_used, np.zeros(cache.ways.shape, dtype=np.bool_), counts)
    return cache


@entry_kernel
def _count(cell: Ints, bucket: Slots, state: Ints, ids: Ints, counts: Ints, missing_slots: Ints) -> Any:
    """Count a batch's lookups; return how many of its rows are in no way.

    Their slots are written into `missing_slots`.
    """
    state[index.TURN] += 1
    waiting = 0
    for row in ids:
        slot = index.find_slot(cell, bucket, row)
        if slot == NO_SLOT:
            slot = state[index.NUM_FILLED]
            state[index.NUM_FILLED] += 1
            cell[slot, index.ROW], cell[slot, COUNT], cell[slot, WAY] = row, 0, NO_SLOT
            index.link_slot(cell, bucket, slot)
        counts[index.MISSED_LOOKUPS] += cell[slot, WAY] == NO_SLOT
        cell[slot, COUNT] += 1
        if cell[slot, index.LAST_TURN] != state[index.TURN]:
            cell[slot, index.LAST_TURN] = state[index.TURN]
            counts[index.UNIQUE] += 1
            if cell[slot, WAY] == NO_SLOT:
                missing_slots[waiting] = slot
                waiting += 1
    counts[index.MISSES] = waiting
    return waiting


@entry_kernel
def _take_in(ways: Ints, cell: Ints, missing_slots: Ints, newly_filled: Flags, counts: Ints) -> None:
    """Let missing rows replace rows that were used less; `newly_filled` marks the ways that they take."""
    for slot in missing_slots:
        set_index = set_of(cell[slot, index.ROW], len(ways))
        way = _least_used(ways[set_index], newly_filled[set_index], cell)
        if way == NO_SLOT or (ways[set_index, way] != NO_SLOT and cell[ways[set_index, way], COUNT] > cell[slot, COUNT]):
            counts[index.REFUSED] += 1
            counts[index.EVICTED] += 1
            continue
        if ways[set_index, way] != NO_SLOT:
            cell[ways[set_index, way], WAY] = NO_SLOT
            counts[index.EVICTED] += 1
        ways[set_index, way], cell[slot, WAY], newly_filled[set_index, way] = slot, way, True


@inner_kernel
def _least_used(ways: Ints, newly_filled: Flags, cell: Ints) -> Any:
    """Return the first empty way, else the way of the least used row.

    Ways in `newly_filled` are skipped.
    """
    least_count, victim = np.int64(UNBOUNDED_ROWS), NO_SLOT
    for way in range(len(ways)):
        if ways[way] == NO_SLOT:
            return way
        if not newly_filled[way] and cell[ways[way], COUNT] < least_count:
            least_count, victim = cell[ways[way], COUNT], way
    return victim
