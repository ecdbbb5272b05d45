"""Hash table of the rows that a cache holds, with a record for each row.

A search probes one position after another. Column ROW of a record is the row; the other columns are a policy's. A record keeps
its position in its table. The memory grows with the rows held, not with the capacity: a policy replaces its table when it gets
full.
"""

from typing import Any

import numpy as np

from ..core.arrays import Index, Ints, aligned_empty
from ..core.hashing import GOLDEN
from ..core.jit import inner_kernel, prefetch_line

ROW = 0
EMPTY, FREE = -1, -2  # ROW of a position without a row: a search ends at EMPTY, and passes FREE
MIN_ROWS = 256
POSITIONS_PER_ROW = 3
MAX_LOAD = 2 / 3  # share of the positions that may be other than EMPTY
AHEAD = 16  # lookups by which a prefetch is ahead; 8 to 32 do as well


def empty_table(rows: int, columns: int) -> Ints:
    """Return a table without rows that has room for `rows` rows, (positions, columns).

    Fewer than one count as one.
    """
    table = aligned_empty((POSITIONS_PER_ROW * max(1, rows), columns), np.int64)
    table[:] = EMPTY
    return table


@inner_kernel
def _home(table: Ints, row: Index) -> Any:
    """Return the position at which the search for a row begins."""
    return np.int64((np.uint64(row) * GOLDEN >> np.uint64(32)) * np.uint64(len(table)) >> np.uint64(32))


@inner_kernel
def prefetch_record(table: Ints, ids: Ints, i: Index) -> None:
    """Prefetch the record of the row that is looked up AHEAD lookups after `i`."""
    prefetch_line(table, _home(table, ids[min(i + AHEAD, len(ids) - 1)]), 0)


@inner_kernel
def find_position(table: Ints, row: Index) -> Any:
    """Return the position of a row, or the position for a row that is missing."""
    position, free_position = _home(table, row), np.int64(EMPTY)
    while table[position, ROW] != row:
        if table[position, ROW] == EMPTY:
            return position if free_position == EMPTY else free_position
        if table[position, ROW] == FREE and free_position == EMPTY:
            free_position = position
        position += 1
        if position == len(table):
            position = np.int64(0)
    return position


@inner_kernel
def remove_row(table: Ints, position: Index) -> Any:
    """Remove the row at a position; return how many positions become EMPTY."""
    table[position, ROW], emptied = FREE, 0
    if table[position + 1 if position + 1 < len(table) else 0, ROW] == EMPTY:
        while position >= 0 and table[position, ROW] == FREE:
            table[position, ROW] = EMPTY
            position -= 1
            emptied += 1
    return emptied
