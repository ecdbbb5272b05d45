"""P2: the ids of `p02_caches` through an LFU cache, compared with libCacheSim's LFU."""

from functools import partial

from benchmarks.benchmark import Benchmark
from benchmarks.p02_caches import beside

BENCHMARK = Benchmark("P2-LFU", "LFU cache, 1e7 ids", "libCacheSim", "libcachesim", 5, 15, partial(beside, "lfu"))
