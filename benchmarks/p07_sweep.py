"""P7: full runs of 1,000 design points, compared with libCacheSim and SimPy for each point.

The runs have real ids, LRU caches and exact schedules.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.benchmark import Benchmark, by_itself
from benchmarks.libcachesim_peer import misses, write
from benchmarks.simpy_peer import ends
from engine.amounts.counted import counted_traffic
from engine.core import memo
from engine.full_runs import full_runs
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import machine_of, schedule, settle
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep
from engine.workload.source import source

BATCHES = 200
BASE = {
    "system": "cached-embedding",
    "policy.cache_policy": "lru",
    "policy.warm_caches": False,
    "run.training": False,
    "run.batches": BATCHES,
}
CACHES = Axis("policy.cache_load_factor", tuple(np.geomspace(0.0002, 0.01, 10).tolist()))
LINKS = Axis("machine.pcie_bandwidth_GBps", tuple(np.geomspace(1, 100, 100).tolist()))
SAMPLE = 5  # points that the peers run, spread over the grid; their seconds are scaled to all points


@dataclass(frozen=True)
class Measured:
    """CPU seconds of 1,000 points.

    ours: by Emberpool.
    caches: by libCacheSim, once for each point.
    schedules: by SimPy.
    equal: whether results agree.
    """

    ours: float
    caches: float
    schedules: float
    equal: bool


def points() -> tuple[Scenario, ...]:
    """Return the design points: ten cache sizes times a hundred links."""
    return tuple(Sweep(with_values(preset("dlrm-kaggle").scenario, BASE), (CACHES, LINKS)))


def measure() -> Measured:
    """Run all points by Emberpool with empty memos, and some of them by the peers."""
    asked = points()
    full_runs(asked[:20])
    memo.clear_memos()
    start = process_time()
    found = full_runs(asked)
    ours = process_time() - start
    given = source(asked[0])
    import simpy  # noqa: F401  # not in the peer's time

    caches, schedules, equal = 0.0, 0.0, True
    with tempfile.TemporaryDirectory() as folder:
        ids, path = np.concatenate([given.ids(n) for n in range(BATCHES)]), Path(folder) / "trace"
        write(path, ids)
        for i in range(len(asked) // SAMPLE // 2, len(asked), len(asked) // SAMPLE):
            cache, plan, same = _by_peers(asked[i], path, len(ids), found[i].results["Elapsed [s]"])
            caches, schedules, equal = caches + cache, schedules + plan, equal and same
    scale = len(asked) / SAMPLE
    return Measured(ours, scale * caches, scale * schedules, equal)


def _by_peers(asked: Scenario, path: Path, lookups: int, elapsed: float | None) -> tuple[float, float, bool]:
    """Return the peers' seconds for the cache and for the schedule of one point, and whether both say what we say."""
    m = machine_of(settle(asked))
    amounts, rows = counted_traffic(m.settled), int(m.system.cache.rows(m.scenario)) if m.system.cache else 0
    start = process_time()
    (missed,) = misses(path, lookups, "lru", [rows])
    middle = process_time()
    line = schedule(m, amounts)
    with by_itself():
        begun = process_time()
        finished = ends(line.graph, line.durations)
        last = process_time()
    agrees = missed == int(amounts.misses.sum()) and np.allclose(finished, line.end, rtol=1e-9, atol=0)
    return middle - start, last - begun, bool(agrees and abs(line.makespan - (elapsed or 0.0)) <= 1e-9 * line.makespan)


def run() -> tuple[float, float, bool]:
    """Compare with peers that compute each point's cache and schedule."""
    found = measure()
    return found.ours, found.caches + found.schedules, found.equal


BENCHMARK = Benchmark("P7", "sweep of 1,000 full runs", "libCacheSim and SimPy per point", "libcachesim", 200, 1000, run)
