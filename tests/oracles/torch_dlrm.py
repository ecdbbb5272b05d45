"""PyTorch's DLRM, trained on the weights and batches of the tests: what the engine's losses are held to.

`python -m tests.oracles.record_torch_training`, in an environment with torch, writes them to tests/data.
"""

import numpy as np
import torch
from torch import nn

from engine.training.shape import Shape
from engine.training.weights import crosses, layers
from tests.training.training_models import ORACLE_BATCH, ORACLE_STEPS, made_up_run

SCALE = 128.0 * ORACLE_BATCH  # of the loss: a power of two, which fp32 gradients do not feel


def torch_losses(shape: Shape, seed: int = 0, autocast: bool = False, uneven: bool = False) -> list[float]:
    """Return PyTorch's loss of each step of a model, maybe of `uneven` bags; narrow rows are rounded by a generator of that seed.

    Operands of layers are rounded to the shape's precision, or layers run in it as PyTorch's autocast has it.
    """
    torch.set_num_threads(1)
    torch.sparse.check_sparse_tensor_invariants.enable()  # torch warns unless one says whether it shall check
    weights, batches = made_up_run(shape, ORACLE_BATCH, ORACLE_STEPS, uneven=uneven)
    tables = _tables(shape, weights)
    kind = None if autocast else shape.matrix_precision
    bottom, top = (_mlp(layers(shape, weights.mlp, part), kind) for part in ("bottom", "top"))
    low = torch.float16 if shape.matrix_precision == "fp16" else torch.bfloat16
    bottom.append(nn.ReLU())
    cross = _cross(crosses(shape, weights.mlp))
    dense_parameters = [*bottom.parameters(), *top.parameters(), *cross.parameters()]
    optimizer = _optimizer(shape, dense_parameters, tables)
    losses, random = [], torch.Generator().manual_seed(seed)
    for batch in batches:
        pooled = _pooled(shape, weights, tables, batch)
        with torch.autocast("cpu", low, enabled=autocast):
            dense = bottom(torch.from_numpy(batch.dense)).float()
        inputs = _crossed(cross, _interact(shape, dense, pooled))
        with torch.autocast("cpu", low, enabled=autocast):
            logits = top(inputs).float()
        loss = nn.functional.binary_cross_entropy_with_logits(logits[:, 0], torch.from_numpy(batch.labels))
        (SCALE * loss).backward()
        for value in (*dense_parameters, *(table.weight for table in tables)):
            value.grad /= SCALE
        touched = [table.weight.grad.coalesce().indices()[0] for table in tables]
        optimizer()
        _round(shape.row_precision, tables, touched, random)
        losses.append(loss.item())
    return losses


def _tables(shape: Shape, weights) -> list[nn.EmbeddingBag]:
    """Return one bag per table, of the rows that exist."""
    ends = np.searchsorted(weights.rows, np.cumsum(shape.rows))
    parts = np.split(weights.table, ends[:-1])
    return [nn.EmbeddingBag.from_pretrained(torch.from_numpy(p.copy()), mode="sum", sparse=True, freeze=False) for p in parts]


def _round(precision: str, tables, touched, random: torch.Generator) -> None:
    """Round the rows that a batch used to what its precision holds, up or down at random."""
    if precision == "fp32":
        return
    for table, rows in zip(tables, touched, strict=True):
        exact = table.weight.data[rows]
        if precision == "int8":
            scale = exact.abs().amax(1, keepdim=True) / 127
            dice = torch.rand(exact.shape, generator=random)
            table.weight.data[rows] = torch.nan_to_num((exact / scale + dice).floor().clamp(-127, 127) * scale)
            continue
        kind = torch.float16 if precision == "fp16" else torch.bfloat16
        near = exact.to(kind)
        toward = torch.where(exact > near.float(), torch.inf, -torch.inf).to(kind)
        other = torch.nextafter(near, toward)
        share = ((exact - near.float()) / (other.float() - near.float())).nan_to_num()
        there = torch.rand(exact.shape, generator=random) < share
        table.weight.data[rows] = torch.where(there, other, near).float()


class Product(torch.autograd.Function):
    """x W^T in a precision: both operands, and those of both gradients, are rounded, and sums are fp32."""

    @staticmethod
    def forward(ctx, x, weight, kind):
        """Keep the rounded operands."""
        ctx.kind, x, weight = kind, _near(x, kind), _near(weight, kind)
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    def backward(ctx, slope):
        """Round the slope."""
        x, weight = ctx.saved_tensors
        slope = _near(slope, ctx.kind)
        return slope @ weight, slope.T @ x, None


def _near(values: torch.Tensor, kind: str) -> torch.Tensor:
    """Return the nearest values of a precision; of tf32, by adding and taking away 2^13 times the value (Dekker, 1971)."""
    if kind == "tf32":
        far = values * (2**13 + 1)
        return far - (far - values)
    return values.to(torch.float16 if kind == "fp16" else torch.bfloat16).float()


class Rounded(nn.Linear):
    """A linear layer whose products have a precision."""

    kind = "fp32"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply in the precision, add the bias in fp32."""
        return Product.apply(x, self.weight, self.kind) + self.bias


def _mlp(given, kind: str | None) -> nn.Sequential:
    modules: list[nn.Module] = []
    for weight, bias in given:
        linear = (nn.Linear if kind in (None, "fp32") else Rounded)(weight.shape[1], weight.shape[0])
        linear.kind = kind
        linear.weight.data, linear.bias.data = torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy())
        modules += [nn.ReLU(), linear] if modules else [linear]
    return nn.Sequential(*modules)


def _pooled(shape: Shape, weights, tables, batch) -> list[torch.Tensor]:
    size, places = len(batch.labels), np.searchsorted(weights.rows, batch.ids)
    first = np.searchsorted(weights.rows, np.concatenate(([0], np.cumsum(shape.rows)[:-1])))
    cuts = np.cumsum([size * pooling for pooling in shape.pooling])[:-1]
    parts = [torch.from_numpy(part - start) for part, start in zip(np.split(places, cuts), first, strict=True)]
    if batch.starts is None:
        return [table(part.reshape(size, -1)) for table, part in zip(tables, parts, strict=True)]
    offsets = torch.from_numpy(batch.starts[:-1].reshape(-1, size))
    return [table(part, mine - mine[0]) for table, part, mine in zip(tables, parts, offsets, strict=True)]


def _interact(shape: Shape, dense: torch.Tensor, pooled: list[torch.Tensor]) -> torch.Tensor:
    if shape.interaction != "dot":
        return torch.cat([dense, *pooled], dim=1)
    vectors = torch.stack([dense, *pooled], dim=1)
    low = torch.tril_indices(len(pooled) + 1, len(pooled) + 1, offset=-1)
    return torch.cat([dense, torch.bmm(vectors, vectors.transpose(1, 2))[:, low[0], low[1]]], dim=1)


def _cross(given) -> nn.ModuleList:
    """Return the matrices of each layer of a cross network, as TorchRec's LowRankCrossNet and CrossNet have them."""
    modules = []
    for weight, bias, narrow in given:
        wide = nn.Linear(weight.shape[1], weight.shape[0])
        wide.weight.data, wide.bias.data = torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy())
        layer = nn.Sequential(wide)
        if narrow is not None:
            first = nn.Linear(narrow.shape[1], narrow.shape[0], bias=False)
            first.weight.data = torch.from_numpy(narrow.copy())
            layer = nn.Sequential(first, wide)
        modules.append(layer)
    return nn.ModuleList(modules)


def _crossed(cross: nn.ModuleList, inputs: torch.Tensor) -> torch.Tensor:
    x = inputs
    for layer in cross:
        x = inputs * layer(x) + x
    return x


def _optimizer(shape: Shape, dense_parameters, tables):
    """Return a function that updates everything: by torch's own optimizers, or its Adagrad and a row-wise one for tables."""
    rows, rate, begun = [table.weight for table in tables], shape.learning_rate, shape.initial_accumulator
    of_rows = rate if shape.row_rate is None else shape.row_rate
    groups = [{"params": dense_parameters}, {"params": rows, "lr": of_rows}]
    if shape.optimizer == "sgd":
        return _stepping(torch.optim.SGD(groups, lr=rate))
    if shape.optimizer == "adagrad":
        return _stepping(torch.optim.Adagrad(groups, lr=rate, eps=1e-8, initial_accumulator_value=begun))
    if shape.optimizer == "adam":
        return _stepping(torch.optim.Adam(dense_parameters, lr=rate), torch.optim.SparseAdam(rows, lr=of_rows))
    step_mlp = _stepping(torch.optim.Adagrad(dense_parameters, lr=rate, eps=1e-8, initial_accumulator_value=begun))
    states = [torch.full((len(weight),), begun) for weight in rows]

    def step() -> None:
        step_mlp()
        for weight, state in zip(rows, states, strict=True):
            gradient = weight.grad.coalesce()
            index, values = gradient.indices()[0], gradient.values()
            state[index] += values.pow(2).mean(dim=1)
            weight.data[index] -= of_rows * values / (state[index].sqrt() + 1e-8)[:, None]
            weight.grad = None

    return step


def _stepping(*optimizers: torch.optim.Optimizer):
    def step() -> None:
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()

    return step
