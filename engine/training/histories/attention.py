"""One HSTU layer, forward and backward (Zhai et al., arXiv 2402.17152).

    U, V, Q, K = SiLU(norm(x) W + b)
    A = SiLU(Q K^T / sqrt(head dim)) / positions, where a position sees the contexts and no later position
    y = x + (norm(A V), U, U * norm(A V)) W' + b', or x + (U * norm(A V)) W' + b'

The norms have no weights. There is no dropout, and no weight by position or time.
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays import Singles
from ...hardware.sequence_layers import PARTS
from ..products import LOSS_SCALE, Layer, operand

EPSILON = np.float32(1e-6)  # of the norms' variance, as in the reference


class HstuLayer(NamedTuple):
    """One HSTU layer.

    inner: from a position to gates, values, queries and keys of all heads, in this order.
    output: from normalised attention, gates and their product, or from the product alone, to a position.
    """

    inner: Layer
    output: Layer


class HstuValues(NamedTuple):
    """Values of one HSTU layer in a forward pass.

    B samples have S positions each, and H heads have d elements.

    normed, scale: the normalised input (B * S, D), and its factor (B * S, 1).
    linear: gates, values, queries and keys before their SiLU, (B * S, 4 * H * d).
    active: the same after it.
    scores: products of queries and keys over sqrt(d), (B, H, S, S).
    weights: the attention's weights, (B, H, S, S).
    attended, attended_scale: the normalised attention (B * S, H * d), and its factor (B * S, 1).
    gated: the input of the layer's output, (B * S, 3 * H * d) or (B * S, H * d).
    """

    normed: Singles
    scale: Singles
    linear: Singles
    active: Singles
    scores: Singles
    weights: Singles
    attended: Singles
    attended_scale: Singles
    gated: Singles


def visible(contexts: int, positions: int) -> Singles:
    """Return 1 / positions where position i (row) sees position j, else 0: (S, S).

    The first `contexts` positions are seen by all.
    """
    order = np.arange(positions)
    seen = (order[None, :] <= order[:, None]) | (order[None, :] < contexts)
    return np.asarray(seen / np.float32(positions), dtype=np.float32)


def forward_layer(layer: HstuLayer, x: Singles, heads: int, mask: Singles, precision: str, values: list[HstuValues]) -> Singles:
    """Return the layer's output, (B, S, D), and append its values to `values`.

    `x` (B, S, D) are the positions.
    Operands of matrix products are rounded to `precision`.
    """
    size, _, dim = x.shape
    normed, scale = _normalised(x.reshape(-1, dim))
    linear = operand(normed, precision) @ operand(layer.inner.weight, precision).T + layer.inner.bias
    active = linear * _sigmoid(linear)
    gates, (_, value, query, key) = active[:, : active.shape[1] // PARTS], _by_head(active, size, heads)
    scores = operand(query, precision) @ operand(key, precision).swapaxes(2, 3) * _score_factor(query)
    weights = scores * _sigmoid(scores) * mask
    attended, attended_scale = _normalised(_by_position(operand(weights, precision) @ operand(value, precision)))
    gated = gates * attended
    if layer.output.weight.shape[1] > gated.shape[1]:
        gated = np.concatenate((attended, gates, gated), axis=1)
    y = operand(gated, precision) @ operand(layer.output.weight, precision).T + layer.output.bias
    values.append(HstuValues(normed, scale, linear, active, scores, weights, attended, attended_scale, gated))
    return np.asarray(x + y.reshape(x.shape))


def backward_layer(
    layer: HstuLayer, slopes: HstuLayer, values: HstuValues, gradient: Singles, mask: Singles, precision: str
) -> Singles:
    """Write the layer's gradients into `slopes`; return the gradient of its input, (B, S, D).

    `gradient` is the gradient of the layer's output, (B, S, D). `values` are those that `forward_layer` appended.
    """
    size, positions, dim = gradient.shape
    loss_scale, heads = LOSS_SCALE * size, values.scores.shape[1]
    of_gated = _linear_back(layer.output, slopes.output, values.gated, gradient.reshape(-1, dim), precision, loss_scale)
    width, of_active = values.attended.shape[1], np.empty_like(values.active)
    of_product = of_gated[:, -width:]
    of_attended, of_gates = of_product * values.active[:, :width], of_product * values.attended
    if of_gated.shape[1] > width:
        of_attended, of_gates = of_attended + of_gated[:, :width], of_gates + of_gated[:, width : 2 * width]
    of_active[:, :width] = of_gates
    of_attended = _normalised_back(of_attended, values.attended, values.attended_scale)

    _, value, query, key = (operand(part, precision) for part in _by_head(values.active, size, heads))
    _, of_value, of_query, of_key = _by_head(of_active, size, heads)
    of_heads = operand(of_attended.reshape(size, positions, heads, -1).transpose(0, 2, 1, 3), precision, loss_scale)
    of_value[:] = operand(values.weights, precision).swapaxes(2, 3) @ of_heads
    of_scores = of_heads @ value.swapaxes(2, 3) * mask * _silu_slope(values.scores) * _score_factor(query)
    of_scores = operand(of_scores, precision, loss_scale)
    of_query[:] = of_scores @ key
    of_key[:] = of_scores.swapaxes(2, 3) @ query

    of_linear = of_active * _silu_slope(values.linear)
    of_normed = _linear_back(layer.inner, slopes.inner, values.normed, of_linear, precision, loss_scale)
    return np.asarray(gradient + _normalised_back(of_normed, values.normed, values.scale).reshape(gradient.shape))


def _linear_back(layer: Layer, slopes: Layer, inputs: Singles, gradient: Singles, precision: str, loss_scale: float) -> Singles:
    """Write a linear layer's gradients into `slopes`; return the gradient of its inputs."""
    slopes.bias[:] = gradient.sum(axis=0)
    slope = operand(gradient, precision, loss_scale)
    np.matmul(slope.T, operand(inputs, precision), out=slopes.weight)
    return np.asarray(slope @ operand(layer.weight, precision))


def _by_head(active: Singles, size: int, heads: int) -> tuple[Singles, ...]:
    """Return gates, values, queries and keys as views (B, H, S, d) of an array (B * S, 4 * H * d)."""
    parts = active.reshape(size, len(active) // size, PARTS, heads, -1).transpose(2, 0, 3, 1, 4)
    return tuple(parts)


def _by_position(parts: Singles) -> Singles:
    """Return an array (B, H, S, d) as (B * S, H * d)."""
    size, heads, positions, width = parts.shape
    return parts.transpose(0, 2, 1, 3).reshape(size * positions, heads * width)


def _score_factor(query: Singles) -> np.float32:
    return np.float32(1.0 / np.sqrt(query.shape[-1]))


def _normalised(x: Singles) -> tuple[Singles, Singles]:
    """Return rows with mean 0 and variance 1, and the factor that did it, (rows, 1)."""
    centred = x - x.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + EPSILON)
    return centred * scale, scale


def _normalised_back(gradient: Singles, normed: Singles, scale: Singles) -> Singles:
    """Return the gradient of rows before `_normalised`."""
    along = np.mean(gradient * normed, axis=1, keepdims=True)
    return np.asarray((gradient - gradient.mean(axis=1, keepdims=True) - normed * along) * scale)


def _sigmoid(x: Singles) -> Singles:
    return np.asarray(1 / (1 + np.exp(-x)))


def _silu_slope(x: Singles) -> Singles:
    """Return the derivative of x * sigmoid(x)."""
    sigmoid = _sigmoid(x)
    return np.asarray(sigmoid * (1 + x * (1 - sigmoid)))
