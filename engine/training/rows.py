"""The sorted rows that exist, those that a run touches, and the guide table that finds an id among them.

Training is thereby exact at full cardinality while memory is proportional to the rows touched. Ids that share their
upper bits share a bucket of the guide; a search never looks outside its bucket, so hot rows, which are dense, and cold
ones, which are sparse, both take a handful of comparisons.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..core.arrays import Ints

Locals = NDArray[np.uint32]
LEAST_BUCKETS = 1024
PENDING = 1 << 22  # ids gathered before they are merged: 32 MiB


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """Bucket b begins at place `first[b]` of the sorted rows; an id is in bucket `id >> shift`."""

    first: Locals
    shift: int


def guide(rows: Ints) -> Guide:
    """Return the guide of sorted, distinct `rows`, with about as many buckets as rows."""
    span = int(rows[-1]) + 1 if len(rows) else 1
    shift = max(0, (span // max(len(rows), LEAST_BUCKETS)).bit_length())
    edges = np.arange((span >> shift) + 2, dtype=np.int64) << shift
    return Guide(np.searchsorted(rows, edges).astype(np.uint32), shift)


@njit(cache=True, nogil=True)
def find(rows, first, shift, ids, places):  # type: ignore[no-untyped-def]
    """Write the place of each id into `places`; return the position of the first id that is not there, or -1."""
    last_bucket = np.uint64(first.size - 1)
    for position in range(ids.size):
        wanted = ids[position]
        bucket = np.uint64(wanted) >> np.uint64(shift)
        if bucket >= last_bucket:
            return position
        low, high = np.uint64(first[bucket]), np.uint64(first[bucket + np.uint64(1)])
        while low < high:
            middle = (low + high) >> np.uint64(1)
            if rows[middle] < wanted:
                low = middle + np.uint64(1)
            else:
                high = middle
        if low >= np.uint64(rows.size) or rows[low] != wanted:
            return position
        places[position] = low
    return -1


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
