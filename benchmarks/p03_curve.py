"""P3: exact LRU misses at 64 capacities in one pass, compared with 64 runs of libCacheSim.

All miss counts must be equal.
"""

import tempfile
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.benchmark import Benchmark
from benchmarks.libcachesim_peer import misses, write, zipf
from engine.caches.stack_distance import curve

IDS, ROWS = 2_000_000, 1_000_000
CAPACITIES = np.unique(np.geomspace(10, 300_000, 64).astype(np.int64))


def run() -> tuple[float, float, bool]:
    """Count the misses both ways; return the seconds for all capacities, and equality."""
    ids = zipf(IDS, ROWS, 1.05, 3)
    curve([ids[:1000]])
    start = process_time()
    found = curve([ids]).misses(CAPACITIES).tolist()
    ours = process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write(path, ids)
        start = process_time()
        wanted = misses(path, IDS, "lru", CAPACITIES.tolist())
        return ours, process_time() - start, found == wanted


BENCHMARK = Benchmark("P3", "exact LRU misses, 64 capacities", "libCacheSim, 64 runs", "libcachesim", 100, 200, run)
