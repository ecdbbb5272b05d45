"""Layers over histories: vectors become positions, and HSTU layers give the candidate.

An MLP with one hidden layer brings each kind of input to the width of a position: one for events, one for the candidate, and
one for the contexts of each width.
"""

from collections import defaultdict
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...core.arithmetic import total
from ...core.arrays import Ints, Singles
from ...core.work import SequenceShape
from ..layers import backward, forward, through
from ..shape import Shape, placed_spans
from .attention import HstuValues, backward_layer, forward_layer, visible
from .dense import HistoryLayers


class HistoryValues(NamedTuple):
    """Values of a forward pass over histories.

    inputs: for each input MLP, its input and the output of each layer.
    layers: the values of each HSTU layer.
    mask: the factor of each attention weight, (S, S) or (B, 1, S, S).
    """

    inputs: list[list[Singles]]
    layers: list[HstuValues]
    mask: Singles


def forward_histories(
    shape: Shape, layers: HistoryLayers, features: Singles, lengths: Ints | None
) -> tuple[Singles, HistoryValues]:
    """Return the candidate's position after all layers, (B, D), and the pass's values.

    `features` (B, features width) has the dense vector and the vectors of all lookups. `lengths` (B,) are the lookups of each
    sample's history; None if all have those of the shape.
    """
    sizes, size, inputs, values = layers.sizes, len(features), list[list[Singles]](), list[HstuValues]()
    x = np.empty((size, sizes.positions, sizes.dim), np.float32)
    for mlp, columns, positions in zip(layers.inputs, input_columns(shape), _positions(sizes), strict=True):
        vectors = features[:, columns].reshape(size * len(columns), columns.shape[1])
        inputs.append(forward(mlp, vectors, False, shape.matrix_precision))
        x[:, positions] = inputs[-1][-1].reshape(size, len(columns), sizes.dim)
    mask = _mask(sizes) if lengths is None else _mask(sizes) * _filled(sizes, lengths)
    for layer in layers.hstu:
        x = forward_layer(layer, x, layers.heads, mask, shape.matrix_precision, values)
    return x[:, -1].copy(), HistoryValues(inputs, values, mask)


def backward_histories(
    shape: Shape, layers: HistoryLayers, slopes: HistoryLayers, values: HistoryValues, gradient: Singles
) -> Singles:
    """Fill the gradients of all layers, `slopes`, and return the gradient of the features.

    `gradient` is the gradient of the candidate's last position, (B, D).
    """
    sizes, size, precision = layers.sizes, len(gradient), shape.matrix_precision
    of_x = np.zeros((size, sizes.positions, sizes.dim), np.float32)
    of_x[:, -1] = gradient
    for layer, slope, layer_values in zip(reversed(layers.hstu), reversed(slopes.hstu), reversed(values.layers), strict=True):
        of_x = backward_layer(layer, slope, layer_values, of_x, values.mask, precision)
    of_features = np.empty((size, shape.features_width), np.float32)
    inputs = zip(layers.inputs, slopes.inputs, values.inputs, input_columns(shape), _positions(sizes), strict=True)
    for mlp, mlp_slopes, outputs, columns, positions in inputs:
        rows = max(1, len(columns))
        of_output = of_x[:, positions].reshape(size * len(columns), sizes.dim).copy()
        of_linear = backward(mlp, mlp_slopes, outputs, of_output, False, precision, rows)
        of_features[:, columns] = through(mlp[0], of_linear, precision, rows).reshape(size, *columns.shape)
    return of_features


@lru_cache(maxsize=32)
def input_columns(shape: Shape) -> tuple[Ints, ...]:
    """Return the columns of the features that each input MLP reads.

    Each array is (vectors of a sample, width).
    The MLPs are in the order of the layers: events, candidate, contexts by their width.
    """
    columns_by_table, contexts = list[Ints](), defaultdict[int, list[Ints]](list)
    contexts[shape.bottom[-1]].append(np.arange(shape.bottom[-1]).reshape(1, -1))
    lookups = shape.hstu.lookups if shape.hstu else ()
    for place in placed_spans(shape):
        vectors = np.arange(place.columns.start, place.columns.stop).reshape(place.span.tables, -1, place.span.dim)
        for is_history, columns in zip(lookups[place.tables], vectors, strict=True):
            if is_history:
                columns_by_table.append(columns)
            else:
                contexts[place.span.dim].append(columns)
    history = np.concatenate(columns_by_table, axis=1)
    return history[:-1], history[-1:], *(np.concatenate(columns) for _, columns in sorted(contexts.items()))


def _positions(sizes: SequenceShape) -> list[slice]:
    """Return the positions that each input MLP fills: events, candidate, contexts by their width."""
    ends = np.cumsum([0, *(count for count, _ in sizes.contexts)]).tolist()
    contexts = [slice(start, end) for start, end in pairwise(ends)]
    return [slice(ends[-1], sizes.positions - 1), slice(sizes.positions - 1, sizes.positions), *contexts]


@lru_cache(maxsize=32)
def _mask(sizes: SequenceShape) -> Singles:
    return visible(total(count for count, _ in sizes.contexts), sizes.positions)


def _filled(sizes: SequenceShape, lengths: Ints) -> Singles:
    """Return 1 for each position of a sample that has a lookup, else 0: (B, 1, 1, S).

    A shorter history is spread over the positions of events, in its order, as the lookups of a bag over its features.
    """
    places, filled = sizes.events + 1, np.ones((len(lengths), 1, 1, sizes.positions), np.float32)
    filled[:, 0, 0, -places:] = np.diff(lengths[:, None] * np.arange(places + 1) // places, axis=1)
    return filled
