"""HSTU layers over histories: seconds, operations and bytes of their kernels.

An HSTU layer normalises its positions, takes gates, values, queries and keys from one GEMM, attends with SiLU in place of a
softmax, gates the result, and adds the output of a second GEMM (Zhai et al., arXiv 2402.17152). The lower half of the products of
positions counts, since a position attends to earlier ones. Attention is a fused kernel with its own share of the peak rate.
"""

from typing import Any

from ..core.arithmetic import total
from ..core.work import SequenceShape, mlp_parameters
from .layer_kernels import Arithmetic, LayerCost, backward, elementwise, forward, gemm, update_nbytes

# Words a position that elementwise kernels move, by kernel: of the width between layers, then of all heads.
NORM, ACTIVATION, GATE, RESIDUAL = (2, 0), (0, 8), (0, 5), (3, 0)
BACKWARD_TIMES = 2  # words that the backward pass of an elementwise kernel moves, over the forward pass
PARTS = 4  # gates, values, queries and keys


def sequence_costs(arithmetic: Arithmetic, samples: Any, shape: SequenceShape, state: int) -> list[LayerCost]:
    """Return the costs of the layers that read histories, forward and backward.

    They turn each of `samples` histories into one vector. The seconds are those of the GPU with the most events,
    operations and bytes are the mean of all GPUs.
    `state`: words of the optimizer that the update reads and writes with each weight.
    """
    mean = _kernels(arithmetic, samples, shape, state)
    if shape.uneven_events == shape.uneven_squares == 1:
        return mean
    busiest = shape._replace(
        events=shape.events * shape.uneven_events,
        positions=shape.positions * shape.uneven_events,
        squares=shape.squares * shape.uneven_squares,
    )
    slowest = _kernels(arithmetic, samples, busiest, state)
    return [cost._replace(seconds=slow.seconds) for cost, slow in zip(mean, slowest, strict=True)]


def _kernels(arithmetic: Arithmetic, samples: Any, shape: SequenceShape, state: int) -> list[LayerCost]:
    """Return the costs of all kernels for the mean history."""
    costs = list[LayerCost]()
    for count, widths in input_layers(shape):
        costs += forward(arithmetic, samples * count, widths)
        costs += backward(arithmetic, samples * count, widths, state, input_gradient=True)
    layer = [cost for part in layer_parts(arithmetic, samples, shape, state).values() for cost in part]
    return costs + layer * shape.layers


def input_layers(shape: SequenceShape) -> list[tuple[Any, tuple[int, ...]]]:
    """Return (vectors of a sample, widths of their MLP) for each input.

    The event's vectors of all sequence tables are one input, each pooled vector another; both have a hidden layer of half the
    width. The candidate's vectors have a hidden layer of the whole width.
    """
    dim, half = shape.dim, max(1, shape.dim // 2)
    events = (shape.events, (shape.event_width, half, dim))
    candidate = (1, (shape.event_width, dim, dim))
    return [events, candidate, *((count, (width, half, dim)) for count, width in shape.contexts)]


def attention_flop(samples: Any, shape: SequenceShape) -> Any:
    """Return the operations of one layer's attention, forward: queries by keys, weights by values."""
    return 2.0 * samples * shape.squares * shape.heads_dim  # two products of 2 operations, of which half are needed


def _attention(arithmetic: Arithmetic, samples: Any, shape: SequenceShape) -> list[LayerCost]:
    """Return the costs of attention: one kernel forward, one backward with 2.5 times the operations."""
    flop, words = attention_flop(samples, shape), samples * shape.positions * shape.heads_dim * PARTS
    passes = ((flop, arithmetic.attention_forward, words), (2.5 * flop, arithmetic.attention_backward, 2 * words))
    return [
        LayerCost(arithmetic.launch + operations / rate, operations, 1.0 * arithmetic.word * moved)
        for operations, rate, moved in passes
    ]


def layer_parts(arithmetic: Arithmetic, samples: Any, shape: SequenceShape, state: int) -> dict[str, list[LayerCost]]:
    """Return the costs of one layer, forward and backward, by part.

    The parts are attention, the three GEMMs of either matrix (uvqk, output), elementwise kernels, and updates of the weights.
    """
    rows, dim, heads = samples * shape.positions, shape.dim, shape.heads_dim
    matrices = {"uvqk": (dim, PARTS * heads), "output": (shape.gated * heads, dim)}
    parts = {"attention": _attention(arithmetic, samples, shape)}
    for name, (k, n) in matrices.items():
        products = (rows, k, n), (k, rows, n), (rows, n, k)
        parts[name] = [gemm(arithmetic, m, inner, columns, k * n) for m, inner, columns in products]
    words = [of_dim * dim + of_heads * heads for of_dim, of_heads in (NORM, ACTIVATION, GATE, RESIDUAL)]
    moved = [1.0 * arithmetic.word * rows * count for count in words]
    parts["elementwise"] = [elementwise(arithmetic, times * nbytes) for nbytes in moved for times in (1, BACKWARD_TIMES)]
    update = update_nbytes(arithmetic, state)
    parts["update"] = [elementwise(arithmetic, update * (k + 1) * n) for k, n in matrices.values()]
    return parts


def sequence_activations(shape: SequenceShape) -> Any:
    """Return half the elements of a sample that the backward pass needs.

    The sample is one of the GPU with the most events; activation memory counts each element twice.

    A layer keeps its input, its normalised input, gates, values, queries and keys, the attention and the gated output.
    """
    layer = 2 * shape.dim + (PARTS + 1 + shape.gated) * shape.heads_dim
    return shape.positions * shape.uneven_events * layer * shape.layers / 2


def sequence_parameters(shape: SequenceShape) -> int:
    """Return the number of weights and biases of the input MLPs and HSTU layers."""
    inputs = total(mlp_parameters(widths) for _, widths in input_layers(shape))
    layer = (shape.dim + 1) * PARTS * shape.heads_dim + (shape.gated * shape.heads_dim + 1) * shape.dim
    return inputs + shape.layers * layer
