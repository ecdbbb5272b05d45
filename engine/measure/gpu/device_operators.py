"""Single operators of PyTorch on a device: products, kernels, tables and copies.

No training step is timed. `OperatorSizes` has the sizes. Only on a GPU is a graph of kernels captured.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from ...core.figures import count
from ..operators import SEED, Operator, small_calls, table_operators

ZIPF, GRAPH_KERNELS, TINY_ELEMENTS = 1.05, 100, 32  # exponent of ids; kernels of a captured graph; elements of a tiny kernel
PINNED, PAGEABLE = "pinned", "pageable"


class OperatorSizes(NamedTuple):
    """Sizes of the operators to time.

    samples: batch sizes of matrix products.
    layers: inputs and outputs of the products' layers.
    nbytes: bytes of elementwise kernels and of copies.
    memory: bytes of the copy that shows the memory's bandwidth.
    tables: rows, dim, pooling and samples of each table.
    """

    samples: tuple[int, ...]
    layers: tuple[tuple[int, int], ...]
    nbytes: tuple[int, ...]
    memory: int
    tables: tuple[tuple[int, int, int, int], ...]


TABLES = ((1000, 16, 1, 64), (30_000, 32, 5, 4096), (200_000, 128, 2, 2048), (200_000, 16, 20, 512), (200_000, 64, 30, 2048))
FULL_SIZES = OperatorSizes(
    samples=(64, 256, 1024, 4096, 16_384),
    layers=((32, 32), (256, 64), (512, 512), (1024, 1024), (64, 1024), (4096, 4096)),
    nbytes=(2**12, 2**18, 2**22, 2**25, 2**28),
    memory=2**30,
    tables=(*TABLES, (30_000, 128, 20, 512), (1_000_000, 64, 5, 4096)),
)
QUICK_SIZES = OperatorSizes(
    (64, 1024, 8192), ((32, 32), (512, 512), (64, 1024), (2048, 2048)), FULL_SIZES.nbytes[::2], 2**28, TABLES
)


def precisions(torch: Any, device: str) -> tuple[str, ...]:
    """Return the precisions in which a device multiplies matrices, fp32 first.

    A device other than a GPU has fp32 and bf16.
    """
    if not device.startswith("cuda"):
        return "fp32", "bf16"
    capability = torch.cuda.get_device_capability(device)
    if torch.version.hip:  # PyTorch cannot choose AMD's units for tf32
        return "fp32", "bf16", "fp16"
    return ("fp32", *["tf32"] * (capability >= (8, 0)), *["bf16"] * (capability >= (8, 0)), *["fp16"] * (capability >= (7, 0)))


def device_operators(torch: Any, device: str, sizes: OperatorSizes, gpus: int = 1) -> Iterator[list[Operator]]:
    """Yield groups of operators, each group built only when it is needed.

    With several GPUs, copies between them are included.
    """
    random = np.random.default_rng(SEED)
    for precision in precisions(torch, device):
        with _matmul_precision(torch, precision):
            yield list(_products(torch, device, precision, sizes))
    yield list(_kernels(torch, device, sizes))
    yield list(small_calls(torch, device))
    yield list(_graph(torch, device))
    for rows, dim, pooling, samples in sizes.tables:
        yield list(table_operators(torch, random, rows, dim, pooling, samples, device))
        yield list(_skewed(torch, random, rows, dim, pooling, samples, device))
    yield list(_copies(torch, device, sizes))
    yield list(_gpu_to_gpu_copies(torch, device, sizes)) if gpus > 1 else []


@contextmanager
def _matmul_precision(torch: Any, precision: str) -> Iterator[None]:
    """Let fp32 tensors be multiplied in tf32, or not, until the block ends."""
    previous_precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(previous_precision)


def _products(torch: Any, device: str, precision: str, sizes: OperatorSizes) -> Iterator[Operator]:
    """Products of a layer: its output and both gradients, each m×k by k×n.

    The gradients are those of the layer's weights and of its inputs.
    """
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
    for samples in sizes.samples:
        for inputs, outputs in sizes.layers:
            shapes = (samples, inputs), (outputs, inputs), (outputs,), (samples, outputs)
            x, w, b, g = (torch.randn(*size, device=device, dtype=kind) for size in shapes)
            shape_text = f"{precision} {samples} x {inputs} x {outputs}"
            for name, (m, k, n), kernel in (
                ("linear", (samples, inputs, outputs), partial(torch.nn.functional.linear, x, w, b)),
                ("weights' gradient", (inputs, samples, outputs), partial(torch.mm, g.t(), x)),
                ("inputs' gradient", (samples, outputs, inputs), partial(torch.mm, g, w)),
            ):
                amounts = {"m": 1.0 * m, "k": 1.0 * k, "n": 1.0 * n, "word": 1.0 * x.element_size()}
                yield Operator(f"{name} {shape_text}", f"product {precision}", amounts, kernel)


def _kernels(torch: Any, device: str, sizes: OperatorSizes) -> Iterator[Operator]:
    """A large copy within memory, elementwise kernels, and a kernel that does almost nothing."""
    source = torch.ones(sizes.memory // 4, device=device)
    copied = torch.empty_like(source)
    yield Operator("copy within memory", "memory copy", {"bytes": 8.0 * source.numel()}, partial(copied.copy_, source))
    for nbytes in sizes.nbytes:
        x = torch.ones(nbytes // 4, device=device)
        kernel = partial(torch.mul, x, 2.0, out=torch.empty_like(x))
        yield Operator(f"elementwise {nbytes}", "elementwise", {"calls": 1.0, "bytes": 8.0 * x.numel()}, kernel)
    yield Operator("tiny kernel", "tiny kernel", {}, partial(torch.zeros(TINY_ELEMENTS, device=device).add_, 1.0))


def _graph(torch: Any, device: str) -> Iterator[Operator]:
    """Tiny kernels captured in a graph; none where device or PyTorch cannot capture any."""
    if device.startswith("cuda"):
        with suppress(RuntimeError, AttributeError):
            x, graph = torch.zeros(TINY_ELEMENTS, device=device), torch.cuda.CUDAGraph()
            x.add_(1.0)
            torch.cuda.synchronize(device)
            with torch.cuda.graph(graph):
                for _ in range(GRAPH_KERNELS):
                    x.add_(1.0)
            yield Operator("graph", "graph", {"kernels": float(GRAPH_KERNELS)}, partial(_replayed, graph, x))


def _replayed(graph: Any, _tensor: Any) -> None:
    """Replay a graph; its tensor has to live as long as the graph does."""
    graph.replay()


def _skewed(torch: Any, random: Any, rows: int, dim: int, pooling: int, samples: int, device: str) -> Iterator[Operator]:
    """Lookups of tables by Zipf ids, whose popular rows a cache may hold."""
    lookups = samples * pooling
    shares = np.arange(1, rows + 1) ** -ZIPF
    popular = random.permutation(rows)
    bags = [torch.nn.EmbeddingBag(rows, dim, mode="sum", sparse=True, device=device) for _ in range(4)]
    ids = [torch.from_numpy(popular[random.choice(rows, lookups, p=shares / shares.sum())]).to(device) for _ in bags]
    offsets = torch.arange(0, lookups, pooling, device=device)
    turn = cycle(zip(bags, ids, strict=True))

    def lookup() -> Any:
        bag, bag_ids = next(turn)
        return bag(bag_ids, offsets)

    amounts = {"calls": 1.0, "bytes": 4.0 * dim * (lookups + samples)}
    yield Operator(f"Zipf lookup {rows} x {dim}, {count(lookups, 'lookup')}", "Zipf lookup", amounts, lookup)


def _copies(torch: Any, device: str, sizes: OperatorSizes) -> Iterator[Operator]:
    """Copies between host and device, both ways, pinned and pageable, and a waiting tiny copy."""
    for nbytes in sizes.nbytes:
        on_device, amounts = torch.ones(nbytes // 4, device=device), {"calls": 1.0, "bytes": 1.0 * (nbytes // 4 * 4)}
        for kind in (PINNED, PAGEABLE):
            on_host = torch.ones(nbytes // 4)
            if kind == PINNED and device.startswith("cuda"):
                on_host = on_host.pin_memory()
            host_to_device = partial(on_device.copy_, on_host, non_blocking=kind == PINNED)
            device_to_host = partial(on_host.copy_, on_device, non_blocking=kind == PINNED)
            yield Operator(f"to the GPU, {kind}, {nbytes}", f"to the GPU, {kind}", amounts, host_to_device)
            yield Operator(f"from the GPU, {kind}, {nbytes}", f"from the GPU, {kind}", amounts, device_to_host)
            if kind == PINNED and nbytes == min(sizes.nbytes):
                yield Operator("hand-off", "hand-off", amounts, host_to_device)


def _gpu_to_gpu_copies(torch: Any, device: str, sizes: OperatorSizes) -> Iterator[Operator]:
    """Copies to another GPU."""
    peer = next(f"cuda:{number}" for number in range(2) if f"cuda:{number}" != device)
    for nbytes in sizes.nbytes:
        source, target = (torch.ones(nbytes // 4, device=place) for place in (device, peer))
        amounts = {"calls": 1.0, "bytes": 1.0 * (nbytes // 4 * 4)}
        yield Operator(f"to another GPU, {nbytes}", "to another GPU", amounts, partial(target.copy_, source, non_blocking=True))
