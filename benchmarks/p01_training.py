"""P1, shape K26: one SGD step of a Kaggle-like DLRM, beside PyTorch on one thread, losses equal to 1e-5."""

import numpy as np

from benchmarks.benchmark import Benchmark, interleaved
from engine.training.lookup import localise
from engine.training.shape import Shape
from engine.training.step import step
from engine.training.weights import initial
from engine.workload.batch import Batch

TABLES, ROWS, SAMPLES, STEPS = 26, 100_000, 128, 20
SHAPE = Shape(
    rows=(ROWS,) * TABLES,
    pooling=(1,) * TABLES,
    dim=16,
    bottom=(13, 512, 256, 64, 16),
    top=(512, 256, 1),
    interaction="dot",
    optimizer="sgd",
    learning_rate=0.05,
)


def batches(rng: np.random.Generator) -> list[Batch]:
    """Return batches of Zipf(1.05) lookups, permuted in each table."""
    share = 1.0 / np.arange(1, ROWS + 1) ** 1.05
    share /= share.sum()
    order = [rng.permutation(ROWS) for _ in range(TABLES)]
    made = []
    for _ in range(STEPS):
        ids = np.concatenate([t * ROWS + order[t][rng.choice(ROWS, SAMPLES, p=share)] for t in range(TABLES)])
        dense, labels = rng.random((SAMPLES, 13), np.float32), (rng.random(SAMPLES) < 0.25).astype(np.float32)
        made.append(Batch(dense, ids.astype(np.int64), labels))
    return made


def run() -> tuple[float, float, bool]:
    """Train the same steps from the same weights both ways; the seconds are of all steps."""
    from threadpoolctl import threadpool_limits

    from benchmarks.torch_dlrm import TorchDlrm

    given = batches(np.random.default_rng(1))
    start = initial(SHAPE, np.concatenate([batch.ids for batch in given]), 1)
    places = [localise(SHAPE, start, batch) for batch in given]
    peer = TorchDlrm(SHAPE, start)
    with threadpool_limits(limits=1):
        first_ours = step(SHAPE, start, places[0]).loss
        first_peer = peer.step(places[0])
        equal = abs(first_ours - first_peer) <= 1e-5 * first_peer
        ours, theirs = interleaved(
            lambda: [step(SHAPE, start, one) for one in places], lambda: [peer.step(one) for one in places]
        )
    return ours, theirs, equal


BENCHMARK = Benchmark("P1", "training step, SGD, shape K26, 1 thread", "PyTorch CPU", "torch", 1.6, 2.0, run)
