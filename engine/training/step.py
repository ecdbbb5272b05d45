"""One training step, on one screen: look up, forward, loss, backward, update.

A row that several samples use gets the sum of their gradients once, in the order of the samples.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.arrays import Singles
from .cross import Crossed, backward_cross, forward_cross
from .layers import backward, forward, interact, interact_back, loss_gradient, losses, project, project_back, through
from .lookup import Early, LocalBatch, look_up, uses
from .optimizers import update_mlp, update_rows
from .shape import Shape
from .weights import DenseLayers, Weights, dense_layers


class Outputs(NamedTuple):
    """The input of each MLP, then what each of its layers gives, the last the logits.

    Between them: what goes into the interaction, and what a cross network's layers did.
    """

    bottom: list[Singles]
    vectors: Singles
    crossed: list[Crossed]
    top: list[Singles]


@dataclass(frozen=True, slots=True, eq=False)
class StepResult:
    """What a step gives: mean loss in nats, (B,) logits, and the next batch's early lookup."""

    loss: float
    logits: Singles
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
        layers = dense_layers(shape, weights.mlp)
        given = forward_pass(shape, layers, batch.dense, features)
        logits = given.top[-1].ravel()
        loss = float(np.mean(losses(logits, batch.labels), dtype=np.float64))
        mlp_gradient = np.empty_like(weights.mlp)
        slopes = dense_layers(shape, mlp_gradient)
        gradient = _backward_pass(shape, layers, slopes, features, given, loss_gradient(logits, batch.labels))
        update_rows(shape, weights, used, gradient, later, number)
        update_mlp(shape, weights, mlp_gradient, number)
    return StepResult(loss, logits, later)


def forward_pass(shape: Shape, layers: DenseLayers, dense: Singles, features: Singles) -> Outputs:
    """Return what all layers give; `features` gets its dense vector."""
    precision = shape.matrix_precision
    bottom = forward(layers.bottom, dense, True, precision)
    features[:, : shape.bottom[-1]] = bottom[-1]
    vectors = project(shape, layers.projections, features, precision)
    inputs, crossed = forward_cross(layers.cross, interact(shape, vectors), precision)
    return Outputs(bottom, vectors, crossed, forward(layers.top, inputs, False, precision))


def _backward_pass(
    shape: Shape, layers: DenseLayers, slopes: DenseLayers, features: Singles, given: Outputs, gradient: Singles
) -> Singles:
    """Fill the dense layers' gradients, `slopes`, and return that of the features, given that of the logits."""
    precision = shape.matrix_precision
    back = backward(layers.top, slopes.top, given.top, gradient[:, None], False, precision)
    back = through(layers.top[0], back, precision)
    back = backward_cross(layers.cross, slopes.cross, given.crossed, back, precision)
    back = interact_back(shape, given.vectors, back)
    of_features = project_back(shape, layers.projections, slopes.projections, features, back, precision)
    back = of_features[:, : shape.bottom[-1]].copy()
    backward(layers.bottom, slopes.bottom, given.bottom, back, True, precision)
    return of_features
