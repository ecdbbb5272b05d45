"""Real training of a shape in PyTorch on this machine: a plain loop of embedding bags, dense layers and sparse gradients."""

from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ..host import pytorch, steady_memory
from ..machine_limits import cores
from .shapes import ModelShape

BATCHES = 4  # drawn before: bringing data in is no part of a step
WARM, LEAST, MOST, SECONDS = 2, 5, 200, 1.5  # steps that warm up, that are timed, and the seconds for these


def step_seconds(shape: ModelShape, seed: int) -> float:
    """Train a shape for a while; return the median seconds of a step."""
    torch = pytorch()
    steady_memory()
    torch.set_num_threads(cores())
    torch.manual_seed(seed)
    step, batches = _loop(torch, shape), _batches(torch, shape, seed)
    times: list[float] = []
    begun = perf_counter()
    while len(times) < WARM + LEAST or (perf_counter() - begun < SECONDS and len(times) < MOST):
        start = perf_counter()
        step(*batches[len(times) % BATCHES])
        times.append(perf_counter() - start)
    return median(times[WARM:])


def _loop(torch: Any, shape: ModelShape) -> Any:
    """Return what trains a batch."""
    nn = torch.nn
    tables = [nn.EmbeddingBag(shape.rows, shape.dim, mode="sum", sparse=True) for _ in range(shape.tables)]
    bottom, vectors = _layers(nn, shape.bottom), shape.tables + 1
    rows, columns = torch.tril_indices(vectors, vectors, -1)
    top = _layers(nn, (shape.dim + len(rows), *shape.top))[:-1]
    parameters = [one for module in (*tables, bottom, top) for one in module.parameters()]
    kinds = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}
    optimizer, loss = kinds[shape.optimizer](parameters, lr=0.01), nn.functional.binary_cross_entropy_with_logits

    def step(dense: Any, ids: list[Any], offsets: Any, labels: Any) -> None:
        optimizer.zero_grad(set_to_none=True)
        below = bottom(dense)
        pooled = torch.stack([below, *(table(own, offsets) for table, own in zip(tables, ids, strict=True))], 1)
        products = torch.bmm(pooled, pooled.transpose(1, 2))[:, rows, columns]
        loss(top(torch.cat([below, products], 1))[:, 0], labels).backward()
        optimizer.step()

    return step


def _layers(nn: Any, widths: tuple[int, ...]) -> Any:
    return nn.Sequential(*(part for k, n in pairwise(widths) for part in (nn.Linear(k, n), nn.ReLU())))


def _batches(torch: Any, shape: ModelShape, seed: int) -> list[tuple[Any, ...]]:
    random, lookups = np.random.default_rng(seed), shape.batch * shape.pooling
    offsets = torch.arange(0, lookups, shape.pooling)
    return [
        (
            torch.from_numpy(random.random((shape.batch, shape.bottom[0]), dtype=np.float32)),
            [torch.from_numpy(random.integers(0, shape.rows, lookups)) for _ in range(shape.tables)],
            offsets,
            torch.from_numpy((random.random(shape.batch) < 0.25).astype(np.float32)),
        )
        for _ in range(BATCHES)
    ]
