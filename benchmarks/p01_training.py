"""P1: a step of SGD on each of five DLRMs, compared with PyTorch on one thread.

Losses must be equal to 1e-5. Seconds are geometric means over the DLRMs.
"""

from statistics import geometric_mean

import numpy as np

from benchmarks.benchmark import Benchmark, interleaved
from engine.training.lookup import localise
from engine.training.shape import Shape
from engine.training.spans import TableSpan
from engine.training.step import step
from engine.training.weights import initial_weights
from engine.workload.batch import Batch

RATES = {"sgd": 0.05, "adagrad": 0.01}
SHAPES = {  # tables, rows of each, lookups a sample, samples, steps; columns, bottom and top MLP
    "K26": (26, 100_000, 1, 128, 20, 16, (13, 512, 256, 64, 16), (512, 256, 1)),
    "M20": (20, 200_000, 20, 128, 5, 32, (2560, 1024, 256, 32), (512, 256, 1)),
    "E20": (20, 200_000, 80, 128, 5, 32, (256, 128, 32), (128, 64, 1)),
    "E80": (80, 100_000, 80, 128, 2, 32, (256, 128, 32), (128, 64, 1)),
    "C26": (26, 200_000, 1, 2048, 2, 128, (13, 512, 256, 128), (1024, 1024, 512, 256, 1)),
}


def training(optimizer: str) -> tuple[float, float, bool]:
    """Train the same steps of each DLRM from the same weights, by Emberpool and by PyTorch.

    Return both times, and whether losses are equal.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        ours, peer, equal = zip(*(_beside(name, optimizer) for name in SHAPES), strict=True)
    return geometric_mean(ours), geometric_mean(peer), all(equal)


def _beside(name: str, optimizer: str) -> tuple[float, float, bool]:
    from benchmarks.torch_dlrm import TorchDlrm

    tables, rows, pooling, samples, steps, dim, bottom, top = SHAPES[name]
    spans = (TableSpan(dim, "fp32", optimizer, tables),)
    shape = Shape((rows,) * tables, (pooling,) * tables, spans, bottom, top, "dot", optimizer, RATES[optimizer])
    given = _batches(np.random.default_rng(1), shape, samples, steps)
    start = initial_weights(shape, np.concatenate([batch.ids for batch in given]), 1)
    places = [localise(shape, start, batch) for batch in given]
    peer = TorchDlrm(shape, start)
    ours, theirs = step(shape, start, places[0]).loss, peer.step(places[0])
    return *interleaved(
        lambda: [step(shape, start, one) for one in places], lambda: [peer.step(one) for one in places]
    ), abs(ours - theirs) <= 1e-5 * theirs  # fmt: skip


def _batches(rng: np.random.Generator, shape: Shape, samples: int, steps: int) -> list[Batch]:
    """Return batches of Zipf(1.05) lookups, permuted in each table."""
    rows, lookups = shape.rows[0], samples * shape.pooling[0]
    share = 1.0 / np.arange(1, rows + 1) ** 1.05
    share /= share.sum()
    order = [rng.permutation(rows) for _ in shape.rows]
    made = []
    for _ in range(steps):
        ids = np.concatenate([t * rows + order[t][rng.choice(rows, lookups, p=share)] for t in range(len(order))])
        dense = rng.random((samples, shape.bottom[0]), np.float32)
        made.append(Batch(dense, ids.astype(np.int64), (rng.random(samples) < 0.25).astype(np.float32)))
    return made


def run() -> tuple[float, float, bool]:
    """Train with SGD; return both times, and whether losses are equal."""
    return training("sgd")


BENCHMARK = Benchmark("P1", "training step, SGD, five shapes, 1 thread", "PyTorch CPU", "torch", 1.9, 2.5, run)
