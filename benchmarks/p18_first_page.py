"""P18-first: the kernels of the first page compiled in a fresh copy of the code, beside the seconds that they may take."""

from benchmarks.benchmark import Benchmark
from benchmarks.p18_compile import spent
from engine.service.kernels import READY

LIMIT_SECONDS = 6.0


def run() -> tuple[float, float, bool]:
    """Compile once, until the first page has what it needs."""
    seconds, done = spent(READY)
    return seconds, LIMIT_SECONDS, done


BENCHMARK = Benchmark("P18-first", "kernels of the first page compiled", "its limit, 6 s", "", 1, 2, run)
