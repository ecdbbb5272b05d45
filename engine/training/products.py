"""Layers, and their matrix products as a GPU computes them in tf32, bf16 or fp16.

Operands are rounded to the nearest value; sums and weights stay fp32.
Gradients in fp16 are scaled before they are rounded, as loss scaling does, so that small gradients do not become 0.
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays import Singles
from ..core.jit import entry_kernel

FRACTION = {"tf32": 10, "bf16": 7}  # bits of the fraction, of fp32's 23; the exponent is the same as fp32's
LOSS_SCALE = 128.0  # of a sample's loss: its gradients by logits are at most this, far from fp16's 65504


class Layer(NamedTuple):
    """One fully connected layer: (out, in) weights and (out,) biases."""

    weight: Singles
    bias: Singles


def operand(values: Singles, precision: str, scale: float = 1.0) -> Singles:
    """Return contiguous `values` rounded to a precision.

    For fp16, values are multiplied by `scale`, rounded, and divided by `scale` again.
    """
    if precision == "fp32":
        return values
    if precision == "fp16":
        factor = np.float32(scale)
        with np.errstate(over="ignore"):
            return np.asarray((values * factor).astype(np.float16).astype(np.float32) / factor)
    rounded = np.empty(values.shape, np.float32)
    _shorten(values.reshape(-1), rounded.reshape(-1), 23 - FRACTION[precision])
    return rounded


@entry_kernel
def _shorten(values: Singles, rounded: Singles, cut: int) -> None:
    """Round values to a fraction `cut` bits shorter, ties to even."""
    low = np.uint32((1 << cut) - 1)
    for k in range(values.size):
        bits = np.float32(values[k]).view(np.uint32)
        if bits & np.uint32(0x7F800000) != np.uint32(0x7F800000):
            bits = np.uint32((bits + (low >> np.uint32(1)) + ((bits >> np.uint32(cut)) & np.uint32(1))) & ~low)
        rounded[k] = np.uint32(bits).view(np.float32)
