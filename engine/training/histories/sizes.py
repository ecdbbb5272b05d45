"""Sizes of HSTU layers in the trained model: positions, weights, operations.

The positions of a sample are its contexts, its events in order, and the candidate last. A context is the bottom MLP's output or
a pooled vector. An event is the vectors of all sequence tables at one place of the history; the candidate is the last place.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ...core.arithmetic import total
from ...core.work import SequenceShape
from ...hardware.sequence_layers import PARTS, input_layers
from ..spans import PlacedSpan


class HstuShape(NamedTuple):
    """The HSTU layers of a model, and the histories in its data.

    lookups: the lookups that a sample of the data has in each table of sequences; 0 for a table of bags, (T,).
    layers: the number of layers.
    dim: the elements of a position between layers.
    heads: the attention heads of a layer.
    head_dim: the elements of a query, a key, a value and a gate in one head.
    gated: the vectors of all heads that a layer's output reads: 3, or 1 for the gated attention alone.
    uneven: True if histories in the data differ in length, and longer ones than `lookups` are cut.
    """

    lookups: tuple[int, ...]
    layers: int
    dim: int
    heads: int
    head_dim: int
    gated: int = 3
    uneven: bool = False

    def divided(self, divisor: int) -> "HstuShape":
        """Return the layers with their widths divided, to at least 1."""
        return self._replace(dim=max(1, self.dim // divisor), head_dim=max(1, self.head_dim // divisor))


def sequence_shape(hstu: HstuShape, places: Sequence[PlacedSpan], dense_width: int) -> SequenceShape:
    """Return the sizes of the layers that read a sample's history.

    `dense_width`: elements of the bottom MLP's output.
    """
    contexts, event_width, longest = Counter({dense_width: 1}), 0, 1
    for place in places:
        for lookups, trained in zip(hstu.lookups[place.tables], place.pooling.tolist(), strict=True):
            if lookups:
                event_width, longest = event_width + place.span.dim, max(longest, trained)
            else:
                contexts[place.span.dim] += place.span.features
    positions = longest + total(contexts.values())
    return SequenceShape(
        events=longest - 1,
        positions=positions,
        squares=positions**2,
        uneven_events=1.0,
        uneven_squares=1.0,
        event_width=event_width,
        contexts=tuple((count, width) for width, count in sorted(contexts.items())),
        layers=hstu.layers,
        dim=hstu.dim,
        heads_dim=hstu.heads * hstu.head_dim,
        gated=hstu.gated,
    )


def sequence_products(shape: SequenceShape) -> int:
    """Return the multiplications of a sample in all matrix products of a forward pass.

    The whole square of positions counts: the later half of it is computed, and then masked.
    """
    inputs = total(count * n * m for count, widths in input_layers(shape) for m, n in pairwise(widths))
    layer = shape.positions * (PARTS + shape.gated) * shape.dim * shape.heads_dim + 2 * shape.squares * shape.heads_dim
    return int(inputs + shape.layers * layer)
