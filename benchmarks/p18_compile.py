"""P18: all kernels compiled in a fresh copy of the code, compared with a limit of processor seconds."""

import subprocess
import sys
from os import wait4
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import TemporaryDirectory

from benchmarks.benchmark import Benchmark

ROOT = Path(__file__).parent.parent
LIMIT_SECONDS = 14.0


def spent(until: str = "") -> tuple[float, bool]:
    """Return the processor seconds of scripts/compile.py, and whether it succeeded.

    With `until`, the script is stopped once it prints this line, and the second value is whether it did.
    """
    with TemporaryDirectory() as folder:
        for name in ("engine", "presets", "scripts"):
            copytree(ROOT / name, Path(folder) / name, ignore=ignore_patterns("__pycache__"))
        process = subprocess.Popen([sys.executable, "scripts/compile.py"], cwd=folder, stdout=subprocess.PIPE, text=True)
        if came := any(line.strip() == until for line in process.stdout or ()):
            process.kill()
        _, status, used = wait4(process.pid, 0)
        return used.ru_utime + used.ru_stime, came if until else status == 0


def run() -> tuple[float, float, bool]:
    """Compile once; return the seconds, the limit, and success.

    The seconds include starting Python and imports.
    """
    seconds, done = spent()
    return seconds, LIMIT_SECONDS, done


BENCHMARK = Benchmark("P18", "all kernels compiled", "its limit, 14 s", "", 1, 14 / 8, run)
