"""Single operators of PyTorch on this host, timed for costs of calls, operations and bytes.

No training step is timed. Tables and gradients are used in rotation and are larger than the caches together, as those of a model.
"""

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from ..core.figures import count
from .timing import Kernel

SEED = 20_261
RING_BYTES, RINGS = 2.0**27, (4, 32)  # bytes of gradients of tables that take turns; least and most tables


class Operator(NamedTuple):
    """One kernel to time.

    name, kind: its name, and the kind of cost that it shows.
    amounts: calls, FLOP, bytes or lookups of one call, by name.
    kernel: the function to call.
    """

    name: str
    kind: str
    amounts: dict[str, float]
    kernel: Kernel


def operators(torch: Any, cores: int, quick: bool = False) -> Iterator[list[Operator]]:
    """Yield groups of operators, each group built only when it is needed.

    quick: whether fewer sizes are used.
    """
    torch.set_num_threads(cores)
    random = np.random.default_rng(SEED)
    yield list(_products(torch, quick))
    yield list(small_calls(torch))
    yield from _tables(torch, random, quick)
    yield list(_interaction(torch, quick))


def _products(torch: Any, quick: bool) -> Iterator[Operator]:
    """Products of a layer: its output, and gradients of its weights and inputs."""
    layers = ((32, 32), (256, 64), (128, 512), (512, 512), (1024, 1024), (64, 1024))
    for samples in (64, 1024) if quick else (64, 256, 1024, 4096):
        for inputs, outputs in layers:
            x, w, b, g = (torch.randn(*size) for size in ((samples, inputs), (outputs, inputs), (outputs,), (samples, outputs)))
            amounts = {"flop": 2.0 * samples * inputs * outputs, "weights": 1.0 * inputs * outputs}
            shape_text = f"{samples} x {inputs} x {outputs}"
            linear = torch.nn.functional.linear
            yield Operator(f"linear {shape_text}", "product", amounts, partial(linear, x, w, b))
            yield Operator(f"weights' gradient {shape_text}", "product", amounts, partial(torch.mm, g.t(), x))
            yield Operator(f"inputs' gradient {shape_text}", "product", amounts, partial(torch.mm, g, w))


def small_calls(torch: Any, device: str = "cpu") -> Iterator[Operator]:
    """Yield calls that compute almost nothing: a layer's forward, backward and update, and the loss."""
    pairs = [(torch.nn.Linear(32, 32), torch.nn.ReLU()) for _ in range(8)]
    layers = torch.nn.Sequential(*(layer for pair in pairs for layer in pair)).to(device)
    x, unit_gradient = torch.randn(64, 32, device=device), torch.ones(64, 32, device=device)

    def both_ways() -> None:
        layers.zero_grad(set_to_none=True)
        layers(x).backward(unit_gradient)

    yield Operator("layers forward and backward", "layer calls", {"layers": 8.0}, both_ways)
    parameters = [torch.zeros(4, requires_grad=True, device=device) for _ in range(16)]
    for parameter in parameters:
        parameter.grad = torch.zeros(4, device=device)
    update = torch.optim.SGD(parameters, lr=0.01).step
    yield Operator("SGD of small parameters", "update calls", {"parameters": 16.0}, update)
    logits, labels = torch.zeros(2, requires_grad=True, device=device), torch.zeros(2, device=device)
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    yield Operator("loss", "loss calls", {}, lambda: loss(logits, labels).backward())


def _tables(torch: Any, random: Any, quick: bool) -> Iterator[list[Operator]]:
    """Lookups of a table, the sparse gradient of its rows, and their update."""
    shapes = [(16, 1, 64), (32, 30, 128), (64, 5, 128), (16, 20, 512), (32, 5, 4096), (128, 2, 2048), (128, 20, 512)]
    for rows in (1000, 200_000) if quick else (1000, 30_000, 200_000):
        for dim, pooling, samples in shapes[::2] if quick else shapes:
            yield list(table_operators(torch, random, rows, dim, pooling, samples))


def table_operators(
    torch: Any, random: Any, rows: int, dim: int, pooling: int, samples: int, device: str = "cpu"
) -> Iterator[Operator]:
    """Yield the operators of one table: lookup, sparse gradient, and each optimizer's update.

    Ids are uniform.
    """
    lookups = samples * pooling
    unique = rows * -float(np.expm1(lookups * np.log1p(-1 / rows)))
    amounts = {"calls": 1.0, "lookups": float(lookups), "bytes": 4.0 * lookups * dim, "new lines": (1 + dim / 16) * unique}
    ring = int(np.clip(RING_BYTES / (4.0 * (lookups + rows / 4) * dim), *RINGS))
    bags = [torch.nn.EmbeddingBag(rows, dim, mode="sum", sparse=True, device=device) for _ in range(ring)]
    weights = [bag.weight for bag in bags]
    ids = [torch.from_numpy(random.integers(0, rows, lookups)).to(device) for _ in range(ring)]
    offsets = torch.arange(0, lookups, pooling, device=device)
    gradient = torch.randn(samples, dim, device=device)
    lookup_turns = cycle(zip(bags, ids, strict=True))

    def lookup() -> Any:
        bag, bag_ids = next(lookup_turns)
        return bag(bag_ids, offsets)

    outputs = [bag(bag_ids, offsets) for bag, bag_ids in zip(bags, ids, strict=True)]
    backward_turns = cycle(zip(outputs, weights, strict=True))

    def backward() -> None:
        output, weight = next(backward_turns)
        weight.grad = None
        output.backward(gradient, retain_graph=True)

    shape_text = f"{rows} x {dim}, {count(lookups, 'lookup')}"
    yield Operator(f"lookup {shape_text}", "lookup", amounts, lookup)
    yield Operator(f"gradient {shape_text}", "gradient", amounts, backward)
    for name, kind in (("SGD", torch.optim.SGD), ("Adagrad", torch.optim.Adagrad)):
        yield Operator(f"{name} {shape_text}", f"update {name}", amounts, _row_update(torch, kind, weights, ids, dim))


def _row_update(torch: Any, kind: Any, weights: list[Any], ids: list[Any], dim: int) -> Kernel:
    """Return the update of a table by a sparse gradient that repeats its rows.

    So the gradient comes from a lookup.
    """
    gradients = [
        torch.sparse_coo_tensor(
            bag_ids[None], torch.randn(len(bag_ids), dim, device=bag_ids.device), weight.shape, check_invariants=False
        )
        for bag_ids, weight in zip(ids, weights, strict=True)
    ]
    turn = cycle(zip(weights, gradients, [kind([weight], lr=1e-3).step for weight in weights], strict=True))

    def update() -> None:
        table, gradient, step = next(turn)
        table.grad = gradient
        step()

    return update


def _interaction(torch: Any, quick: bool) -> Iterator[Operator]:
    """Products of all pairs of vectors, and taking half of them, each forward and backward."""
    for samples, vectors, dim in ((256, 9, 32), (1024, 27, 64)) if quick else ((256, 9, 32), (1024, 27, 64), (2048, 53, 32)):
        stacked_vectors = torch.randn(samples, vectors, dim, requires_grad=True)
        unit_gradient = torch.ones(samples, vectors, vectors)
        square = torch.randn(samples, vectors, vectors, requires_grad=True)
        rows, columns = torch.tril_indices(vectors, vectors, -1)
        half = torch.ones(samples, len(rows))

        def products(stacked_vectors: Any = stacked_vectors, unit_gradient: Any = unit_gradient) -> None:
            stacked_vectors.grad = None
            torch.bmm(stacked_vectors, stacked_vectors.transpose(1, 2)).backward(unit_gradient)

        def pairs(square: Any = square, rows: Any = rows, columns: Any = columns, half: Any = half) -> None:
            square.grad = None
            square[:, rows, columns].backward(half)

        shape_text = f"{samples} x {vectors} x {dim}"
        yield Operator(f"products {shape_text}", "vector products", {"flop": 6.0 * samples * vectors**2 * dim}, products)
        yield Operator(f"pairs {shape_text}", "pairs", {"pairs": float(samples * len(rows))}, pairs)
