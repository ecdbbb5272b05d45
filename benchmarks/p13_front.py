"""P13: one command from a preset's default grid to a ranked Pareto front, from a cold start.

It is compared with the 10 s that AIConfigurator's authors state.
"""

import csv
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

import numpy as np

from benchmarks.benchmark import Benchmark

AICONFIGURATOR_SECONDS = 10.0  # as stated; not run here
COMMAND = [sys.executable, "-m", "engine", "sweep", "--estimate", "--pareto", "--csv", "-"]
ROUNDS = 3
OBJECTIVES = ("Step time [ms]", "Capital cost [USD]")


def cold() -> tuple[float, str]:
    """Run the command in a new process; return its CPU seconds and its output.

    It is a single process, so its CPU seconds are its elapsed time on an idle computer.
    """
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(COMMAND, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def ranked(text: str) -> bool:
    """Return whether exactly the points that no point beats have rank 1.

    Every pair of points is compared.
    """
    rows = [one for one in csv.DictReader(text.splitlines()) if one["Pareto rank"]]
    points = np.array([[float(f"{float(one[name]):.12g}") for name in OBJECTIVES] for one in rows])
    nowhere_worse = (points[:, None] <= points[None]).all(axis=2)
    beaten = (nowhere_worse & (points[:, None] < points[None]).any(axis=2)).any(axis=0)
    return len(rows) >= 1000 and [one["Pareto rank"] == "1" for one in rows] == (~beaten).tolist()


def run() -> tuple[float, float, bool]:
    """Run the command some times; return the median seconds, AIConfigurator's, and a check.

    A first run fills the caches of compiled kernels and does not count.
    """
    _, text = cold()
    return median(cold()[0] for _ in range(ROUNDS)), AICONFIGURATOR_SECONDS, ranked(text)


BENCHMARK = Benchmark("P13", "default grid to a ranked Pareto front", "AIConfigurator, as stated", "", 2.0, 5.0, run)
