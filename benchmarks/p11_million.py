"""P11: a million batches of `cxl`, with a log over several batches, scheduled completely.

The time is compared with a limit of one processor second.
"""

from statistics import median
from time import process_time

import numpy as np

from benchmarks.benchmark import Benchmark
from engine.amounts.expected import expected_traffic
from engine.scenario.presets import preset
from engine.schedule.machine import ready_machine, schedule
from engine.schedule.timeline import Timeline

LIMIT_SECONDS, BATCHES, ROUNDS = 1.0, 1_000_000, 5
FEW, SAME = 2000, 1900  # a run that is short, and how many of its batches end as those of the long one


def run() -> tuple[float, float, bool]:
    """Schedule the batches; return the seconds, the limit, and a check.

    The seconds exclude the batches' amounts, which are those of a mean batch. The check is that the first batches equal those of
    a short run.
    """
    m = ready_machine(preset("dlrm-kaggle").scenario)

    def line(batches: int) -> Timeline:
        return schedule(m, expected_traffic(m.settled, batches))

    few, times = line(FEW).batch_ends, []
    for _ in range(ROUNDS):
        amounts = expected_traffic(m.settled, BATCHES)
        start = process_time()
        found = schedule(m, amounts)
        times.append(process_time() - start)
        ends = found.batch_ends
        del found
    paces = np.diff(ends[[SAME, -SAME]]) / (BATCHES - 2 * SAME), np.diff(few[[FEW // 2, SAME]]) / (SAME - FEW // 2)
    equal = np.array_equal(ends[:SAME], few[:SAME]) and bool(np.isclose(*paces, rtol=1e-3).all())
    return median(times), LIMIT_SECONDS, equal


BENCHMARK = Benchmark("P11", "schedule of 1e6 batches, rolling log", "its limit, 1 s", "", 1, 2, run)
