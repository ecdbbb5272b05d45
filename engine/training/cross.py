"""DCNv2's cross network: each layer multiplies its linear output with the network's own input, and adds what it was given.

With x0 the features, x' = x0 · (W x + b) + x, element by element; of low rank W is a product of two narrow matrices.
Source: Wang et al., DCN V2, arXiv 2008.13535; MLPerf's DLRM-DCNv2 has three layers of rank 512.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.arrays import Singles
from .products import LOSS_SCALE, operand


class CrossLayer(NamedTuple):
    """One layer on F features: (F, rank) weights, (F,) biases and, of low rank, what narrows features before, (rank, F)."""

    weight: Singles
    bias: Singles
    narrow: Singles | None


class Crossed(NamedTuple):
    """What a layer was given (B, F), what that was narrowed to (B, rank), and its linear output (B, F)."""

    given: Singles
    narrowed: Singles
    linear: Singles


def forward_cross(layers: Sequence[CrossLayer], features: Singles, precision: str) -> tuple[Singles, list[Crossed]]:
    """Return (B, F) output and what each layer did; operands of products are rounded to a precision."""
    x, done = features, list[Crossed]()
    for layer in layers:
        narrowed = x if layer.narrow is None else operand(x, precision) @ operand(layer.narrow, precision).T
        linear = operand(narrowed, precision) @ operand(layer.weight, precision).T + layer.bias
        done.append(Crossed(x, narrowed, linear))
        x = features * linear + x
    return x, done


def backward_cross(
    layers: Sequence[CrossLayer], gradients: Sequence[CrossLayer], done: list[Crossed], gradient: Singles, precision: str
) -> Singles:
    """Fill `gradients` from that of the output, and return that of the features."""
    if not done:
        return gradient
    features, of_features, scale = done[0].given, np.zeros_like(gradient), LOSS_SCALE * len(gradient)
    for layer, slopes, step in zip(reversed(layers), reversed(gradients), reversed(done), strict=True):
        linear = gradient * features
        of_features += gradient * step.linear
        slopes.bias[:] = linear.sum(axis=0)
        linear = operand(linear, precision, scale)
        np.matmul(linear.T, operand(step.narrowed, precision), out=slopes.weight)
        back = linear @ operand(layer.weight, precision)
        if layer.narrow is not None and slopes.narrow is not None:
            back = operand(back, precision, scale)
            np.matmul(back.T, operand(step.given, precision), out=slopes.narrow)
            back = back @ operand(layer.narrow, precision)
        gradient = gradient + back
    return np.asarray(gradient + of_features)
