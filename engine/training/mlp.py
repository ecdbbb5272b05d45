"""Fully connected layers, forward and back: BLAS for the products, one pass of a kernel for what surrounds them."""

from collections.abc import Sequence

import numpy as np
from numba import njit

from ..core.arrays import Singles
from .weights import Layer


def forward(layers: Sequence[Layer], x: Singles, last_relu: bool) -> list[Singles]:
    """Return the input and every layer's (B, out) output; each goes through a ReLU, the last only if `last_relu`."""
    outputs = [x]
    for layer in layers:
        y = outputs[-1] @ layer.weight.T
        _finish(y, layer.bias, last_relu or layer is not layers[-1])
        outputs.append(y)
    return outputs


def backward(
    layers: Sequence[Layer], gradients: Sequence[Layer], outputs: list[Singles], gradient: Singles, last_relu: bool
) -> Singles:
    """Fill `gradients` from that of the last output, which is overwritten, and return that of the first layer's output.

    The gradient of the MLP's own input, which the bottom MLP has no use for, is `gradient @ layers[0].weight`.
    """
    for k in range(len(layers) - 1, -1, -1):
        _start_back(gradient, outputs[k + 1], gradients[k].bias, last_relu or k < len(layers) - 1)
        np.matmul(gradient.T, outputs[k], out=gradients[k].weight)
        if k:
            gradient = gradient @ layers[k].weight
    return gradient


@njit(cache=True, nogil=True)
def _finish(y, bias, relu):  # type: ignore[no-untyped-def]
    """Add the biases and apply the ReLU, in place."""
    zero = np.float32(0.0)
    for sample in range(y.shape[0]):
        for n in range(y.shape[1]):
            value = y[sample, n] + bias[n]
            y[sample, n] = zero if relu and value < zero else value


@njit(cache=True, nogil=True)
def _start_back(gradient, y, bias_gradient, relu):  # type: ignore[no-untyped-def]
    """Stop the gradient where the ReLU did, in place, and sum the biases' over samples."""
    zero = np.float32(0.0)
    bias_gradient[:] = zero
    for sample in range(y.shape[0]):
        for n in range(y.shape[1]):
            value = zero if relu and not y[sample, n] > zero else gradient[sample, n]
            gradient[sample, n] = value
            bias_gradient[n] += value
