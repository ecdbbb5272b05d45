"""P11-memory: a full run of `tiny` with a million batches, without training, in a process of its own.

The peak of its memory, above that of a run of a thousand batches, is compared with a limit of 200 MiB.
"""

import resource
import subprocess
import sys

from benchmarks.benchmark import Benchmark
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.units import MiB

LIMIT_MiB, FEW, MANY = 200.0, 1000, 1_000_000
KiB = 1024  # the unit in which Linux counts a process's memory


def peak_bytes(batches: int) -> float:
    """Return the peak memory of a new process that runs `batches` batches."""
    command = [sys.executable, "-m", "benchmarks.p11_memory", str(batches)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run() -> tuple[float, float, bool]:
    """Return the MiB that a long run takes more than a short one, the limit, and True."""
    peak_bytes(FEW)  # so that no process compiles any more
    short, long = (peak_bytes(batches) for batches in (FEW, MANY))
    return max(long - short, 1.0) / MiB, LIMIT_MiB, True


BENCHMARK = Benchmark("P11-memory", "memory of 1e6 batches above 1e3 [MiB]", "its limit, 200 MiB", "", 1, 2, run, "wall")

if __name__ == "__main__":
    simulate(with_values(preset("tiny").scenario, {"run.batches": int(sys.argv[1]), "run.training": False}))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KiB)
