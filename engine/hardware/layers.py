"""Layers on a GPU or a host: seconds, operations and bytes of their kernels."""

from typing import Any

import numpy as np

from ..core.arithmetic import total
from ..core.work import BottomMLP, HistoryPart, LayerWork, TopPart, Work, cross_parameters
from ..units import FLOAT32
from .device import is_positive
from .layer_kernels import (
    COUNTING_ARITHMETIC,
    Arithmetic,
    LayerCost,
    backward,
    elementwise,
    forward,
    gemm,
    update_nbytes,
)
from .sequence_layers import sequence_costs

INTERACTION_KERNELS, CONCATENATION_KERNELS, LOSS_KERNELS = (
    10,
    2,
    3,
)  # elementwise kernels: of products 4 forward, 6 backward; of concatenation; of the loss
CROSS_WORDS = 4, 6, 3  # words a feature, by kernel of a cross layer: output, both factors' gradients, sum


def layer_cost(work: LayerWork, arithmetic: Arithmetic) -> LayerCost:
    """Return the cost of layers: a pass of the bottom MLP, or both of others.

    Without samples no kernel is launched, and the cost is 0.
    """
    if not (kernel_costs := _kernels(work, arithmetic)):  # a bottom MLP of no layer
        return LayerCost(0.0 * is_positive(work.samples), 0.0, 0.0)
    return LayerCost(*(is_positive(work.samples) * total(part) for part in zip(*kernel_costs, strict=True)))


def count_kernels(work: Work) -> int:
    """Return the number of kernels of GPU work.

    Layers have one kernel for each GEMM or elementwise operation; any other work is one kernel.
    """
    return len(_kernels(work, COUNTING_ARITHMETIC)) if isinstance(work, LayerWork) else 1


def joules(work: LayerWork, arithmetic: Arithmetic) -> Any:
    """Return the joules of the operations and bytes of layers."""
    cost = layer_cost(work, arithmetic)
    return cost.flop * arithmetic.per_flop + cost.nbytes * arithmetic.per_byte


def _kernels(work: LayerWork, arithmetic: Arithmetic) -> list[LayerCost]:
    """Return the cost of each kernel of the work."""
    if isinstance(work, HistoryPart):
        inputs = _casts(arithmetic, work.samples, work.elements)
        inputs += _joined(arithmetic, work.samples, work.elements, work.shape.dim, CONCATENATION_KERNELS)
        return inputs + sequence_costs(arithmetic, work.samples, work.shape, work.state)
    return _top(arithmetic, work) if isinstance(work, TopPart) else _bottom(arithmetic, work)


def _bottom(arithmetic: Arithmetic, work: BottomMLP) -> list[LayerCost]:
    """Return the costs of one direction of the bottom MLP."""
    if work.direction == "forward":
        return forward(arithmetic, work.samples, work.widths)
    return backward(arithmetic, work.samples, work.widths, work.state, input_gradient=False)


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
            costs += [gemm(arithmetic, m, inner, columns, k * n) for m, inner, columns in _products(work.samples, k, n)]
        costs += [elementwise(arithmetic, 1.0 * words * arithmetic.word * work.samples * width) for words in CROSS_WORDS]
        costs += [elementwise(arithmetic, update_nbytes(arithmetic, work.state) * cross_parameters(width, (rank,)))]
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
        costs += [elementwise(arithmetic, update_nbytes(arithmetic, work.state) * weights)]
    return costs


def _pairs(arithmetic: Arithmetic, work: TopPart) -> list[LayerCost]:
    """Return the cost of products of all vector pairs, forward and backward.

    Half of the products are taken.
    """
    if not (arithmetic.product or arithmetic.pair) or not work.vectors or work.elements is None:
        return []
    flop = 3 * 2.0 * work.samples * work.vectors * work.elements
    pairs = 1.0 * work.samples * (work.vectors * (work.vectors - 1) // 2)
    return [LayerCost(flop * arithmetic.product + pairs * arithmetic.pair, 0.0, 0.0)]


def _casts(arithmetic: Arithmetic, samples: Any, elements: int | None) -> list[LayerCost]:
    """Return the costs of converting vectors and their gradients, which are fp32, for layers in 16 bits: a kernel each."""
    if elements is None or arithmetic.word >= FLOAT32:
        return []
    return [elementwise(arithmetic, (FLOAT32 / arithmetic.word + 1.0) * (1.0 * arithmetic.word * samples * elements))] * 2


def _joined(arithmetic: Arithmetic, samples: Any, elements: int | None, width: int, kernels: int) -> list[LayerCost]:
    """Return the costs of `kernels` kernels that make `width` elements of those of all vectors."""
    if elements is None:
        return []
    vectors, outputs = (1.0 * arithmetic.word * samples * count for count in (elements, width))
    return [elementwise(arithmetic, vectors + outputs)] * kernels


def _top(arithmetic: Arithmetic, work: TopPart) -> list[LayerCost]:
    """Return the costs of the top part: interaction, loss in fp32, top MLP."""
    multiplied = work.pairs and not work.ranks and not arithmetic.product
    kernels = INTERACTION_KERNELS if multiplied else CONCATENATION_KERNELS
    interaction = _joined(arithmetic, work.samples, work.elements, work.widths[0], kernels)
    interaction += _cross(arithmetic, work) + _pairs(arithmetic, work)
    loss = [elementwise(arithmetic, 1.0 * FLOAT32 * work.samples)] * LOSS_KERNELS
    mlp = forward(arithmetic, work.samples, work.widths)
    mlp += backward(arithmetic, work.samples, work.widths, work.state, input_gradient=True)
    return _casts(arithmetic, work.samples, work.elements) + _projections(arithmetic, work) + interaction + loss + mlp
