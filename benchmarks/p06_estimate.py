"""P6: estimates of whole design points per second, beside the pace that MAD-Max states for one core."""

from time import process_time

from benchmarks.benchmark import Benchmark
from engine.estimate import estimate
from engine.presets import preset
from engine.scenario import with_values

MADMAX_POINTS_PER_SECOND = 2406.0  # stated by its authors, arXiv 2310.02784; not run here
POINTS = 200


def run() -> tuple[float, float, bool]:
    """Estimate points that differ in CXL bandwidth; seconds are of all points."""
    base = preset("dlrm-kaggle").scenario
    points = [with_values(base, {"machine.cxl_bandwidth_GBps": 1.0 + 0.1 * i}) for i in range(POINTS)]
    estimate(points[0])
    start = process_time()
    for point in points:
        estimate(point)
    return process_time() - start, POINTS / MADMAX_POINTS_PER_SECOND, True


BENCHMARK = Benchmark("P6", "estimate of one design point", "MAD-Max, as stated", "", 5000 / 2406, 50_000 / 2406, run)
