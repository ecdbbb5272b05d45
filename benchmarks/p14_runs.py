"""P14: a sweep of full runs with training by two workers, compared with half of one worker's time."""

from benchmarks.benchmark import Benchmark
from benchmarks.two_workers import efficiency
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values

POINTS = [with_values(preset("dlrm-kaggle").scenario, {"data.seed": seed, "run.batches": 8}) for seed in range(40)]
BENCHMARK = Benchmark("P14-full", "40 full runs on 2 workers", "ideal", "", 0.85, 0.92, efficiency(POINTS, "full"), "wall")
