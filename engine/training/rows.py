"""Only rows that the run touches exist: the first value of each is a stateless hash, so none depends on the others.

Training is thereby exact at full cardinality while memory is proportional to the rows touched.
"""

from collections.abc import Iterable

import numpy as np
from numba import njit

from ..core.arrays import Ints, Singles
from ..core.hashing import GOLDEN, mix
from .shape import Shape, offsets

PENDING = 1 << 22  # ids gathered before they are merged: 32 MiB


def rows_of(lookups: Iterable[Ints]) -> Ints:
    """Return the sorted distinct rows among several arrays of ids, one array at a time."""
    rows, pending, waiting = np.empty(0, np.int64), [], 0
    for ids in lookups:
        pending.append(distinct(ids))
        waiting += len(pending[-1])
        if waiting > PENDING:
            rows, pending, waiting = distinct(np.concatenate([rows, *pending])), [], 0
    return distinct(np.concatenate([rows, *pending]))


def distinct(ids: Ints) -> Ints:
    """Return the sorted distinct `ids`; several times faster than np.unique, which hashes them first."""
    rows = np.sort(ids)
    first_of_its_kind = np.append(True, rows[1:] != rows[:-1])[: rows.size]
    return np.compress(first_of_its_kind, rows)


def first_values(shape: Shape, rows: Ints, seed: int) -> Singles:
    """Return (R, dim) initial vectors of sorted global `rows`: uniform in ±1/sqrt(rows of their table)."""
    values = np.empty((len(rows), shape.dim), np.float32)
    bounds = (1.0 / np.sqrt(np.array(shape.folded))).astype(np.float32)
    _draw(values, rows, offsets(shape), bounds, np.uint64(seed))
    return values


@njit(cache=True, nogil=True)
def _draw(values, rows, starts, bounds, seed):  # type: ignore[no-untyped-def]
    """Fill each vector from 24 bits of a word mixed from seed, row and column."""
    count, dim = values.shape
    stream = mix(seed + GOLDEN)
    table = 0
    for place in range(count):
        row = rows[place]
        while row >= starts[table + 1]:
            table += 1
        word = mix(stream ^ (np.uint64(row) * GOLDEN))
        for column in range(dim):
            word += GOLDEN
            bits = np.int64(mix(word) >> np.uint64(40))
            values[place, column] = np.float32((2 * bits + 1) * 2.0**-24 - 1.0) * bounds[table]
