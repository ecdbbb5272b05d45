"""Layers on a GPU or a host: seconds, operations and bytes of their kernels.

A GEMM takes t0 + max(padded operations / rate, bytes / bandwidth), where t0 is a fixed time. An elementwise kernel takes a
launch and its bytes' time.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..core.arithmetic import total
from ..core.work import BottomMLP, TopPart, Work, cross_parameters
from ..units import FLOAT32
from .device import is_positive

INTERACTION_KERNELS, CONCATENATION_KERNELS, LOSS_KERNELS = (
    10,
    2,
    3,
)  # elementwise kernels: of products 4 forward, 6 backward; of concatenation; of the loss
CROSS_WORDS = 4, 6, 3  # words a feature, by kernel of a cross layer: output, both factors' gradients, sum


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


COUNTING_ARITHMETIC = Arithmetic(1.0, 1.0, FLOAT32, 0.0, 0.0, 0.0, 0.0, 0.0)  # only used to count kernels


class LayerCost(NamedTuple):
    """The cost of layers: seconds, operations (flop), and bytes to and from memory (nbytes)."""

    seconds: Any
    flop: Any
    nbytes: Any


def layer_cost(work: BottomMLP | TopPart, arithmetic: Arithmetic) -> LayerCost:
    """Return the cost of one pass of the bottom MLP, or of the top part.

    Without samples no kernel is launched, and the cost is 0.
    """
    if not (kernel_costs := _kernels(work, arithmetic)):  # a bottom MLP of no layer
        return LayerCost(0.0 * is_positive(work.samples), 0.0, 0.0)
    return LayerCost(*(is_positive(work.samples) * total(part) for part in zip(*kernel_costs, strict=True)))


def count_kernels(work: Work) -> int:
    """Return the number of kernels of GPU work.

    Layers have one kernel for each GEMM or elementwise operation; any other work is one kernel.
    """
    return len(_kernels(work, COUNTING_ARITHMETIC)) if isinstance(work, BottomMLP | TopPart) else 1


def joules(work: BottomMLP | TopPart, arithmetic: Arithmetic) -> Any:
    """Return the joules of the operations and bytes of layers."""
    cost = layer_cost(work, arithmetic)
    return cost.flop * arithmetic.per_flop + cost.nbytes * arithmetic.per_byte


def _kernels(work: BottomMLP | TopPart, arithmetic: Arithmetic) -> list[LayerCost]:
    """Return the cost of each kernel of the work."""
    return _top(arithmetic, work) if isinstance(work, TopPart) else _bottom(arithmetic, work)


def _gemm(arithmetic: Arithmetic, m: Any, k: Any, n: int, weights: int) -> LayerCost:
    """Return the cost of an m×k by k×n product, m rows × n columns.

    `weights`: weights that the product reads or has the gradient of.
    """
    flop, nbytes = 2.0 * m * k * n, 1.0 * arithmetic.word * (m * k + k * n + m * n)
    padded = (2.0 * (m + arithmetic.rows) * k * n + 2.0 * arithmetic.samples * weights) / arithmetic.rate
    return LayerCost(arithmetic.fixed + np.maximum(padded, nbytes / arithmetic.bandwidth), flop, nbytes)


def _elementwise(arithmetic: Arithmetic, nbytes: Any) -> LayerCost:
    """Return the cost of an elementwise kernel."""
    return LayerCost(arithmetic.launch + nbytes / arithmetic.bandwidth, 0.0, nbytes)


def _forward(arithmetic: Arithmetic, samples: Any, widths: tuple[int, ...]) -> list[LayerCost]:
    """Return the costs of an MLP's forward pass."""
    shapes = list(pairwise(widths))
    return [_gemm(arithmetic, samples, k, n, k * n) for k, n in shapes] + [
        _elementwise(arithmetic, 2.0 * arithmetic.word * samples * n) for _, n in shapes
    ]


def _update(arithmetic: Arithmetic, state: int) -> float:
    """Return the bytes that the update of a weight moves.

    It reads a gradient, reads and writes an fp32 weight, and writes the weight's copy if layers compute in lower precision; it
    reads and writes `state` fp32 words beside each weight.
    """
    return 2.0 * (1 + state) * FLOAT32 + arithmetic.word * (1 if arithmetic.word == FLOAT32 else 2)


def _backward(arithmetic: Arithmetic, samples: Any, widths: tuple[int, ...], state: int, input_gradient: bool) -> list[LayerCost]:
    """Return the costs of an MLP's backward pass.

    Each layer has its activation, weight gradient, input gradient and update.
    """
    update = _update(arithmetic, state)
    costs: list[LayerCost] = []
    for layer, (k, n) in enumerate(pairwise(widths)):
        costs += [_elementwise(arithmetic, 3.0 * arithmetic.word * samples * n), _gemm(arithmetic, k, samples, n, k * n)]
        costs += [_gemm(arithmetic, samples, n, k, k * n)] if layer or input_gradient else []
        costs += [_elementwise(arithmetic, update * (k + 1) * n)]
    return costs


def _bottom(arithmetic: Arithmetic, work: BottomMLP) -> list[LayerCost]:
    """Return the costs of one direction of the bottom MLP."""
    if work.direction == "forward":
        return _forward(arithmetic, work.samples, work.widths)
    return _backward(arithmetic, work.samples, work.widths, work.state, input_gradient=False)


def _products(samples: Any, k: int, n: int) -> tuple[tuple[Any, Any, int], ...]:
    """Return the shapes of a layer's three products: output, weight gradient, input gradient."""
    return (samples, k, n), (k, samples, n), (samples, n, k)


def _cross(arithmetic: Arithmetic, work: TopPart) -> list[LayerCost]:
    """Return the costs of a cross network.

    Each cross layer has GEMMs (forward, by weights and by inputs), elementwise kernels and an update. A cross network
    concatenates its features and splits their gradient in one kernel each.
    """
    width, costs = work.widths[0], list[LayerCost]()
    for rank in work.ranks:
        for k, n in ((width, rank), (rank, width)) if rank else ((width, width),):
            costs += [_gemm(arithmetic, m, inner, columns, k * n) for m, inner, columns in _products(work.samples, k, n)]
        costs += [_elementwise(arithmetic, 1.0 * words * arithmetic.word * work.samples * width) for words in CROSS_WORDS]
        costs += [_elementwise(arithmetic, _update(arithmetic, work.state) * cross_parameters(width, (rank,)))]
    return costs


def _projections(arithmetic: Arithmetic, work: TopPart) -> list[LayerCost]:
    """Return the costs of layers without bias that bring vectors to one width.

    Layers of equal widths are one batched product, three a step.
    """
    costs = list[LayerCost]()
    for layers, vectors, k, n in work.projections:
        flop, weights = 2.0 * vectors * work.samples * k * n, layers * k * n
        nbytes = 1.0 * arithmetic.word * (vectors * work.samples * (k + n) + weights)
        padded = (flop + 2.0 * (vectors * arithmetic.rows * k * n + arithmetic.samples * weights)) / arithmetic.rate
        costs += [LayerCost(arithmetic.fixed + np.maximum(padded, nbytes / arithmetic.bandwidth), flop, nbytes)] * 3
        costs += [_elementwise(arithmetic, _update(arithmetic, work.state) * weights)]
    return costs


def _pairs(arithmetic: Arithmetic, work: TopPart) -> list[LayerCost]:
    """Return the cost of products of all vector pairs, forward and backward.

    Half of the products are taken.
    """
    if not (arithmetic.product or arithmetic.pair) or not work.vectors:
        return []
    flop = 3 * 2.0 * work.samples * work.vectors * work.elements
    pairs = 1.0 * work.samples * (work.vectors * (work.vectors - 1) // 2)
    return [LayerCost(flop * arithmetic.product + pairs * arithmetic.pair, 0.0, 0.0)]


def _top(arithmetic: Arithmetic, work: TopPart) -> list[LayerCost]:
    """Return the costs of the top part: interaction, loss in fp32, top MLP.

    Pooled vectors and their gradients are fp32: layers in 16 bits convert them, each with a kernel.
    """
    vectors = 1.0 * arithmetic.word * work.samples * work.elements
    outputs = 1.0 * arithmetic.word * work.samples * work.widths[0]
    interaction = [_elementwise(arithmetic, vectors + outputs)] * (
        INTERACTION_KERNELS if work.pairs and not work.ranks and not arithmetic.product else CONCATENATION_KERNELS
    ) + _cross(arithmetic, work)
    interaction += _pairs(arithmetic, work)
    loss = [_elementwise(arithmetic, 1.0 * FLOAT32 * work.samples)] * LOSS_KERNELS
    backward = _backward(arithmetic, work.samples, work.widths, work.state, input_gradient=True)
    casts = [_elementwise(arithmetic, (FLOAT32 / arithmetic.word + 1.0) * vectors)] * 2 if arithmetic.word < FLOAT32 else []
    return (
        casts + _projections(arithmetic, work) + interaction + loss + _forward(arithmetic, work.samples, work.widths) + backward
    )
