"""Ids with temporal locality: a row's use is followed, with chance c, by another one soon after.

"Soon" is an exponential number of the table's lookups with a fifth of the row's mean gap as its mean. A slot takes the
earliest repeat whose time has come, else a fresh row. Fresh rows are thinned by exactly the repeats that the run's past
already supplies, so that each row keeps its popularity from the first batch on.
"""

from collections import OrderedDict
from threading import Lock
from typing import Any

import numpy as np

from ..core.arrays import Floats, Index, Ints, Slots
from ..core.hashing import GOLDEN, Purpose, fold, key, mix, unit
from ..core.jit import entry, inner
from .expected import CLOSENESS
from .generator import Prepared, prepare
from .popularity import cells
from .sampling import Recipe, draw_rank

REMEMBERED = 64 * 2**20
Tables = tuple[Floats, Slots, Ints, Ints]  # keep, alias, first and width of the law's cells
Shares = tuple[Floats, float, float, float]  # of the rows alone; scale, s and shift of the others
Folded = tuple[int, int, float]  # rows of the table, its offset, the share that each row has from beyond the end
Queue = tuple[Floats, Ints, int]  # when repeats are due, of which row, how many wait


class UseStream:
    """Batches of ids in which each depends on those before, so they are made in order.

    It remembers the latest batches and starts over for earlier ones; what it returns depends on the number alone.
    """

    def __init__(self, recipe: Recipe, batch_size: int, locality: float) -> None:
        self.made_of = (recipe, batch_size, locality)
        self._laws = [law(prepare(recipe), table) for table in range(len(recipe.pooling))]
        self._lock = Lock()
        self._start()

    def __reduce__(self) -> Any:
        return UseStream, self.made_of

    def ids(self, n: int) -> Ints:
        """Return the ids of batch n; raises nothing, but an early n after a late one costs all batches up to n again."""
        with self._lock:
            if n < self._next and n not in self._recent:
                self._start()
            while n >= self._next:
                self._advance()
            return self._recent[n].copy()

    def _start(self) -> None:
        tables = len(self.made_of[0].pooling)
        self._next = 0
        self._recent: OrderedDict[int, Ints] = OrderedDict()
        self._queues: list[Queue] = [(np.empty(0), np.empty(0, dtype=np.int64), 0)] * tables

    def _advance(self) -> None:
        recipe, batch_size, locality = self.made_of
        prepared = prepare(recipe)
        ids = np.empty(prepared.bags[-1] * batch_size, dtype=np.int64)
        word = key(recipe.seed, Purpose.IDS, self._next)
        for table in range(len(recipe.pooling)):
            part = ids[prepared.bags[table] * batch_size : prepared.bags[table + 1] * batch_size]
            queue = _with_room(*self._queues[table], len(part))
            seed = mix(np.uint64(table + 1)) ^ word
            now = float(self._next * len(part))
            self._queues[table] = *queue[:2], int(fill(seed, now, locality, *self._laws[table], queue, part))
        self._recent[self._next] = ids
        self._next += 1
        while len(self._recent) * ids.nbytes > REMEMBERED and len(self._recent) > 1:
            self._recent.popitem(last=False)


def _with_room(due: Floats, row: Ints, waiting: int, more: int) -> Queue:
    """Return a queue that has room for some more repeats."""
    if (needed := waiting + more) > len(due):
        return np.concatenate((due, np.empty(needed))), np.concatenate((row, np.empty(needed, dtype=np.int64))), waiting
    return due, row, waiting


def law(prepared: Prepared, table: int) -> tuple[Any, Any, Any]:
    """Return what the kernels need of one table: its cells to draw from, its rows' shares, and how it is folded."""
    popularity, sampler = prepared.recipe.popularities[table], prepared.sampler
    part = cells(popularity)
    low, high = sampler.start[sampler.law[table]], sampler.start[sampler.law[table] + 1]
    tables = (sampler.keep[low:high], sampler.alias[low:high], sampler.first[low:high], sampler.width[low:high])
    inside = np.clip(popularity.rows - part.first, 0, part.width)
    beyond = float((part.mass * (1 - inside / part.width)).sum())  # no product: its last bit is the processor's
    shares = (part.mass[: part.alone], part.scale, popularity.s, popularity.q - len(popularity.heavy) + 1)
    return tables, shares, (popularity.rows, int(prepared.offsets[table]), beyond / popularity.rows)


@entry
def fill(
    word: np.uint64, now: float, locality: float, tables: Tables, shares: Shares, folded: Folded, queue: Queue, out: Ints
) -> int:
    """Fill `out` with the ids of one table's consecutive lookups and return how many repeats wait in the queue."""
    offset = folded[1]
    due, waiting_row, waiting = queue
    for slot in range(len(out)):
        now += 1.0
        if waiting > 0 and due[0] <= now:
            row = waiting_row[0]
            waiting = pop(due, waiting_row, waiting)
        else:
            row, word = fresh(word, now, locality, tables, shares, folded)
        out[slot] = offset + row
        word += GOLDEN
        if unit(mix(word)) < locality:
            word += GOLDEN
            wait = -np.log(1.0 - unit(mix(word))) / (CLOSENESS * row_share(row, shares, folded))
            waiting = push(due, waiting_row, waiting, now + wait, row)
    return waiting


@inner
def fresh(word: np.uint64, now: float, locality: float, tables: Tables, shares: Shares, folded: Folded) -> tuple[int, np.uint64]:
    """Return a row drawn by popularity and thinned, and the advanced word of the stream."""
    keep, alias, first, width = tables
    rows = folded[0]
    while True:
        word += GOLDEN
        row = draw_rank(mix(word), np.uint64(0), len(keep), keep, alias, first, width)
        if row >= rows:
            row = fold(row, rows)
        word += GOLDEN
        chance = unit(mix(word))
        if chance < 1.0 - locality:
            return row, word
        if chance < 1.0 - locality + locality * np.exp(-CLOSENESS * now * row_share(row, shares, folded)):
            return row, word


@inner
def row_share(row: Index, shares: Shares, folded: Folded) -> Any:
    """Return the share of a table's lookups that go to a row, what is folded onto it included."""
    alone, scale, s, shift = shares
    if row < len(alone):
        return alone[row] + folded[2]
    return scale * (row + shift) ** -s + folded[2]


@entry
def shares_of(rows: Ints, shares: Shares, folded: Folded) -> Floats:
    """Return the share of a table's lookups that goes to each of some rows."""
    found = np.empty(len(rows))
    for number, row in enumerate(rows):
        found[number] = row_share(row, shares, folded)
    return found


@entry
def push(due: Floats, row: Ints, size: int, when: float, what: Index) -> int:
    """Put a repeat into the binary heap and return its new size."""
    at = size
    while at > 0 and due[(at - 1) // 2] > when:
        due[at], row[at] = due[(at - 1) // 2], row[(at - 1) // 2]
        at = (at - 1) // 2
    due[at], row[at] = when, what
    return size + 1


@entry
def pop(due: Floats, row: Ints, size: int) -> int:
    """Take the earliest repeat off the binary heap and return its new size."""
    size -= 1
    when, what = due[size], row[size]
    at, child = 0, 1
    while child < size:
        if child + 1 < size and due[child + 1] < due[child]:
            child += 1
        if due[child] >= when:
            break
        due[at], row[at] = due[child], row[child]
        at, child = child, 2 * child + 1
    due[at], row[at] = when, what
    return size
