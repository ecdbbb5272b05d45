"""Real training of a shape in PyTorch on this machine, in a plain loop.

The loop has embedding bags, dense layers and sparse gradients.
System `all-hbm` keeps everything on the device. System `cpu-gpu` keeps tables on the host and layers on the device; pooled
vectors and their gradients are copied through pinned memory.
"""

from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ..host import keep_freed_memory, pytorch
from ..machine_limits import cores
from .shapes import ALL_HBM, CPU_GPU, CPU_ONLY, ModelShape

BATCHES = 4  # batches drawn in advance: loading data is no part of a step
WARMUP_STEPS, MIN_STEPS, MAX_STEPS, SECONDS = 2, 5, 200, 1.5  # warm-up steps; timed steps at least, at most, and their seconds


def step_seconds(shape: ModelShape, seed: int, system: str = CPU_ONLY, device: str = "cpu") -> float:
    """Train a shape for some steps as a system does; return the median step's seconds.

    The device takes the role of the system's GPU.
    """
    torch = pytorch()
    keep_freed_memory()
    torch.set_num_threads(cores())
    torch.manual_seed(seed)
    dense, tables = device if system != CPU_ONLY else "cpu", device if system == ALL_HBM else "cpu"
    step, batches = _training_step(torch, shape, dense, tables, system == CPU_GPU), _batches(torch, shape, seed, dense, tables)
    times: list[float] = []
    start_time = perf_counter()
    while len(times) < WARMUP_STEPS + MIN_STEPS or (perf_counter() - start_time < SECONDS and len(times) < MAX_STEPS):
        start = perf_counter()
        step(*batches[len(times) % BATCHES])
        _synchronise(torch, dense)
        times.append(perf_counter() - start)
    return median(times[WARMUP_STEPS:])


def _synchronise(torch: Any, device: str) -> None:
    """Wait until a GPU has done its queued work; a CPU has nothing queued."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def _training_step(torch: Any, shape: ModelShape, dense_on: str, tables_on: str, crosses: bool) -> Any:
    """Return a function that trains a batch."""
    nn = torch.nn
    tables = [nn.EmbeddingBag(shape.rows, shape.dim, mode="sum", sparse=True, device=tables_on) for _ in range(shape.tables)]
    bottom, vectors = _layers(nn, shape.bottom).to(dense_on), shape.tables + 1
    rows, columns = torch.tril_indices(vectors, vectors, -1, device=dense_on)
    top = _layers(nn, (shape.dim + len(rows), *shape.top))[:-1].to(dense_on)
    parameters = [parameter for module in (*tables, bottom, top) for parameter in module.parameters()]
    kinds = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}
    optimizer, loss = kinds[shape.optimizer](parameters, lr=0.01), nn.functional.binary_cross_entropy_with_logits
    crossing = _pinned_crossing(torch, shape, dense_on) if crosses else None

    def step(dense: Any, ids: list[Any], offsets: Any, labels: Any) -> None:
        optimizer.zero_grad(set_to_none=True)
        bottom_output = bottom(dense)
        looked_up = [table(table_ids, offsets) for table, table_ids in zip(tables, ids, strict=True)]
        arrived, return_gradients = crossing(looked_up) if crossing else (looked_up, None)
        pooled = torch.stack([bottom_output, *arrived], 1)
        products = torch.bmm(pooled, pooled.transpose(1, 2))[:, rows, columns]
        loss(top(torch.cat([bottom_output, products], 1))[:, 0], labels).backward()
        if return_gradients:
            return_gradients()
        optimizer.step()

    return step


def _pinned_crossing(torch: Any, shape: ModelShape, device: str) -> Any:
    """Return a function that copies looked-up vectors to a device, pinned and at once.

    It gives the vectors, and a function that copies their gradients back the same way.
    """
    size, pinned = (shape.tables, shape.batch, shape.dim), device.startswith("cuda")
    forward_buffer, gradient_buffer = (torch.empty(size, pin_memory=pinned) for _ in range(2))

    def cross(looked_up: list[Any]) -> Any:
        torch.stack([vectors.detach() for vectors in looked_up], out=forward_buffer)
        arrived = forward_buffer.to(device, non_blocking=True).detach().requires_grad_()

        def return_gradients() -> None:
            gradient_buffer.copy_(arrived.grad, non_blocking=True)
            _synchronise(torch, device)
            torch.autograd.backward(looked_up, list(gradient_buffer.unbind()))

        return arrived.unbind(), return_gradients

    return cross


def _layers(nn: Any, widths: tuple[int, ...]) -> Any:
    return nn.Sequential(*(part for k, n in pairwise(widths) for part in (nn.Linear(k, n), nn.ReLU())))


def _batches(torch: Any, shape: ModelShape, seed: int, dense_on: str, tables_on: str) -> list[tuple[Any, ...]]:
    random, lookups = np.random.default_rng(seed), shape.batch * shape.pooling
    offsets = torch.arange(0, lookups, shape.pooling, device=tables_on)
    return [
        (
            torch.from_numpy(random.random((shape.batch, shape.bottom[0]), dtype=np.float32)).to(dense_on),
            [torch.from_numpy(random.integers(0, shape.rows, lookups)).to(tables_on) for _ in range(shape.tables)],
            offsets,
            torch.from_numpy((random.random(shape.batch) < 0.25).astype(np.float32)).to(dense_on),
        )
        for _ in range(BATCHES)
    ]
