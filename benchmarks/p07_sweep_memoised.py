"""P7, memoised: the 1,000 full runs of P7, compared with peers that share caches.

The peers run each of the ten caches once, and SimPy for each point.
"""

from benchmarks.benchmark import Benchmark
from benchmarks.p07_sweep import CACHES, LINKS, measure


def run() -> tuple[float, float, bool]:
    """Compare with peers that share caches between points as Emberpool does."""
    found = measure()
    points = len(CACHES.values) * len(LINKS.values)
    return found.ours, found.caches * len(CACHES.values) / points + found.schedules, found.equal


BENCHMARK = Benchmark("P7m", "sweep of 1,000 full runs, caches shared", "libCacheSim once, SimPy", "libcachesim", 200, 250, run)
