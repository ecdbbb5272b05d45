"""Kernels of layers on a GPU or a host: GEMMs, elementwise kernels, MLPs.

A GEMM takes t0 + max(padded operations / rate, bytes / bandwidth), where t0 is a fixed time. An elementwise kernel takes a
launch and its bytes' time.
"""

from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ..units import FLOAT32


class Arithmetic(NamedTuple):
    """Speed and energy of one GPU or host in one precision, in SI units.

    rate, bandwidth: operations and bytes per second that GEMMs sustain.
    word: bytes of an activation.
    per_flop, per_byte: joules of an operation and of a byte.
    fixed: fixed seconds of a GEMM.
    launch: seconds of a kernel launch.
    rows: rows by which a GEMM is padded.
    samples: samples whose time each GEMM takes in addition, because a host's cores read its weights anew.
    spare: upper limit of the power of the work [W].
    table: additional seconds of each table that is updated by kernels of its own.
    product, pair: seconds of an operation in products of vectors, and of storing a pair's product; 0 on a GPU.
    attention_forward, attention_backward: operations per second of attention; infinite where it is not timed.
    """

    rate: float
    bandwidth: float
    word: int
    per_flop: float
    per_byte: float
    fixed: float
    launch: float
    rows: float
    samples: float = 0.0
    spare: float = 0.0
    table: float = 0.0
    product: float = 0.0
    pair: float = 0.0
    attention_forward: float = inf
    attention_backward: float = inf


COUNTING_ARITHMETIC = Arithmetic(1.0, 1.0, FLOAT32, 0.0, 0.0, 0.0, 0.0, 0.0)  # only used to count kernels


class LayerCost(NamedTuple):
    """The cost of layers: seconds, operations (flop), and bytes to and from memory (nbytes)."""

    seconds: Any
    flop: Any
    nbytes: Any


def gemm(arithmetic: Arithmetic, m: Any, k: Any, n: int, weights: int) -> LayerCost:
    """Return the cost of an m×k by k×n product, m rows × n columns.

    `weights`: weights that the product reads or has the gradient of.
    """
    flop, nbytes = 2.0 * m * k * n, 1.0 * arithmetic.word * (m * k + k * n + m * n)
    padded = (2.0 * (m + arithmetic.rows) * k * n + 2.0 * arithmetic.samples * weights) / arithmetic.rate
    return LayerCost(arithmetic.fixed + np.maximum(padded, nbytes / arithmetic.bandwidth), flop, nbytes)


def elementwise(arithmetic: Arithmetic, nbytes: Any) -> LayerCost:
    """Return the cost of an elementwise kernel."""
    return LayerCost(arithmetic.launch + nbytes / arithmetic.bandwidth, 0.0, nbytes)


def forward(arithmetic: Arithmetic, samples: Any, widths: tuple[int, ...]) -> list[LayerCost]:
    """Return the costs of an MLP's forward pass."""
    shapes = list(pairwise(widths))
    return [gemm(arithmetic, samples, k, n, k * n) for k, n in shapes] + [
        elementwise(arithmetic, 2.0 * arithmetic.word * samples * n) for _, n in shapes
    ]


def update_nbytes(arithmetic: Arithmetic, state: int) -> float:
    """Return the bytes that the update of a weight moves.

    It reads a gradient, reads and writes an fp32 weight, and writes the weight's copy if layers compute in lower precision; it
    reads and writes `state` fp32 words beside each weight.
    """
    return 2.0 * (1 + state) * FLOAT32 + arithmetic.word * (1 if arithmetic.word == FLOAT32 else 2)


def backward(arithmetic: Arithmetic, samples: Any, widths: tuple[int, ...], state: int, input_gradient: bool) -> list[LayerCost]:
    """Return the costs of an MLP's backward pass.

    Each layer has its activation, weight gradient, input gradient and update.
    """
    update = update_nbytes(arithmetic, state)
    costs: list[LayerCost] = []
    for layer, (k, n) in enumerate(pairwise(widths)):
        costs += [elementwise(arithmetic, 3.0 * arithmetic.word * samples * n), gemm(arithmetic, k, samples, n, k * n)]
        costs += [gemm(arithmetic, samples, n, k, k * n)] if layer or input_gradient else []
        costs += [elementwise(arithmetic, update * (k + 1) * n)]
    return costs
