"""P14: a sweep of estimates by two workers, compared with half of one worker's time."""

from benchmarks.benchmark import Benchmark
from benchmarks.two_workers import efficiency
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values

POINTS = [
    with_values(preset("dlrm-kaggle").scenario, {"machine.cxl_bandwidth_GBps": 1.0 + n / 100, "data.batch_size": size})
    for size in (64, 128, 256, 512)
    for n in range(5000)
]
BENCHMARK = Benchmark("P14", "20,000 estimates on 2 workers", "ideal", "", 0.85, 0.92, efficiency(POINTS, "estimate"), "wall")
