"""A batch of samples, its tables' first rows, and rows shared with the last.

To find shared rows each table has two small hash sets, one per batch, used in turns; their size follows the lookups of a batch,
never the rows of a table nor the length of a run.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Bytes, Index, Ints, Singles
from ..core.figures import count
from ..core.hashing import GOLDEN
from ..core.jit import entry_kernel, inner_kernel
from ..core.process import require_memory
from ..scenario.groups import Model
from ..scenario.scenario import per_table

EMPTY_SLOT = -1
SLOT_NBYTES = 17  # two slots of `rows` and one of `again`


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples of one batch.

    dense: (B, F) dense features.
    ids: (B * sum of pooling,) global row numbers, table by table, sample by sample inside a table: a bag is consecutive ids.
    labels: (B,) labels, 0 or 1.
    starts: (T * B + 1,) positions where uneven bags begin, then the end of the last; None where each has its table's pooling.
    """

    dense: Singles
    ids: Ints
    labels: Singles
    starts: Ints | None = None


def offsets(model: Model) -> Ints:
    """Return (T+1,) global numbers of each table's first row, then the number of all rows."""
    return _starts(per_table(model, "num_embeddings"))


def bag_layout(model: Model, batch_size: int) -> Ints:
    """Return (T+1,) positions in a batch's `ids` where each table's lookups start, then their number.

    All bags have their table's mean length.
    """
    return _starts(per_table(model, "pooling")) * batch_size


def table_ends(ids: Ints, offsets: Ints) -> Ints:
    """Return (T+1,) positions in `ids` where each table's lookups start.

    `offsets` (T+1,) are tables' first rows.
    """
    return np.searchsorted(ids, offsets).astype(np.int64)  # all ids of a table are below those of the next


def _starts(counts: tuple[int, ...]) -> Ints:
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


@dataclass(frozen=True, slots=True, eq=False)
class RecentRows:
    """Hash sets of the rows of the latest two batches.

    `tally` changes the arrays in place.

    first_rows: (T+1,) tables' first rows.
    start: (T+1,) first slot of each table in both halves.
    bits: (T,) binary logarithm of each table's slots.
    rows: (2, slots) rows of the two batches, EMPTY in a free slot.
    in_both: (slots,) 1 where the row of the newer half is in the older half too.
    turn: (1,) number of the newer half.
    """

    first_rows: Ints
    start: Ints
    bits: Ints
    rows: Ints
    in_both: Bytes
    turn: Ints


def recent(model: Model, batch_size: int, room: Ints | None = None) -> RecentRows:
    """Return empty hash sets for two batches.

    `room` (T,) are the largest lookups of a batch by table, where batches differ.
    """
    lookups = np.diff(bag_layout(model, batch_size)) if room is None else np.maximum(room, 1)
    max_rows = np.minimum(lookups, per_table(model, "num_embeddings"))
    bits = np.ceil(np.log2(2 * max_rows)).astype(np.int64)
    start = np.concatenate(([0], np.cumsum(2**bits)))
    purpose = f"Counting the rows of batches of {count(batch_size, 'sample')} with {count(lookups.sum(), 'lookup')}"
    require_memory(SLOT_NBYTES * start[-1] + lookups.itemsize * lookups.sum(), purpose, "lower data.batch_size")
    rows = np.full((2, start[-1]), EMPTY_SLOT, dtype=np.int64)
    return RecentRows(offsets(model), start, bits, rows, np.zeros(start[-1], dtype=np.uint8), np.zeros(1, dtype=np.int64))


def tally_batch(recent: RecentRows, ids: Ints) -> Ints:
    """Enter the next batch's ids, and return (3, T) its counts.

    They are unique rows, shared rows and raw lookups.
    Shared rows are in the batch before too; raw lookups meet such rows.
    """
    counts = np.zeros((3, len(recent.bits)), dtype=np.int64)
    _tally(ids, table_ends(ids, recent.first_rows), recent.start, recent.bits, recent.rows, recent.in_both, recent.turn, counts)
    return counts


@entry_kernel
def _tally(ids: Ints, layout: Ints, start: Ints, bits: Ints, rows: Ints, in_both: Bytes, turn: Ints, counts: Ints) -> None:
    turn[0] = 1 - turn[0]
    for table in range(len(bits)):
        part = slice(start[table], start[table + 1])
        newer, older, repeated = rows[turn[0], part], rows[1 - turn[0], part], in_both[part]
        for slot in range(len(newer)):
            newer[slot] = EMPTY_SLOT
        shift = np.uint64(64 - bits[table])
        for position in range(layout[table], layout[table + 1]):
            slot = find_slot(newer, ids[position], shift)
            if newer[slot] == EMPTY_SLOT:
                newer[slot] = ids[position]
                repeated[slot] = older[find_slot(older, ids[position], shift)] != EMPTY_SLOT
                counts[0, table] += 1
                counts[1, table] += repeated[slot]
            counts[2, table] += repeated[slot]


@inner_kernel
def find_slot(rows: Ints, row: Index, shift: Any) -> Any:
    """Return the slot that holds `row`, or the empty slot where the row belongs."""
    mask = np.uint64(len(rows) - 1)
    slot = (np.uint64(row) * GOLDEN) >> shift
    while rows[slot] != row and rows[slot] != EMPTY_SLOT:
        slot = (slot + np.uint64(1)) & mask
    return slot
