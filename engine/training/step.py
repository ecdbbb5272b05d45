"""One training step, on one screen: look up, forward, loss, backward, update.

A row that several samples use gets the sum of their gradients once, in the order of the samples.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.arrays import Places, Singles
from .cross import Crossed, backward_cross, forward_cross
from .layers import backward, forward, interact, interact_back, loss_gradient, losses, through
from .lookup import Early, LocalBatch, look_up, uses
from .optimizers import update_mlp, update_rows
from .shape import Shape
from .weights import Weights, crosses, layers


class Outputs(NamedTuple):
    """The input of each MLP, then what each of its layers gives, the last the logits; and what a cross network's layers did."""

    bottom: list[Singles]
    crossed: list[Crossed]
    top: list[Singles]


@dataclass(frozen=True, slots=True, eq=False)
class StepResult:
    """What a step gives: mean loss in nats, (B,) logits, the places it updated, and the next batch's early lookup."""

    loss: float
    logits: Singles
    touched: Places
    early: Early | None = None


def step(
    shape: Shape,
    weights: Weights,
    batch: LocalBatch,
    early: Early | None = None,
    next_batch: LocalBatch | None = None,
    number: int = 0,
) -> StepResult:
    """Train on `batch`, the run's batch `number`, changing `weights` in place.

    Relaxed lookup: given `next_batch`, its rows are read before this update, and its pooled vectors corrected by the
    same steps as the rows they share with `batch`; hand the result's `early` to the next step, which overwrites it.
    """
    used = early.uses if early else uses(shape, batch)
    features = early.features if early else look_up(shape, weights, batch)
    later = Early(look_up(shape, weights, next_batch), uses(shape, next_batch)) if next_batch else None

    with np.errstate(all="ignore"):  # a run that diverges says so by its loss
        given = forward_pass(shape, weights, batch.dense, features)
        logits = given.top[-1].ravel()
        loss = float(np.mean(losses(logits, batch.labels), dtype=np.float64))
        mlp_gradient, gradient = _backward_pass(shape, weights, features, given, loss_gradient(logits, batch.labels))
        update_rows(shape, weights, used, gradient, later, number)
        update_mlp(shape, weights, mlp_gradient, number)
    return StepResult(loss, logits, used.unique, later)


def forward_pass(shape: Shape, weights: Weights, dense: Singles, features: Singles) -> Outputs:
    """Return what all layers give; `features` gets its dense vector."""
    precision = shape.matrix_precision
    bottom = forward(layers(shape, weights.mlp, "bottom"), dense, True, precision)
    features[:, : shape.bottom[-1]] = bottom[-1]
    inputs, crossed = forward_cross(crosses(shape, weights.mlp), interact(shape, features), precision)
    return Outputs(bottom, crossed, forward(layers(shape, weights.mlp, "top"), inputs, False, precision))


def _backward_pass(
    shape: Shape, weights: Weights, features: Singles, given: Outputs, gradient: Singles
) -> tuple[Singles, Singles]:
    """Return the gradients of the flat MLPs and of the features, given that of the logits."""
    mlp_gradient, precision = np.empty_like(weights.mlp), shape.matrix_precision
    bottom, top = layers(shape, weights.mlp, "bottom"), layers(shape, weights.mlp, "top")
    back = backward(top, layers(shape, mlp_gradient, "top"), given.top, gradient[:, None], False, precision)
    back = through(top[0], back, precision)
    back = backward_cross(crosses(shape, weights.mlp), crosses(shape, mlp_gradient), given.crossed, back, precision)
    of_features = interact_back(shape, features, back)
    back = of_features[:, : shape.bottom[-1]].copy()
    backward(bottom, layers(shape, mlp_gradient, "bottom"), given.bottom, back, True, precision)
    return mlp_gradient, of_features
