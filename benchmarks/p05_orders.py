"""P5: 1,024 machines that differ in a link, each schedule of 200 batches exact, beside SimPy for each machine."""

from statistics import median
from time import process_time

import numpy as np

from benchmarks.benchmark import ROUNDS, Benchmark, by_itself
from benchmarks.p07_sweep import BASE
from benchmarks.simpy_peer import ends
from engine.core.process import single_thread
from engine.results.undisturbed import planned
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.evaluate import RUNS, DesignPoint, design_point, evaluate
from engine.schedule.machine import schedule
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep

LINKS = Axis("machine.pcie_bandwidth_GBps", tuple(np.geomspace(1, 100, 1024).tolist()))
SAMPLE = 3  # machines that SimPy runs; its seconds are scaled to all


def run() -> tuple[float, float, bool]:
    """Schedule all machines, with what their devices take and the totals of each run; their amounts are counted before."""
    knobs = {**BASE, "policy.cache_load_factor": 0.001}
    with single_thread():
        points = [design_point(one, planned) for one in Sweep(with_values(preset("dlrm-kaggle").scenario, knobs), (LINKS,))]
        found, times = _elapsed(points), []
        for _ in range(ROUNDS):
            start = process_time()
            _elapsed(points)
            times.append(process_time() - start)
    peer, equal = 0.0, True
    _by_simpy(points[0])  # its import is not its work
    for i in range(len(points) // SAMPLE // 2, len(points), len(points) // SAMPLE):
        seconds, makespan = _by_simpy(points[i])
        peer, equal = peer + seconds, equal and makespan == found[i]
    return median(times), peer * len(points) / SAMPLE, equal


def _elapsed(points: list[DesignPoint]) -> list[float]:
    return evaluate(points, lambda point, seen: seen.whole.elapsed, RUNS)


def _by_simpy(point: DesignPoint) -> tuple[float, float]:
    line = schedule(point.machine, point.plan.amounts)
    with by_itself():
        start = process_time()
        finished = ends(line.graph, line.template.durations)
        return process_time() - start, float(finished.max())


BENCHMARK = Benchmark("P5", "1,024 schedules in one order", "SimPy", "simpy", 30_000, 60_000, run)
