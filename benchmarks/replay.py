"""A trace of ids through Emberpool's cache policies: the misses of batches of one id."""

import numpy as np
from numba import njit

from engine.caches import row_index as index
from engine.caches.policies import lfu as product_lfu
from engine.caches.policies import lru as product_lru
from engine.core.arrays import Ints


def lru(ids: Ints, rows: int, capacity: int) -> int:
    """Return the misses of LRU; the result does not depend on the size of batches."""
    counts = np.zeros(index.COUNTS, dtype=np.int64)
    product_lru.serve_batch(product_lru.no_rows(capacity), ids, counts)
    return int(counts[index.MISSES])


def lfu(ids: Ints, rows: int, capacity: int) -> int:
    """Return the misses of LFU with batches of one id each."""
    cache = index.ensure_slots(product_lfu.no_rows(capacity), capacity)
    return int(_one_by_one(*cache, ids))


@njit(nogil=True)
def _one_by_one(cell, bucket, state, ids):  # type: ignore[no-untyped-def]
    counts, misses = np.zeros(index.COUNTS, dtype=np.int64), 0
    missing, freed, row_set = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64), np.empty(3, dtype=np.int64)
    for n in range(len(ids)):
        counts[:], row_set[:] = 0, index.NO_SLOT
        product_lfu._serve(cell, bucket, state, ids[n : n + 1], counts, missing, freed, row_set)
        misses += counts[index.MISSES]
    return misses


POLICIES = {"lru": lru, "lfu": lfu}
