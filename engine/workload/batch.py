"""A batch of samples, and counts of its rows that the previous batch used too.

To find these shared rows, each table has two small hash sets, one for each of the last two batches. Their size depends on the
lookups of a batch, not on the rows of a table or the length of a run.
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
    """The samples of one batch.

    dense: the dense features, (B, F).
    ids: the global row numbers of all lookups, table by table, and sample by sample within a table; a bag is consecutive ids.
    labels: the labels, 0 or 1, (B,).
    starts: the positions in `ids` where bags begin, then the end of the last bag, (T * B + 1,); None if all bags of a table have
        its pooling factor as length.
    """

    dense: Singles
    ids: Ints
    labels: Singles
    starts: Ints | None = None


def offsets(model: Model) -> Ints:
    """Return each table's first global row, then the number of all rows, (T+1,)."""
    return _starts(per_table(model, "num_embeddings"))


def bag_layout(model: Model, batch_size: int) -> Ints:
    """Return the position in a batch's ids of each table's first lookup, (T+1,).

    The last item is the number of lookups. All bags have their table's mean length.
    """
    return _starts(per_table(model, "pooling")) * batch_size


def table_ends(ids: Ints, offsets: Ints) -> Ints:
    """Return the position in `ids` of each table's first lookup, then the end, (T+1,).

    `offsets` (T+1,) are the global numbers of the tables' first rows.
    """
    return np.searchsorted(ids, offsets).astype(np.int64)  # all ids of a table are below those of the next


def _starts(counts: tuple[int, ...]) -> Ints:
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


@dataclass(frozen=True, slots=True, eq=False)
class RecentRows:
    """Hash sets of the rows that the last two batches used.

    `tally_batch` changes the arrays in place.

    first_rows: the global number of each table's first row, (T+1,).
    start: the first slot of each table in a hash set, (T+1,).
    bits: the binary logarithm of each table's number of slots, (T,).
    rows: the rows of the two batches, (2, slots); EMPTY_SLOT in a free slot.
    in_both: 1 if the newer batch's row was used by the older batch too, (slots,).
    turn: which half of `rows` has the newer batch, (1,).
    """

    first_rows: Ints
    start: Ints
    bits: Ints
    rows: Ints
    in_both: Bytes
    turn: Ints


def recent(model: Model, batch_size: int, room: Ints | None = None) -> RecentRows:
    """Return empty hash sets for the rows of two batches.

    `room` has the largest number of lookups of a batch in each table, (T,), if batches differ.
    """
    lookups = np.diff(bag_layout(model, batch_size)) if room is None else np.maximum(room, 1)
    max_rows = np.minimum(lookups, per_table(model, "num_embeddings"))
    bits = np.ceil(np.log2(2 * max_rows)).astype(np.int64)
    start = np.concatenate(([0], np.cumsum(2**bits)))
    purpose = f"Counting the rows of batches of {count(batch_size, 'sample')} with {count(lookups.sum(), 'lookup')}"
    ids_nbytes = 2 * lookups.itemsize * lookups.sum()  # a batch is drawn while the last one is still kept
    require_memory(SLOT_NBYTES * start[-1] + ids_nbytes, purpose, "lower data.batch_size")
    rows = np.full((2, start[-1]), EMPTY_SLOT, dtype=np.int64)
    return RecentRows(offsets(model), start, bits, rows, np.zeros(start[-1], dtype=np.uint8), np.zeros(1, dtype=np.int64))


def tally_batch(recent: RecentRows, ids: Ints) -> Ints:
    """Enter the ids of the next batch; return its counts by table, (3, T).

    The counts are unique rows, shared rows and raw lookups. A shared row was used by the previous batch too; a raw lookup is a
    lookup of a shared row (it reads the row after the previous batch has written it).
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
