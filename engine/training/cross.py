"""DCNv2's cross network, forward and backward.

Each layer multiplies its linear output by the network's input x0, and adds the layer's input x:
x' = x0 · (W x + b) + x, element by element. In a layer of low rank, W is a product of two narrow matrices.
Source: Wang et al., DCN V2, arXiv 2008.13535; MLPerf's DLRM-DCNv2 has three layers of rank 512.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.arrays import Singles
from .products import LOSS_SCALE, operand


class CrossLayer(NamedTuple):
    """One cross layer on F features: weights and biases.

    weight: (F, F), or (F, rank) in a layer of low rank.
    bias: (F,).
    narrow: the (rank, F) matrix that is applied before `weight` in a layer of low rank, else None.
    """

    weight: Singles
    bias: Singles
    narrow: Singles | None


class CrossValues(NamedTuple):
    """Values of one cross layer in a forward pass of B samples with F features.

    given: the layer's input, (B, F).
    narrowed: the input after the narrow matrix, (B, rank); equal to `given` in a layer of full rank.
    linear: the linear output W x + b, (B, F).
    """

    given: Singles
    narrowed: Singles
    linear: Singles


def forward_cross(layers: Sequence[CrossLayer], features: Singles, precision: str) -> tuple[Singles, list[CrossValues]]:
    """Return the cross network's output (B, F), and the values of each layer.

    Operands of matrix products are rounded to `precision`.
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
    """Write the layers' gradients into `gradients`; return the gradient of the network's input.

    `gradient` is the gradient of the network's output, (B, F). `layer_outputs` are the values that `forward_cross` returned.
    """
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
