"""Layers on a GPU or a host: seconds, operations, bytes and kernels of GEMMs and elementwise kernels in an arithmetic.

Per GEMM t0 + max(padded operations over rate, bytes over bandwidth), per elementwise kernel a launch and its bytes.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..core.work import BottomMLP, TopPart, Work, cross_parameters
from ..units import FLOAT32
from .device import some

INTERACTION, BESIDE, LOSS = 10, 2, 3  # elementwise kernels: of products 4 forward, 6 backward; of concatenation; of the loss
CROSS_WORDS = 4, 6, 3  # that kernels of a cross layer move a feature: its output, gradients of both its factors, their sum


class Arithmetic(NamedTuple):
    """What one GPU or host does in one precision, in SI.

    rate, bandwidth: operations and bytes a second that GEMMs sustain. word: bytes of an activation.
    per_flop, per_byte: joules. fixed, launch: seconds of a GEMM, of a launch. rows: by which a GEMM is padded.
    samples: for so many more it takes longer, however many it has: a host's cores fetch the weights of each layer anew.
    spare: W that joules take at most. table: seconds more for a table that is updated by itself.
    product, pair: seconds of an operation in products of vectors, and of a pair's place, where these are no small part.
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


ANY = Arithmetic(1.0, 1.0, FLOAT32, 0.0, 0.0, 0.0, 0.0, 0.0)  # to count kernels: any will do


class LayerCost(NamedTuple):
    """Seconds, operations and memory traffic of a piece of GPU work."""

    seconds: Any
    flop: Any
    nbytes: Any


def layers(work: BottomMLP | TopPart, on: Arithmetic) -> LayerCost:
    """Return what a direction of the bottom MLP, or the whole top part, costs; without samples nothing is launched."""
    if not (every := _kernels(work, on)):  # a bottom MLP of no layer
        return LayerCost(0.0 * some(work.samples), 0.0, 0.0)
    return LayerCost(*(some(work.samples) * sum(part) for part in zip(*every, strict=True)))


def kernels(work: Work) -> int:
    """Return how many kernels a piece of GPU work is: one a GEMM or elementwise operation of layers; other work is one."""
    return len(_kernels(work, ANY)) if isinstance(work, BottomMLP | TopPart) else 1


def joules(work: BottomMLP | TopPart, on: Arithmetic) -> Any:
    """Return the energy of its operations and bytes."""
    cost = layers(work, on)
    return cost.flop * on.per_flop + cost.nbytes * on.per_byte


def _kernels(work: BottomMLP | TopPart, on: Arithmetic) -> list[LayerCost]:
    return _top(on, work) if isinstance(work, TopPart) else _bottom(on, work)


def _gemm(on: Arithmetic, m: Any, k: Any, n: int, weights: int) -> LayerCost:
    """Cost an m×k by k×n product, for an output of m rows and n columns, by or of so many weights."""
    flop, nbytes = 2.0 * m * k * n, 1.0 * on.word * (m * k + k * n + m * n)
    padded = (2.0 * (m + on.rows) * k * n + 2.0 * on.samples * weights) / on.rate
    return LayerCost(on.fixed + np.maximum(padded, nbytes / on.bandwidth), flop, nbytes)


def _elementwise(on: Arithmetic, nbytes: Any) -> LayerCost:
    return LayerCost(on.launch + nbytes / on.bandwidth, 0.0, nbytes)


def _forward(on: Arithmetic, samples: Any, widths: tuple[int, ...]) -> list[LayerCost]:
    shapes = list(pairwise(widths))
    return [_gemm(on, samples, k, n, k * n) for k, n in shapes] + [
        _elementwise(on, 2.0 * on.word * samples * n) for _, n in shapes
    ]


def _update(on: Arithmetic, state: int) -> float:
    """Return the bytes that the update of a weight moves.

    It reads a gradient, reads and writes an fp32 weight, and writes the weight's copy where layers compute in less; it reads and
    writes `state` fp32 words beside each weight.
    """
    return 2.0 * (1 + state) * FLOAT32 + on.word * (1 if on.word == FLOAT32 else 2)


def _backward(on: Arithmetic, samples: Any, widths: tuple[int, ...], state: int, input_gradient: bool) -> list[LayerCost]:
    """Activation, weight gradient, input gradient and update of each layer."""
    update = _update(on, state)
    costs: list[LayerCost] = []
    for layer, (k, n) in enumerate(pairwise(widths)):
        costs += [_elementwise(on, 3.0 * on.word * samples * n), _gemm(on, k, samples, n, k * n)]
        costs += [_gemm(on, samples, n, k, k * n)] if layer or input_gradient else []
        costs += [_elementwise(on, update * (k + 1) * n)]
    return costs


def _bottom(on: Arithmetic, work: BottomMLP) -> list[LayerCost]:
    if work.direction == "forward":
        return _forward(on, work.samples, work.widths)
    return _backward(on, work.samples, work.widths, work.state, input_gradient=False)


def _products(samples: Any, k: int, n: int) -> tuple[tuple[Any, Any, int], ...]:
    """Return the shapes of a layer's three products: its output, and the gradients of its weights and of its inputs."""
    return (samples, k, n), (k, samples, n), (samples, n, k)


def _cross(on: Arithmetic, work: TopPart) -> list[LayerCost]:
    """GEMMs of each cross layer, forward, by weights and by inputs, its elementwise kernels, and its update.

    A cross network concatenates its features and takes their gradient apart in one kernel each.
    """
    width, costs = work.widths[0], list[LayerCost]()
    for rank in work.ranks:
        for k, n in ((width, rank), (rank, width)) if rank else ((width, width),):
            costs += [_gemm(on, m, inner, columns, k * n) for m, inner, columns in _products(work.samples, k, n)]
        costs += [_elementwise(on, 1.0 * words * on.word * work.samples * width) for words in CROSS_WORDS]
        costs += [_elementwise(on, _update(on, work.state) * cross_parameters(width, (rank,)))]
    return costs


def _projections(on: Arithmetic, work: TopPart) -> list[LayerCost]:
    """Layers without bias that bring vectors to one width: those of like widths are one batched product, three a step."""
    costs = list[LayerCost]()
    for layers, vectors, k, n in work.projections:
        flop, weights = 2.0 * vectors * work.samples * k * n, layers * k * n
        nbytes = 1.0 * on.word * (vectors * work.samples * (k + n) + weights)
        padded = (flop + 2.0 * (vectors * on.rows * k * n + on.samples * weights)) / on.rate
        costs += [LayerCost(on.fixed + np.maximum(padded, nbytes / on.bandwidth), flop, nbytes)] * 3
        costs += [_elementwise(on, _update(on, work.state) * weights)]
    return costs


def _pairs(on: Arithmetic, work: TopPart) -> list[LayerCost]:
    """Return the time of products of all pairs of vectors, and of taking half of them, forward and backward."""
    if not (on.product or on.pair) or not work.vectors:
        return []
    flop = 3 * 2.0 * work.samples * work.vectors * work.elements
    pairs = 1.0 * work.samples * (work.vectors * (work.vectors - 1) // 2)
    return [LayerCost(flop * on.product + pairs * on.pair, 0.0, 0.0)]


def _top(on: Arithmetic, work: TopPart) -> list[LayerCost]:
    """Interaction, forward and backward over its vectors; the loss in fp32; the top MLP.

    Pooled vectors and their gradients are fp32: layers in 16 bits convert them, each with a kernel.
    """
    vectors = 1.0 * on.word * work.samples * work.elements
    outputs = 1.0 * on.word * work.samples * work.widths[0]
    interaction = [_elementwise(on, vectors + outputs)] * (
        INTERACTION if work.pairs and not work.ranks and not on.product else BESIDE
    ) + _cross(on, work)
    interaction += _pairs(on, work)
    loss = [_elementwise(on, 1.0 * FLOAT32 * work.samples)] * LOSS
    backward = _backward(on, work.samples, work.widths, work.state, input_gradient=True)
    casts = [_elementwise(on, (FLOAT32 / on.word + 1.0) * vectors)] * 2 if on.word < FLOAT32 else []
    return casts + _projections(on, work) + interaction + loss + _forward(on, work.samples, work.widths) + backward
