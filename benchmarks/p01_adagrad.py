"""P1-adagrad: training steps as in P1 with Adagrad, compared with PyTorch.

Adagrad stores a sum of squares for each element.
"""

from benchmarks.benchmark import Benchmark
from benchmarks.p01_training import training


def run() -> tuple[float, float, bool]:
    """Train with Adagrad; return both times, and whether losses are equal."""
    return training("adagrad")


BENCHMARK = Benchmark("P1-adagrad", "training step, Adagrad, five shapes", "PyTorch CPU", "torch", 2.4, 3.0, run)
