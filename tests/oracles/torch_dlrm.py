"""PyTorch's DLRM, trained on the weights and batches of the tests: what the engine's losses are held to.

`python -m tests.oracles.record_torch_training`, in an environment with torch, writes them to tests/data.
"""

from itertools import pairwise

import numpy as np
import torch
from torch import nn

from engine.training.shape import Shape
from engine.training.spans import TableSpan
from engine.training.weights import Weights, dense_layers
from tests.training.training_models import ORACLE_BATCH, ORACLE_STEPS, all_rows, made_up_run

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
    initial_layers = dense_layers(shape, weights.mlp)
    bottom, top = _mlp(initial_layers.bottom, kind), _mlp(initial_layers.top, kind)
    low = torch.float16 if shape.matrix_precision == "fp16" else torch.bfloat16
    if initial_layers.bottom:
        bottom.append(nn.ReLU())
    cross, projections = _cross(initial_layers.cross), _projections(shape, initial_layers.projections, kind)
    dense_parameters = [*bottom.parameters(), *top.parameters(), *cross.parameters(), *projections.parameters()]
    optimizer = _optimizer(shape, dense_parameters, tables)
    losses, random = [], torch.Generator().manual_seed(seed)
    for batch in batches:
        pooled = _pooled(shape, weights, tables, batch)
        with torch.autocast("cpu", low, enabled=autocast):
            dense = bottom(torch.from_numpy(batch.dense)).float()
        vectors = [project(vector) for project, vector in zip(projections, pooled, strict=True)]
        inputs = _crossed(cross, _interact(shape, dense, vectors))
        with torch.autocast("cpu", low, enabled=autocast):
            logits = top(inputs).float()
        loss = nn.functional.binary_cross_entropy_with_logits(logits[:, 0], torch.from_numpy(batch.labels))
        (SCALE * loss).backward()
        for parameter in (*dense_parameters, *(table.weight for table in tables)):
            parameter.grad /= SCALE
        table_rows = [table.weight.grad.coalesce().indices()[0] for table in tables]
        optimizer()
        for span, table, rows in zip(_kinds(shape), tables, table_rows, strict=True):
            _round(span.precision, table, rows, random)
        losses.append(loss.item())
    return losses


def _kinds(shape: Shape) -> list[TableSpan]:
    """Return the kind of each table."""
    return [span for span in shape.spans for _ in range(span.tables)]


def _tables(shape: Shape, weights: Weights) -> list[nn.EmbeddingBag]:
    """Return one bag per table, of the rows that exist."""
    ends = np.searchsorted(weights.rows, np.cumsum(shape.rows)).tolist()
    vectors = [vector for _, vector in all_rows(weights)]
    parts = [np.stack(vectors[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    return [nn.EmbeddingBag.from_pretrained(torch.from_numpy(p), mode="sum", sparse=True, freeze=False) for p in parts]


def _round(precision: str, table, rows: torch.Tensor, random: torch.Generator) -> None:
    """Round the rows of a table that a batch used to what its precision holds, up or down at random."""
    if precision == "fp32":
        return
    exact = table.weight.data[rows]
    if precision == "int8":
        scale = exact.abs().amax(1, keepdim=True) / 127
        dice = torch.rand(exact.shape, generator=random)
        table.weight.data[rows] = torch.nan_to_num((exact / scale + dice).floor().clamp(-127, 127) * scale)
        return
    kind = torch.float16 if precision == "fp16" else torch.bfloat16
    nearest = exact.to(kind)
    direction = torch.where(exact > nearest.float(), torch.inf, -torch.inf).to(kind)
    neighbour = torch.nextafter(nearest, direction)
    share = ((exact - nearest.float()) / (neighbour.float() - nearest.float())).nan_to_num()
    crossings = torch.rand(exact.shape, generator=random) < share
    table.weight.data[rows] = torch.where(crossings, neighbour, nearest).float()


class Product(torch.autograd.Function):
    """x W^T in a precision: both operands, and those of both gradients, are rounded, and sums are fp32."""

    @staticmethod
    def forward(ctx, x, weight, kind):
        """Keep the rounded operands."""
        ctx.kind, x, weight = kind, _operand(x, kind), _operand(weight, kind)
        ctx.save_for_backward(x, weight)
        return x @ weight.T

    @staticmethod
    def backward(ctx, slope):
        """Round the slope."""
        x, weight = ctx.saved_tensors
        slope = _operand(slope, ctx.kind)
        return slope @ weight, slope.T @ x, None


def _operand(values: torch.Tensor, kind: str) -> torch.Tensor:
    """Return the nearest values of a precision; of tf32, by adding and taking away 2^13 times the value (Dekker, 1971)."""
    if kind == "tf32":
        multiple = values * (2**13 + 1)
        return multiple - (multiple - values)
    return values.to(torch.float16 if kind == "fp16" else torch.bfloat16).float()


class Rounded(nn.Linear):
    """A linear layer whose products have a precision."""

    kind = "fp32"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply in the precision, add the bias in fp32."""
        product = Product.apply(x, self.weight, self.kind)
        return product if self.bias is None else product + self.bias


def _linear(weight, bias, kind: str | None) -> nn.Linear:
    linear = (nn.Linear if kind in (None, "fp32") else Rounded)(weight.shape[1], weight.shape[0], bias=bias is not None)
    linear.kind, linear.weight.data = kind, torch.from_numpy(weight.copy())
    if bias is not None:
        linear.bias.data = torch.from_numpy(bias.copy())
    return linear


def _mlp(layers, kind: str | None) -> nn.Sequential:
    modules: list[nn.Module] = []
    for weight, bias in layers:
        linear = _linear(weight, bias, kind)
        modules += [nn.ReLU(), linear] if modules else [linear]
    return nn.Sequential(*modules)


def _projections(shape: Shape, projections, kind: str | None) -> nn.ModuleList:
    """Return what brings each table's pooled vectors to the products, as Facebook's PrEmbeddingBag does: nothing, or a layer."""
    matrices = (_linear(matrix, None, kind) for matrices in projections for matrix in matrices)
    width = shape.bottom[-1] if shape.interaction == "dot" else None
    layers = [nn.Identity() if width in (None, span.dim) else next(matrices) for span in _kinds(shape)]
    return nn.ModuleList([layer for layer, span in zip(layers, _kinds(shape), strict=True) for _ in range(span.features)])


def _pooled(shape: Shape, weights, tables, batch) -> list[torch.Tensor]:
    size, places = len(batch.labels), np.searchsorted(weights.rows, batch.ids)
    row_starts = np.searchsorted(weights.rows, np.concatenate(([0], np.cumsum(shape.rows)[:-1])))
    cuts = np.cumsum([size * pooling for pooling in shape.pooling])[:-1]
    parts = [torch.from_numpy(part - start) for part, start in zip(np.split(places, cuts), row_starts, strict=True)]
    pooled: list[torch.Tensor] = []
    for number, (span, table, part) in enumerate(zip(_kinds(shape), tables, parts, strict=True)):
        row_starts = np.arange(size + 1) * shape.pooling[number]
        if batch.starts is not None:
            row_starts = batch.starts[number * size : (number + 1) * size + 1] - batch.starts[number * size]
        bags = [part[start:end] for start, end in pairwise(row_starts)]
        for feature in range(span.features):
            feature_bags = [bag[len(bag) * feature // span.features : len(bag) * (feature + 1) // span.features] for bag in bags]
            offsets = np.concatenate(([0], np.cumsum([len(bag) for bag in feature_bags])[:-1]))
            pooled.append(table(torch.cat(feature_bags), torch.from_numpy(offsets)))
    return pooled


def _interact(shape: Shape, dense: torch.Tensor, pooled: list[torch.Tensor]) -> torch.Tensor:
    if shape.interaction != "dot":
        joined = torch.cat([dense, *pooled], dim=1)
        return joined if shape.stride == 1 else nn.functional.avg_pool1d(joined[:, None], shape.stride, ceil_mode=True)[:, 0]
    vectors = torch.stack([dense, *pooled], dim=1)
    low = torch.tril_indices(len(pooled) + 1, len(pooled) + 1, offset=-1)
    return torch.cat([dense, torch.bmm(vectors, vectors.transpose(1, 2))[:, low[0], low[1]]], dim=1)


def _cross(layers) -> nn.ModuleList:
    """Return the matrices of each layer of a cross network, as TorchRec's LowRankCrossNet and CrossNet have them."""
    modules = []
    for weight, bias, projection in layers:
        expansion = nn.Linear(weight.shape[1], weight.shape[0])
        expansion.weight.data, expansion.bias.data = torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy())
        layer = nn.Sequential(expansion)
        if projection is not None:
            reduction = nn.Linear(projection.shape[1], projection.shape[0], bias=False)
            reduction.weight.data = torch.from_numpy(projection.copy())
            layer = nn.Sequential(reduction, expansion)
        modules.append(layer)
    return nn.ModuleList(modules)


def _crossed(cross: nn.ModuleList, inputs: torch.Tensor) -> torch.Tensor:
    x = inputs
    for layer in cross:
        x = inputs * layer(x) + x
    return x


def _optimizer(shape: Shape, dense_parameters, tables):
    """Return a function that updates everything: by torch's own optimizers, or a row-wise Adagrad for some tables."""
    rate, initial_sum = shape.learning_rate, shape.initial_accumulator
    of_rows = rate if shape.row_rate is None else shape.row_rate
    dense = {
        "sgd": lambda: torch.optim.SGD(dense_parameters, lr=rate),
        "adam": lambda: torch.optim.Adam(dense_parameters, lr=rate),
    }.get(
        shape.dense_optimizer,
        lambda: torch.optim.Adagrad(dense_parameters, lr=rate, eps=1e-8, initial_accumulator_value=initial_sum),
    )
    steps = [_stepping(dense())]
    for span, table in zip(_kinds(shape), tables, strict=True):
        rows = [table.weight]
        if span.optimizer == "sgd":
            steps.append(_stepping(torch.optim.SGD(rows, lr=of_rows)))
        elif span.optimizer == "adagrad":
            steps.append(_stepping(torch.optim.Adagrad(rows, lr=of_rows, eps=1e-8, initial_accumulator_value=initial_sum)))
        elif span.optimizer == "adam":
            steps.append(_stepping(torch.optim.SparseAdam(rows, lr=of_rows)))
        else:
            steps.append(_row_wise(table.weight, of_rows, initial_sum))

    def step() -> None:
        for part in steps:
            part()

    return step


def _stepping(optimizer: torch.optim.Optimizer):
    def step() -> None:
        optimizer.step()
        optimizer.zero_grad()

    return step


def _row_wise(weight: torch.Tensor, rate: float, initial_sum: float):
    """Return row-wise Adagrad of one table, whose state is one sum a row."""
    state = torch.full((len(weight),), initial_sum)

    def step() -> None:
        gradient = weight.grad.coalesce()
        index, values = gradient.indices()[0], gradient.values()
        state[index] += values.pow(2).mean(dim=1)
        weight.data[index] -= rate * values / (state[index].sqrt() + 1e-8)[:, None]
        weight.grad = None

    return step
