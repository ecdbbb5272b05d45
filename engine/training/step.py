"""One training step: look up, forward, loss, backward, update.

A row that several samples use gets the sum of their gradients once, in the order of the samples.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.arrays import Ints, Singles, aligned_empty
from .cross import CrossValues, backward_cross, forward_cross
from .histories.positions import HistoryValues, backward_histories, forward_histories
from .layers import backward, forward, interact, interact_back, loss_gradient, losses, project, project_back, through
from .lookup import EarlyLookup, LocalBatch, look_up, row_uses_of
from .optimizers import update_mlp, update_rows
from .shape import Shape
from .weights import DenseLayers, Weights, dense_layers


class Outputs(NamedTuple):
    """The outputs of all layers in a forward pass.

    bottom, top: the input of each MLP, then the output of each of its layers; the top MLP's last output is the logits.
    vectors: the input of the interaction.
    crossed: the values of the cross network's layers.
    histories: the values of the layers that read histories; None without histories.
    """

    bottom: list[Singles]
    vectors: Singles
    crossed: list[CrossValues]
    top: list[Singles]
    histories: HistoryValues | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StepResult:
    """The result of a training step.

    loss: the mean loss of the batch [nats].
    logits: the logits of the batch, (B,).
    early: the next batch's early lookup; None without relaxed lookup.
    """

    loss: float
    logits: Singles
    early: EarlyLookup | None = None


def step(
    shape: Shape,
    weights: Weights,
    batch: LocalBatch,
    early_lookup: EarlyLookup | None = None,
    next_batch: LocalBatch | None = None,
    number: int = 0,
) -> StepResult:
    """Train on `batch`, the run's trained batch `number`, and change `weights` in place.

    Relaxed lookup: if `next_batch` is given, its rows are read before this batch's update. The update then corrects the pooled
    vectors of `next_batch` for the rows that both batches use. Pass the result's `early` to the next step, which overwrites it.
    """
    row_uses = early_lookup.uses if early_lookup else row_uses_of(shape, batch)
    features = early_lookup.features if early_lookup else look_up(shape, weights, batch)
    next_lookup = EarlyLookup(look_up(shape, weights, next_batch), row_uses_of(shape, next_batch)) if next_batch else None

    with np.errstate(all="ignore"):  # the caller checks the loss for divergence
        layers = dense_layers(shape, weights.mlp)
        outputs = forward_pass(shape, layers, batch.dense, features, batch.history_lengths)
        logits = outputs.top[-1].ravel()
        loss = float(np.mean(losses(logits, batch.labels), dtype=np.float64))
        mlp_gradient = aligned_empty(weights.mlp.shape)
        slopes = dense_layers(shape, mlp_gradient)
        gradient = _backward_pass(shape, layers, slopes, features, outputs, loss_gradient(logits, batch.labels))
        update_rows(shape, weights, row_uses, gradient, next_lookup, number)
        update_mlp(shape, weights, mlp_gradient, number)
    return StepResult(loss, logits, next_lookup)


def forward_pass(
    shape: Shape, layers: DenseLayers, dense: Singles, features: Singles, history_lengths: Ints | None = None
) -> Outputs:
    """Return the outputs of all layers, and write the dense vector into `features`.

    The dense vector is the bottom MLP's output; `features` (B, features width) already has the pooled vectors. `history_lengths`
    is that of the batch.
    """
    precision = shape.matrix_precision
    bottom = forward(layers.bottom, dense, True, precision)
    features[:, : shape.bottom[-1]] = bottom[-1]
    if layers.histories:
        candidate, histories = forward_histories(shape, layers.histories, features, history_lengths)
        return Outputs(bottom, features, [], forward(layers.top, candidate, False, precision), histories)
    vectors = project(shape, layers.projections, features, precision)
    inputs, crossed = forward_cross(layers.cross, interact(shape, vectors), precision)
    return Outputs(bottom, vectors, crossed, forward(layers.top, inputs, False, precision))


def _backward_pass(
    shape: Shape, layers: DenseLayers, slopes: DenseLayers, features: Singles, outputs: Outputs, gradient: Singles
) -> Singles:
    """Fill the dense layers' gradients, `slopes`, and return the features' gradient, given the logits' `gradient`."""
    precision = shape.matrix_precision
    input_gradient = backward(layers.top, slopes.top, outputs.top, gradient[:, None], False, precision)
    input_gradient = through(layers.top[0], input_gradient, precision)
    if layers.histories and slopes.histories and outputs.histories:
        of_features = backward_histories(shape, layers.histories, slopes.histories, outputs.histories, input_gradient)
    else:
        input_gradient = backward_cross(layers.cross, slopes.cross, outputs.crossed, input_gradient, precision)
        input_gradient = interact_back(shape, outputs.vectors, input_gradient)
        of_features = project_back(shape, layers.projections, slopes.projections, features, input_gradient, precision)
    input_gradient = of_features[:, : shape.bottom[-1]].copy()
    backward(layers.bottom, slopes.bottom, outputs.bottom, input_gradient, True, precision)
    return of_features
