"""One training step, on one screen: look up, forward, loss, backward, update; and the optimizers, SGD and Adagrad.

A row that several samples use gets the sum of their gradients once, in the order of the samples. Adagrad is row-wise
for embeddings.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Index, Ints, Places, Singles, Slots
from ..core.jit import by_zero, entry, inner
from .layers import backward, forward, interact, interact_back, loss_gradient, losses
from .lookup import LocalBatch, Uses, look_up, uses
from .shape import Shape
from .weights import Locals, Weights, layers

Outputs = list[Singles]  # the input of an MLP, then what each of its layers gives


EPSILON = np.float32(1e-8)


@dataclass(frozen=True, slots=True, eq=False)
class Early:
    """The next batch's lookup, done before an update and corrected after it, with the uses of its rows."""

    features: Singles
    uses: Uses


@dataclass(frozen=True, slots=True, eq=False)
class StepResult:
    """What a step gives: mean loss in nats, (B,) logits, the places it updated, and the next batch's early lookup."""

    loss: float
    logits: Singles
    touched: Locals
    early: Early | None = None


def step(
    shape: Shape, weights: Weights, batch: LocalBatch, early: Early | None = None, next_batch: LocalBatch | None = None
) -> StepResult:
    """Train on `batch`, changing `weights` in place.

    Relaxed lookup: given `next_batch`, its rows are read before this update, and its pooled vectors corrected by the
    same steps as the rows they share with `batch`; hand the result's `early` to the next step, which overwrites it.
    """
    used = early.uses if early else uses(shape, batch)
    features = early.features if early else look_up(shape, weights, batch)
    later = Early(look_up(shape, weights, next_batch), uses(shape, next_batch)) if next_batch else None

    with np.errstate(all="ignore"):  # a run that diverges says so by its loss
        dense, clicks = forward_pass(shape, weights, batch.dense, features)
        logits = clicks[-1].ravel()
        loss = float(np.mean(losses(logits, batch.labels), dtype=np.float64))
        mlp_gradient, gradient = _backward_pass(shape, weights, features, dense, clicks, loss_gradient(logits, batch.labels))
        update_rows(shape, weights, used, gradient, (later.features, later.uses) if later else None)
        update_mlp(shape, weights, mlp_gradient)
    return StepResult(loss, logits, used.unique, later)


def forward_pass(shape: Shape, weights: Weights, dense: Singles, features: Singles) -> tuple[Outputs, Outputs]:
    """Return the outputs of the layers of both MLPs, the last being the logits; `features` gets its dense vector."""
    bottom = forward(layers(shape, weights.mlp, "bottom"), dense, last_relu=True)
    features[:, : shape.bottom[-1]] = bottom[-1]
    return bottom, forward(layers(shape, weights.mlp, "top"), interact(shape, features), last_relu=False)


def _backward_pass(
    shape: Shape, weights: Weights, features: Singles, dense: Outputs, clicks: Outputs, gradient: Singles
) -> tuple[Singles, Singles]:
    """Return the gradients of the flat MLPs and of the features, given that of the logits."""
    mlp_gradient = np.empty_like(weights.mlp)
    bottom, top = layers(shape, weights.mlp, "bottom"), layers(shape, weights.mlp, "top")
    back = backward(top, layers(shape, mlp_gradient, "top"), clicks, gradient[:, None], last_relu=False)
    of_features = interact_back(shape, features, back @ top[0].weight)
    back = of_features[:, : shape.bottom[-1]].copy()
    backward(bottom, layers(shape, mlp_gradient, "bottom"), dense, back, last_relu=True)
    return mlp_gradient, of_features


def update_rows(shape: Shape, weights: Weights, used: Uses, gradient: Singles, early: tuple[Singles, Uses] | None) -> None:
    """Update the rows in `used` from the (B, features) gradient, in place.

    `early`, the features of the next batch looked up before this update and their uses, is corrected in place.
    """
    rate, column = np.float32(shape.learning_rate), shape.bottom[-1]
    rows = (used.unique, used.first, used.samples, used.table)
    features, later = early or (gradient[:0], Uses(used.unique[:0], used.first[:1], used.samples[:0], used.table[:1]))
    _step_rows(
        weights.table, weights.row_state, *rows, gradient, column, rate, later.unique, later.first, later.samples, features
    )


def update_mlp(shape: Shape, weights: Weights, gradient: Singles) -> None:
    """Update both MLPs from the flat gradient, in place."""
    rate = np.float32(shape.learning_rate)
    if shape.adagrad:
        _adagrad_mlp(weights.mlp, weights.mlp_state, gradient, rate)
    else:
        _sgd_mlp(weights.mlp, gradient, rate)


@inner
def _sum(total: Any, samples: Slots, first: Index, last: Index, gradient: Singles, column: int) -> None:
    """Sum the gradients of one row over its samples."""
    dim = total.size
    for d in range(dim):
        total[d] = np.float32(0.0)
    for k in range(first, last):
        part = gradient[samples[k], column : column + dim]
        for d in range(dim):
            total[d] += part[d]


@inner
def _factor(state: Any, row: Index, gradient: Any, rate: np.float32) -> Any:
    """Return what a row's gradient is multiplied with; Adagrad's state, else empty, gains the mean of its elements' squares."""
    if not state.size:
        return rate
    square = np.float32(0.0)
    for element in gradient:
        square += element * element
    state[row] += square / np.float32(gradient.size)
    return rate / (np.sqrt(state[row]) + EPSILON)


@by_zero
def _step_rows(
    vectors: Singles,
    state: Singles,
    unique: Places,
    first: Ints,
    samples: Slots,
    table: Ints,
    gradient: Singles,
    column: int,
    rate: np.float32,
    later: Places,
    later_first: Ints,
    later_samples: Slots,
    features: Singles,
) -> None:
    """Step each row against its summed gradient, and take the same step in every early lookup of that row."""
    dim = vectors.shape[1]
    step = np.empty(dim, np.float32)
    meet = 0
    for t in range(table.size - 1):
        for u in range(table[t], table[t + 1]):
            row = unique[u]
            _sum(step, samples, first[u], first[u + 1], gradient, column)
            factor = _factor(state, row, step, rate)
            vector = vectors[row]
            for d in range(dim):
                step[d] *= factor
                vector[d] -= step[d]
            while meet < later.size and later[meet] < row:
                meet += 1
            if meet < later.size and later[meet] == row:
                for k in range(later_first[meet], later_first[meet + 1]):
                    pooled = features[later_samples[k], column : column + dim]
                    for d in range(dim):
                        pooled[d] -= step[d]
        column += dim


@entry
def _sgd_mlp(mlp: Singles, gradient: Singles, rate: np.float32) -> None:
    for k in range(mlp.size):
        mlp[k] -= rate * gradient[k]


@by_zero
def _adagrad_mlp(mlp: Singles, state: Singles, gradient: Singles, rate: np.float32) -> None:
    for k in range(mlp.size):
        state[k] += gradient[k] * gradient[k]
        mlp[k] -= rate * gradient[k] / (np.sqrt(state[k]) + EPSILON)
