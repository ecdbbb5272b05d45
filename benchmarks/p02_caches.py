"""P2: ten million ids, one by one, through an LRU cache, compared with libCacheSim.

Miss counts must be equal.
"""

import tempfile
from functools import partial
from pathlib import Path

from benchmarks.benchmark import Benchmark, interleaved
from benchmarks.libcachesim_peer import misses, write, zipf
from benchmarks.replay import POLICIES

IDS, ROWS, CAPACITY, ROUNDS = 10_000_000, 1_000_000, 100_000, 2


def beside(policy: str) -> tuple[float, float, bool]:
    """Serve the same ids by Emberpool's cache and by libCacheSim's; return both times.

    The third value is whether miss counts are equal. libCacheSim reads a trace file, which is in the page cache by then.
    """
    ids = zipf(IDS, ROWS, 1.05, 2)
    ours = partial(POLICIES[policy], ids, ROWS, CAPACITY)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write(path, ids)
        peer = partial(misses, path, IDS, policy, [CAPACITY])
        equal = [ours()] == peer()
        return *interleaved(ours, peer, ROUNDS), equal


BENCHMARK = Benchmark("P2-LRU", "LRU cache, 1e7 ids", "libCacheSim", "libcachesim", 5, 15, partial(beside, "lru"))
