"""Memory of this host: random rows and a chain of reads, in arrays that no cache holds."""

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.jit import entry
from .timing import Kernel

LINE = 64


@entry
def chased(chain: Ints, start: int, reads: int) -> int:
    """Follow a chain of row numbers, each read waiting for the one before; return where it ends."""
    at = start
    for _ in range(reads):
        at = chain[at]
    return at


@entry
def summed_rows(table: Floats, rows: Ints) -> float:
    """Sum the first element of each line of some rows, read in their order."""
    total = 0.0
    for row in rows:
        for column in range(0, table.shape[1], 8):
            total += table[row, column]
    return total


def chain_of(rows: int, seed: int) -> Ints:
    """Return one cycle through all rows in random order, each 8 elements wide so that it has a line of its own: (8 rows,)."""
    order = np.random.default_rng(seed).permutation(rows)
    chain = np.zeros(8 * rows, dtype=np.int64)
    chain[8 * order] = 8 * np.roll(order, -1)
    return chain


def memory_kernels(nbytes: int, seed: int = 7) -> dict[str, tuple[Kernel, float]]:
    """Return kernels of one core by name, with the bytes or reads of a call."""
    rows = nbytes // LINE
    chain, table = chain_of(rows, seed), np.ones((nbytes // 512, 64))
    some = np.random.default_rng(seed).integers(0, len(table), 200_000)
    return {
        "chain of reads": (lambda: chased(chain, 0, 200_000), 200_000.0),
        "random rows of 512 B": (lambda: summed_rows(table, some), 512.0 * len(some)),
    }
