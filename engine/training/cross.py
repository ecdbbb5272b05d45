"""DCNv2's cross network, forward and backward.

Each layer multiplies its linear output by the network's input, and adds the layer's input.
With x0 the features, x' = x0 · (W x + b) + x, element by element; of low rank W is a product of two narrow matrices.
Source: Wang et al., DCN V2, arXiv 2008.13535; MLPerf's DLRM-DCNv2 has three layers of rank 512.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.arrays import Singles
from .products import LOSS_SCALE, operand


class CrossLayer(NamedTuple):
    """One cross layer on F features: weights and biases.

    Weights are (F, rank), biases (F,) and, for low rank, (rank, F) weights stand before them.
    """

    weight: Singles
    bias: Singles
    narrow: Singles | None


class CrossValues(NamedTuple):
    """A cross layer's input (B, F), narrowed input (B, rank) and linear output."""

    given: Singles
    narrowed: Singles
    linear: Singles


def forward_cross(layers: Sequence[CrossLayer], features: Singles, precision: str) -> tuple[Singles, list[CrossValues]]:
    """Return (B, F) output and the values of each layer.

    Operands of products are rounded to a precision.
    """
    x, layer_outputs = features, list[CrossValues]()
    for layer in layers:
        narrowed = x if layer.narrow is None else operand(x, precision) @ operand(layer.narrow, precision).T
        linear = operand(narrowed, precision) @ operand(layer.weight, precision).T + layer.bias
        layer_outputs.append(CrossValues(x, narrowed, linear))
        x = features * linear + x
    return x, layer_outputs


def backward_cross(
    layers: Sequence[CrossLayer],
    gradients: Sequence[CrossLayer],
    layer_outputs: list[CrossValues],
    gradient: Singles,
    precision: str,
) -> Singles:
    """Fill `gradients` from the gradient of the output, and return the gradient of the features."""
    if not layer_outputs:
        return gradient
    features, of_features, scale = layer_outputs[0].given, np.zeros_like(gradient), LOSS_SCALE * len(gradient)
    for layer, slopes, step in zip(reversed(layers), reversed(gradients), reversed(layer_outputs), strict=True):
        linear = gradient * features
        of_features += gradient * step.linear
        slopes.bias[:] = linear.sum(axis=0)
        linear = operand(linear, precision, scale)
        np.matmul(linear.T, operand(step.narrowed, precision), out=slopes.weight)
        input_gradient = linear @ operand(layer.weight, precision)
        if layer.narrow is not None and slopes.narrow is not None:
            input_gradient = operand(input_gradient, precision, scale)
            np.matmul(input_gradient.T, operand(step.given, precision), out=slopes.narrow)
            input_gradient = input_gradient @ operand(layer.narrow, precision)
        gradient = gradient + input_gradient
    return np.asarray(gradient + of_features)
