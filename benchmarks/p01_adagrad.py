"""P1-adagrad: the steps of P1 by Adagrad, which keeps a sum of squares beside each element, beside PyTorch's."""

from benchmarks.benchmark import Benchmark
from benchmarks.p01_training import training


def run() -> tuple[float, float, bool]:
    """Train by Adagrad."""
    return training("adagrad")


BENCHMARK = Benchmark("P1-adagrad", "training step, Adagrad, five shapes", "PyTorch CPU", "torch", 2.4, 3.0, run)
