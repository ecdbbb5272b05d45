"""Memory of this host: random rows and a chain of reads, in large arrays.

The arrays are larger than the caches. Rows are read by one core, and by all cores at once.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Floats, Ints
from ..core.jit import entry_kernel
from .timing import Kernel

MEMORY_TIMES = 8  # size of an array over the last cache
READS, ROWS, ROW_BYTES = 200_000, 200_000, 512  # reads of a chain and rows of a call, and a row's bytes
CHAIN, BY_ONE, BY_ALL = "chain of reads", "random rows by one core", "random rows by all cores"
Placement = Callable[[NDArray[Any]], NDArray[Any]]


class MemoryArrays(NamedTuple):
    """The arrays to read.

    chain: positions, each of which has the position to read next.
    table: the rows.
    rows: the row numbers that each core reads.
    """

    chain: Ints
    table: Floats
    rows: list[Ints]


@entry_kernel
def follow_chain(chain: Ints, start: int, reads: int) -> int:
    """Read `reads` positions of a chain, each given by the read before; return the last."""
    position = start
    for _ in range(reads):
        position = chain[position]
    return position


@entry_kernel
def sum_rows(table: Floats, rows: Ints) -> float:
    """Return the sum of the first elements of the rows' lines.

    Rows are read in their order.
    """
    total = 0.0
    for row in rows:
        for column in range(0, table.shape[1], 8):
            total += table[row, column]
    return total


def random_chain(lines: int, seed: int) -> Ints:
    """Return one cycle through all lines in random order, (8 lines,).

    Each line has 8 elements, and only its first element is used.
    """
    order = np.random.default_rng(seed).permutation(lines)
    chain = np.zeros(8 * lines, dtype=np.int64)
    chain[8 * order] = 8 * np.roll(order, -1)
    return chain


def memory_arrays(nbytes: int, cores: int, seed: int = 7, placement: Placement = np.asarray) -> MemoryArrays:
    """Return a chain and a table of `nbytes` each, with each core's row numbers.

    `placement` moves an array to the memory that is measured.
    A core reads at least a quarter of the table's rows: a smaller part, read again and again, would stay in a large cache.
    """
    chain, table = placement(random_chain(nbytes // 64, seed)), placement(np.ones((nbytes // ROW_BYTES, ROW_BYTES // 8)))
    count = max(ROWS, len(table) // 4)
    rows = [np.random.default_rng([seed, core]).integers(0, len(table), count) for core in range(cores)]
    return MemoryArrays(chain, table, rows)


def memory_kernels(arrays: MemoryArrays) -> dict[str, tuple[Kernel, float]]:
    """Return kernels over arrays by name, each with the reads or bytes of one call.

    The number is of reads for a chain, and of bytes over all cores for rows.
    """
    chain, table, rows = arrays
    nbytes, pool, position = float(ROW_BYTES * len(rows[0])), ThreadPoolExecutor(len(rows)), 0

    def follow() -> None:
        nonlocal position  # the chain goes on where it ended: the same lines again would be cached
        position = follow_chain(chain, position, READS)

    return {
        CHAIN: (follow, float(READS)),
        BY_ONE: (partial(sum_rows, table, rows[0]), nbytes),
        BY_ALL: (lambda: list(pool.map(partial(sum_rows, table), rows)), nbytes * len(rows)),
    }
