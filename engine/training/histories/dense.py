"""The dense layers that read histories, as views of one flat vector."""

from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from ...core.arrays import Singles
from ...core.work import SequenceShape
from ...hardware.sequence_layers import PARTS, input_layers, sequence_parameters
from ..products import Layer
from ..shape import Shape
from .attention import HstuLayer


class HistoryLayers(NamedTuple):
    """The layers that read histories.

    sizes: the sizes of the layers.
    heads: the attention heads of an HSTU layer.
    inputs: the MLPs of events, of the candidate, and of contexts by their width.
    hstu: the HSTU layers.
    """

    sizes: SequenceShape
    heads: int
    inputs: tuple[tuple[Layer, ...], ...]
    hstu: tuple[HstuLayer, ...]

    @property
    def linear(self) -> tuple[Layer, ...]:
        """All fully connected layers, in the order of the flat vector."""
        return (*chain.from_iterable(self.inputs), *chain.from_iterable(self.hstu))


def history_layers(shape: Shape, mlp: Singles) -> HistoryLayers | None:
    """Return the layers that read histories, views of the end of `mlp`.

    `mlp` is the flat vector of all dense layers.
    Return None for a model without histories.
    """
    if shape.hstu is None or shape.sequence is None:
        return None
    sizes = shape.sequence
    rest = mlp[mlp.size - sequence_parameters(sizes) :]

    def layer(inputs: int, outputs: int) -> Layer:
        nonlocal rest
        weight, bias, rest = np.split(rest, [inputs * outputs, (inputs + 1) * outputs])
        return Layer(weight.reshape(outputs, inputs), bias)

    mlps = tuple(tuple(layer(n, m) for n, m in pairwise(widths)) for _, widths in input_layers(sizes))
    hstu = tuple(
        HstuLayer(layer(sizes.dim, PARTS * sizes.heads_dim), layer(sizes.gated * sizes.heads_dim, sizes.dim))
        for _ in range(sizes.layers)
    )
    return HistoryLayers(sizes, shape.hstu.heads, mlps, hstu)
