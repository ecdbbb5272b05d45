"""P6: estimates of whole design points per second, beside the pace that MAD-Max states for one core."""

from statistics import median
from time import process_time

import numpy as np

from benchmarks.benchmark import ROUNDS, Benchmark
from engine.core import memo
from engine.estimate import estimate
from engine.estimates import estimates
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep

MADMAX_POINTS_PER_SECOND = 2406.0  # stated by its authors, arXiv 2310.02784; not run here
BANDWIDTHS = Axis("machine.cxl_bandwidth_GBps", tuple(np.geomspace(1, 100, 40).tolist()))
CAPACITIES = Axis("machine.pmem_capacity_GiB", tuple(np.linspace(100, 1000, 25).tolist()))
ALONE = 20  # points that are estimated alone too, from nothing


def run() -> tuple[float, float, bool]:
    """Estimate a grid of 1,000 points with nothing remembered from before; seconds are of all points, all metrics."""
    points = tuple(Sweep(preset("dlrm-kaggle").scenario, (BANDWIDTHS, CAPACITIES)))
    found, times = estimates(points), []
    equal = all(_anew(points[i]) == found[i].results for i in range(0, len(points), len(points) // ALONE))
    for _ in range(ROUNDS):
        memo.forget()
        start = process_time()
        estimates(points)
        times.append(process_time() - start)
    return median(times), len(points) / MADMAX_POINTS_PER_SECOND, equal


def _anew(scenario: Scenario) -> object:
    memo.forget()
    return estimate(scenario).results


BENCHMARK = Benchmark("P6", "estimate of one design point", "MAD-Max, as stated", "", 5000 / 2406, 50_000 / 2406, run)
