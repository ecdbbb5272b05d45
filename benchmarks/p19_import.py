"""P19: `import emberpool` in a new process, compared with a limit of processor seconds."""

import subprocess
import sys
from os import wait4
from pathlib import Path
from statistics import median

from benchmarks.benchmark import ROUNDS, Benchmark

ROOT = Path(__file__).parent.parent
LIMIT_SECONDS = 1.0


def run() -> tuple[float, float, bool]:
    """Import in new processes; return the median processor seconds, the limit, and success.

    The first process warms the files; the seconds include starting Python.
    """
    spent = [_spent() for _ in range(1 + ROUNDS)][1:]
    return median(seconds for seconds, _ in spent), LIMIT_SECONDS, all(done for _, done in spent)


def _spent() -> tuple[float, bool]:
    process = subprocess.Popen([sys.executable, "-c", "import emberpool"], cwd=ROOT)
    _, status, used = wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, status == 0


BENCHMARK = Benchmark("P19", "import of the package", "its limit, 1 s", "", 1, 2, run)
