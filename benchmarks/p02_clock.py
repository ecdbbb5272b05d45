"""P2: the same ids through CLOCK beside libCacheSim's."""

from functools import partial

from benchmarks.benchmark import Benchmark
from benchmarks.p02_caches import beside

BENCHMARK = Benchmark("P2-CLOCK", "CLOCK cache, 1e7 ids", "libCacheSim", "libcachesim", 17, 30, partial(beside, "clock"))
