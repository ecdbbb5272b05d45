"""Ids with temporal locality: the use of a row is often soon repeated.

With probability c (the locality), a use is followed by a repeat after an exponential number of the table's lookups; its mean is a
fifth of the row's mean gap between uses. A lookup takes the earliest repeat whose time has come, else it draws a fresh row. Fresh
rows are drawn less often by exactly the repeats that earlier batches supply, so that each row keeps its popularity from the first
batch on.
"""

from collections import OrderedDict
from threading import Lock
from typing import Any

import numpy as np

from ..core.arrays import Floats, Index, Ints, Slots
from ..core.hashing import GOLDEN, Purpose, fold, key, mix, unit
from ..core.jit import entry_kernel, inner_kernel
from .expected import REUSE_CLOSENESS
from .generator import Prepared, drawn_layout, prepare, slide_histories
from .popularity import rank_cells
from .sampling import Recipe, draw_rank

MAX_KEPT_NBYTES = 64 * 2**20
Tables = tuple[Floats, Slots, Ints, Ints]  # keep, alias, first rank and width of the law's cells
Shares = tuple[Floats, float, float, float]  # shares of rows in cells of one rank; scale, s and shift of all other rows
Folded = tuple[int, int, float]  # rows of the table, the first row's number, each row's share from ranks beyond the end
Queue = tuple[Floats, Ints, int]  # due times of repeats, their rows, the number of waiting repeats


class LocalityStream:
    """Batches of ids with locality, which are made in order.

    Each batch depends on the batches before it. The stream keeps the latest batches, and begins again at batch 0 for an earlier
    batch. The ids of a batch depend only on its number.
    """

    def __init__(self, recipe: Recipe, batch_size: int, locality: float, samples_per_user: float = 1.0) -> None:
        self.made_of = (recipe, batch_size, locality, samples_per_user)
        self._laws = [locality_law(prepare(recipe), table) for table in range(len(recipe.pooling))]
        self._lock = Lock()
        self._start()

    def __reduce__(self) -> Any:
        return LocalityStream, self.made_of

    def ids(self, n: int) -> Ints:
        """Return the ids of batch n.

        If an earlier batch is asked for that is not kept, all batches up to n are made again.
        """
        with self._lock:
            if n < self._next_batch and n not in self._recent:
                self._start()
            while n >= self._next_batch:
                self._advance()
            return self._recent[n].copy()

    def _start(self) -> None:
        tables = len(self.made_of[0].pooling)
        self._next_batch = 0
        self._recent: OrderedDict[int, Ints] = OrderedDict()
        self._queues: list[Queue] = [(np.empty(0), np.empty(0, dtype=np.int64), 0)] * tables

    def _advance(self) -> None:
        recipe, batch_size, locality, samples_per_user = self.made_of
        prepared = prepare(recipe)
        layout = drawn_layout(prepared, self._next_batch, batch_size, samples_per_user)
        ids = np.empty(layout[-1], dtype=np.int64)
        word = key(recipe.seed, Purpose.IDS, self._next_batch)
        for table in range(len(recipe.pooling)):
            part = ids[layout[table] : layout[table + 1]]
            queue = _with_room(*self._queues[table], len(part))
            seed = mix(np.uint64(table + 1)) ^ word
            elapsed_lookups = float(self._next_batch * len(part))
            self._queues[table] = *queue[:2], int(fill_ids(seed, elapsed_lookups, locality, *self._laws[table], queue, part))
        ids = self._recent[self._next_batch] = slide_histories(prepared, self._next_batch, batch_size, samples_per_user, ids)
        self._next_batch += 1
        while len(self._recent) * ids.nbytes > MAX_KEPT_NBYTES and len(self._recent) > 1:
            self._recent.popitem(last=False)


def _with_room(due: Floats, row: Ints, waiting: int, new_repeats: int) -> Queue:
    """Return a queue with room for `new_repeats` more repeats."""
    if (capacity := waiting + new_repeats) > len(due):
        return np.concatenate((due, np.empty(capacity))), np.concatenate((row, np.empty(capacity, dtype=np.int64))), waiting
    return due, row, waiting


def locality_law(prepared: Prepared, table: int) -> tuple[Any, Any, Any]:
    """Return (cells, shares, folding) of one table as the kernels take them.

    The cells are the alias table, the shares give each row's share of lookups, and the folding maps ranks beyond the rows.
    """
    popularity, sampler = prepared.recipe.popularities[table], prepared.sampler
    part = rank_cells(popularity)
    low, high = sampler.start[sampler.law[table]], sampler.start[sampler.law[table] + 1]
    tables = (sampler.keep[low:high], sampler.alias[low:high], sampler.first_ranks[low:high], sampler.widths[low:high])
    inside_ranks = np.clip(popularity.rows - part.first_ranks, 0, part.widths)
    beyond_share = float((part.mass * (1 - inside_ranks / part.widths)).sum())  # no product: its last bit is the processor's
    shares = (part.mass[: part.num_single_cells], part.scale, popularity.s, popularity.q - len(popularity.heavy) + 1)
    return tables, shares, (popularity.rows, int(prepared.first_rows[table]), beyond_share / popularity.rows)


@entry_kernel
def fill_ids(
    word: np.uint64,
    elapsed_lookups: float,
    locality: float,
    tables: Tables,
    shares: Shares,
    folded: Folded,
    queue: Queue,
    ids: Ints,
) -> int:
    """Write the ids of one table's consecutive lookups into `ids`.

    Return the number of repeats that wait in the queue.
    """
    offset = folded[1]
    due, waiting_row, waiting = queue
    for slot in range(len(ids)):
        elapsed_lookups += 1.0
        if waiting > 0 and due[0] <= elapsed_lookups:
            row = waiting_row[0]
            waiting = pop_repeat(due, waiting_row, waiting)
        else:
            row, word = draw_fresh_row(word, elapsed_lookups, locality, tables, shares, folded)
        ids[slot] = offset + row
        word += GOLDEN
        if unit(mix(word)) < locality:
            word += GOLDEN
            wait = -np.log(1.0 - unit(mix(word))) / (REUSE_CLOSENESS * row_share(row, shares, folded))
            waiting = push_repeat(due, waiting_row, waiting, elapsed_lookups + wait, row)
    return waiting


@inner_kernel
def draw_fresh_row(
    word: np.uint64, elapsed_lookups: float, locality: float, tables: Tables, shares: Shares, folded: Folded
) -> tuple[int, np.uint64]:
    """Draw a row by popularity, less often by the repeats that earlier lookups supply.

    Return (row, the random stream's next word).
    """
    keep, alias, first_ranks, width = tables
    rows = folded[0]
    while True:
        word += GOLDEN
        row = draw_rank(mix(word), np.uint64(0), len(keep), keep, alias, first_ranks, width)
        if row >= rows:
            row = fold(row, rows)
        word += GOLDEN
        chance = unit(mix(word))
        if chance < 1.0 - locality:
            return row, word
        if chance < 1.0 - locality + locality * np.exp(-REUSE_CLOSENESS * elapsed_lookups * row_share(row, shares, folded)):
            return row, word


@inner_kernel
def row_share(row: Index, shares: Shares, folded: Folded) -> Any:
    """Return the share of a table's lookups that go to a row.

    Ranks that are folded onto the row are included.
    """
    single_shares, scale, s, shift = shares
    if row < len(single_shares):
        return single_shares[row] + folded[2]
    return scale * (row + shift) ** -s + folded[2]


@entry_kernel
def row_shares_of(rows: Ints, shares: Shares, folded: Folded) -> Floats:
    """Return the share of a table's lookups that go to each of the given rows."""
    lookup_shares = np.empty(len(rows))
    for number, row in enumerate(rows):
        lookup_shares[number] = row_share(row, shares, folded)
    return lookup_shares


@entry_kernel
def push_repeat(due: Floats, rows: Ints, size: int, due_time: float, due_row: Index) -> int:
    """Insert a repeat into the binary heap of repeats; return the heap's new size."""
    position = size
    while position > 0 and due[(position - 1) // 2] > due_time:
        due[position], rows[position] = due[(position - 1) // 2], rows[(position - 1) // 2]
        position = (position - 1) // 2
    due[position], rows[position] = due_time, due_row
    return size + 1


@entry_kernel
def pop_repeat(due: Floats, rows: Ints, size: int) -> int:
    """Remove the earliest repeat from the binary heap; return the heap's new size."""
    size -= 1
    due_time, due_row = due[size], rows[size]
    position, child = 0, 1
    while child < size:
        if child + 1 < size and due[child + 1] < due[child]:
            child += 1
        if due[child] >= due_time:
            break
        due[position], rows[position] = due[child], rows[child]
        position, child = child, 2 * child + 1
    due[position], rows[position] = due_time, due_row
    return size
