"""A trace of ids through Emberpool's cache policies: the misses of batches of one id."""

import numpy as np

from engine.caches import row_index as index
from engine.caches.policies import lfu as product_lfu
from engine.caches.policies import lru as product_lru
from engine.core.arrays import Ints

BATCHES = 10_000  # of one id, served by one call of LFU


def lru(ids: Ints, rows: int, capacity: int) -> int:
    """Return the misses of LRU with batches of one id each."""
    counts = np.zeros(index.COUNTS, dtype=np.int64)
    product_lru.serve_batches(product_lru.no_rows(capacity), ids, 1, counts)
    return int(counts[index.MISSES])


def lfu(ids: Ints, rows: int, capacity: int) -> int:
    """Return the misses of LFU with batches of one id each."""
    cache, counts = product_lfu.no_rows(capacity), np.zeros(index.COUNTS, dtype=np.int64)
    for start in range(0, len(ids), BATCHES):
        cache = product_lfu.serve_batches(cache, ids[start : start + BATCHES], 1, counts)
    return int(counts[index.MISSES])


POLICIES = {"lru": lru, "lfu": lfu}
