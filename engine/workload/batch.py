"""A batch of samples, where the rows of each table start, and which rows this batch and the one before it touch.

For the latter each table has two small hash sets, one per batch, taken in turns; their size follows the lookups of a batch,
never the rows of a table nor the length of a run.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Bytes, Index, Ints, Singles
from ..core.figures import count
from ..core.hashing import GOLDEN
from ..core.jit import entry, inner
from ..core.process import demand
from ..scenario.groups import Model
from ..scenario.scenario import per_table

EMPTY = -1
SLOT_NBYTES = 17  # of `rows`, twice, and `again`


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples to train on.

    `dense` is (B, F); `labels` is (B,), each 0 or 1; `ids` is (B * sum of pooling,) and holds global row
    numbers, table by table, sample by sample inside a table, so that a bag is a run of consecutive ids. Of uneven bags,
    `starts` (T * B + 1,) says where each begins, then where the last ends; it is None where each has its table's pooling.
    """

    dense: Singles
    ids: Ints
    labels: Singles
    starts: Ints | None = None


def offsets(model: Model) -> Ints:
    """Return (T+1,) global numbers of each table's first row, then the number of all rows."""
    return _starts(per_table(model, "num_embeddings"))


def bag_layout(model: Model, batch_size: int) -> Ints:
    """Return (T+1,) positions in a batch's `ids` where each table's lookups start, then their number, if bags have their mean."""
    return _starts(per_table(model, "pooling")) * batch_size


def table_ends(ids: Ints, offsets: Ints) -> Ints:
    """Return the same of a batch with its own number of lookups in each table; `offsets` (T+1,) are tables' first rows."""
    return np.searchsorted(ids, offsets).astype(np.int64)  # all ids of a table are below those of the next


def _starts(counts: tuple[int, ...]) -> Ints:
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


@dataclass(frozen=True, slots=True, eq=False)
class Recent:
    """Rows of the latest two batches; `tally` changes the arrays in place. `offsets` (T+1,) are tables' first rows.

    Table t owns slots `start[t]` to `start[t + 1]`, a power of two `2 ** bits[t]`, in both halves of `rows` (2, slots);
    `again` tells which rows of the newer half are in the older one too; `turn` (1,) is the newer half.
    """

    offsets: Ints
    start: Ints
    bits: Ints
    rows: Ints
    again: Bytes
    turn: Ints


def recent(model: Model, batch_size: int, room: Ints | None = None) -> Recent:
    """Return the memory of two batches, with no row in it; `room` (T,) are the most lookups of a batch where these differ."""
    lookups = np.diff(bag_layout(model, batch_size)) if room is None else np.maximum(room, 1)
    most = np.minimum(lookups, per_table(model, "num_embeddings"))
    bits = np.ceil(np.log2(2 * most)).astype(np.int64)
    start = np.concatenate(([0], np.cumsum(2**bits)))
    what = f"Counting the rows of batches of {count(batch_size, 'sample')} with {count(lookups.sum(), 'lookup')}"
    demand(SLOT_NBYTES * start[-1] + lookups.itemsize * lookups.sum(), what, "lower data.batch_size")
    rows = np.full((2, start[-1]), EMPTY, dtype=np.int64)
    return Recent(offsets(model), start, bits, rows, np.zeros(start[-1], dtype=np.uint8), np.zeros(1, dtype=np.int64))


def tally(recent: Recent, ids: Ints) -> Ints:
    """Take the next batch's ids in and return (3, T) its unique rows, those shared with the batch before, and raw lookups."""
    counts = np.zeros((3, len(recent.bits)), dtype=np.int64)
    _tally(ids, table_ends(ids, recent.offsets), recent.start, recent.bits, recent.rows, recent.again, recent.turn, counts)
    return counts


@entry
def _tally(ids: Ints, layout: Ints, start: Ints, bits: Ints, rows: Ints, again: Bytes, turn: Ints, counts: Ints) -> None:
    turn[0] = 1 - turn[0]
    for table in range(len(bits)):
        part = slice(start[table], start[table + 1])
        now, before, met = rows[turn[0], part], rows[1 - turn[0], part], again[part]
        for slot in range(len(now)):
            now[slot] = EMPTY
        shift = np.uint64(64 - bits[table])
        for at in range(layout[table], layout[table + 1]):
            slot = find(now, ids[at], shift)
            if now[slot] == EMPTY:
                now[slot] = ids[at]
                met[slot] = before[find(before, ids[at], shift)] != EMPTY
                counts[0, table] += 1
                counts[1, table] += met[slot]
            counts[2, table] += met[slot]


@inner
def find(rows: Ints, row: Index, shift: Any) -> Any:
    """Return the slot that holds `row`, or the empty one where it belongs."""
    last = np.uint64(len(rows) - 1)
    slot = (np.uint64(row) * GOLDEN) >> shift
    while rows[slot] != row and rows[slot] != EMPTY:
        slot = (slot + np.uint64(1)) & last
    return slot
