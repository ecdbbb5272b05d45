"""P6 and P6l: estimates of whole design points per second, compared with the published pace of MAD-Max.

The points differ in systems and links, or in one link alone. All columns of the table are made, and MAD-Max's pace is that for
one core.
"""

from functools import partial
from statistics import median
from time import process_time

import numpy as np

from benchmarks.benchmark import ROUNDS, Benchmark
from engine.core import memo
from engine.estimate import estimate
from engine.estimates import estimates
from engine.registry import variant_names
from engine.results.csv_table import csv_text
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep

MADMAX_POINTS_PER_SECOND = 2406.0  # stated by its authors, arXiv 2310.02784; not run here
SYSTEMS = Axis("system", tuple(variant_names("systems"))[:16])
CXL = Axis("machine.cxl_bandwidth_GBps", tuple(np.geomspace(1, 100, 8).tolist()))
PCIE = Axis("machine.pcie_bandwidth_GBps", tuple(np.geomspace(4, 60, 8).tolist()))
LINK = Axis("machine.cxl_bandwidth_GBps", tuple(np.geomspace(1, 100, 1024).tolist()))
ALONE = 16  # points that are estimated alone too, from nothing


def run(axes: tuple[Axis, ...]) -> tuple[float, float, bool]:
    """Estimate 1,024 points with empty memos and write their table; return the times.

    Seconds are of both estimates and table.
    """
    scenario = preset("dlrm-kaggle").scenario
    points = tuple(Sweep(scenario, axes))
    together = _table(points)
    equal = together == csv_text(map(estimate, points), "estimate")
    found = estimates(points[:: len(points) // ALONE])
    equal = equal and all(_anew(one.scenario) == one.results for one in found)
    times = []
    for _ in range(ROUNDS):
        memo.clear_memos()
        start = process_time()
        _table(tuple(Sweep(scenario, axes)))
        times.append(process_time() - start)
    return median(times), len(points) / MADMAX_POINTS_PER_SECOND, equal


def _table(points: tuple[Scenario, ...]) -> str:
    return csv_text(estimates(points), "estimate")


def _anew(scenario: Scenario) -> object:
    memo.clear_memos()
    return estimate(scenario).results


def row(name: str, title: str, axes: tuple[Axis, ...], target: float) -> Benchmark:
    """Return the benchmark of the points of some axes, with a target in points per second."""
    pace = MADMAX_POINTS_PER_SECOND
    return Benchmark(name, title, "MAD-Max, as stated", "", target / pace, 20_000 / pace, partial(run, axes))


BENCHMARKS = (
    row("P6", "1,024 estimates along links", (SYSTEMS, CXL, PCIE), 4500),
    row("P6l", "1,024 estimates along one link", (LINK,), 5500),
)
