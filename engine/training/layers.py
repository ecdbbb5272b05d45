"""The layers of a DLRM, forward and backward: fully connected layers, feature interaction, and the loss of a click."""

from collections.abc import Sequence

import numpy as np

from ..core.arrays import Singles
from ..core.jit import entry
from .products import LOSS_SCALE, operand
from .shape import Shape, TableSpan, placed
from .weights import Layer


def forward(layers: Sequence[Layer], x: Singles, last_relu: bool, precision: str) -> list[Singles]:
    """Return the input and every layer's (B, out) output; each goes through a ReLU, the last only if `last_relu`.

    Here and below operands of products are rounded to a precision.
    """
    outputs = [x]
    for layer in layers:
        y = operand(outputs[-1], precision) @ operand(layer.weight, precision).T
        _finish(y, layer.bias, last_relu or layer is not layers[-1])
        outputs.append(y)
    return outputs


def backward(
    layers: Sequence[Layer],
    gradients: Sequence[Layer],
    outputs: list[Singles],
    gradient: Singles,
    last_relu: bool,
    precision: str,
) -> Singles:
    """Fill `gradients` from that of the last output, which is overwritten, and return that of the first layer's output.

    The gradient of the MLP's own input, which the bottom MLP has no use for, is `through(layers[0], gradient, precision)`.
    """
    for k in range(len(layers) - 1, -1, -1):
        _start_back(gradient, outputs[k + 1], gradients[k].bias, last_relu or k < len(layers) - 1)
        slope = operand(gradient, precision, LOSS_SCALE * len(gradient))
        np.matmul(slope.T, operand(outputs[k], precision), out=gradients[k].weight)
        if k:
            gradient = slope @ operand(layers[k].weight, precision)
    return gradient


def through(layer: Layer, gradient: Singles, precision: str) -> Singles:
    """Return the gradient of a layer's input from that of its linear output."""
    return operand(gradient, precision, LOSS_SCALE * len(gradient)) @ operand(layer.weight, precision)


@entry
def _finish(y: Singles, bias: Singles, relu: bool) -> None:
    """Add the biases and apply the ReLU, in place."""
    zero = np.float32(0.0)
    for sample in range(y.shape[0]):
        for n in range(y.shape[1]):
            value = y[sample, n] + bias[n]
            y[sample, n] = zero if relu and value < zero else value


@entry
def _start_back(gradient: Singles, y: Singles, bias_gradient: Singles, relu: bool) -> None:
    """Stop the gradient where the ReLU did, in place, and sum the biases' over samples."""
    zero = np.float32(0.0)
    for n in range(bias_gradient.size):
        bias_gradient[n] = zero
    for sample in range(y.shape[0]):
        for n in range(y.shape[1]):
            value = zero if relu and not y[sample, n] > zero else gradient[sample, n]
            gradient[sample, n] = value
            bias_gradient[n] += value


def project(shape: Shape, matrices: Sequence[Singles], features: Singles, precision: str) -> Singles:
    """Return (B, V) vectors for the interaction: the (B, features), of projected tables times their matrices.

    Source: Ginart et al., Mixed Dimension Embeddings, arXiv 1909.11810.
    """
    if not matrices:
        return features
    width, ahead = shape.bottom[-1], iter(matrices)
    vectors = np.empty((len(features), 1 + shape.num_vectors, width), np.float32)
    vectors[:, 0] = features[:, :width]
    for span, _, columns, numbers, _, _ in placed(shape):
        pooled, into = _by_table(features[:, columns], span), _vectors(vectors, numbers)
        if span.dim == width:
            into[:] = pooled
        else:
            matrix = np.repeat(operand(next(ahead), precision), span.features, axis=0)
            np.matmul(operand(pooled, precision), matrix.transpose(0, 2, 1), out=into)
    return vectors.reshape(len(features), -1)


def project_back(
    shape: Shape,
    matrices: Sequence[Singles],
    gradients: Sequence[Singles],
    features: Singles,
    gradient: Singles,
    precision: str,
) -> Singles:
    """Fill `gradients` of the matrices from that of the (B, V) vectors, and return that of the (B, features)."""
    if not matrices:
        return gradient
    width, scale, ahead = shape.bottom[-1], LOSS_SCALE * len(gradient), zip(matrices, gradients, strict=True)
    of_vectors, of_features = gradient.reshape(len(gradient), -1, width), np.empty_like(features)
    of_features[:, :width] = of_vectors[:, 0]
    for span, _, columns, numbers, _, _ in placed(shape):
        slope, into = _vectors(of_vectors, numbers), _by_table(of_features[:, columns], span)
        if span.dim == width:
            into[:] = slope
            continue
        matrix, of_matrix = next(ahead)
        slope, pooled = operand(slope, precision, scale), operand(_by_table(features[:, columns], span), precision)
        of_vector = np.matmul(slope.transpose(0, 2, 1), pooled)
        np.sum(of_vector.reshape(span.tables, span.features, *of_vector.shape[1:]), axis=1, out=of_matrix)
        np.matmul(slope, np.repeat(operand(matrix, precision), span.features, axis=0), out=into)
    return of_features


def _by_table(columns: Singles, span: TableSpan) -> Singles:
    """Return (vectors, B, dim) pooled vectors as a view of a span's columns."""
    return columns.reshape(len(columns), span.vectors, span.dim).transpose(1, 0, 2)


def _vectors(vectors: Singles, numbers: slice) -> Singles:
    """Return (vectors, B, D) as a view of those of a sample, by number."""
    return vectors[:, numbers].transpose(1, 0, 2)


def _averaged(features: Singles, stride: int) -> Singles:
    """Return the means of neighbours, so many at a time; the last ones may be fewer."""
    first = np.arange(0, features.shape[1], stride)
    sums = np.add.reduceat(features, first, axis=1)
    return np.asarray(sums / np.diff(first, append=features.shape[1]).astype(np.float32), dtype=np.float32)


def _averaged_back(gradient: Singles, width: int, stride: int) -> Singles:
    """Return the gradient of so many features from that of their means."""
    each = np.diff(np.arange(0, width, stride), append=width)
    return np.repeat(gradient / each.astype(np.float32), each, axis=1)


def interact(shape: Shape, vectors: Singles) -> Singles:
    """Return (B, top input) from (B, V) vectors, before a cross network if there is one."""
    if shape.interaction != "dot":
        return vectors if shape.stride == 1 else _averaged(vectors, shape.stride)
    output = np.empty((len(vectors), shape.top_input), np.float32)
    _products(vectors.reshape(len(vectors), -1, shape.bottom[-1]), output)
    return output


def interact_back(shape: Shape, vectors: Singles, gradient: Singles) -> Singles:
    """Return the gradient of (B, V) vectors from that of the interaction's output."""
    if shape.interaction != "dot":
        return gradient if shape.stride == 1 else _averaged_back(gradient, vectors.shape[1], shape.stride)
    output = np.empty_like(vectors)
    cut = (len(vectors), -1, shape.bottom[-1])
    _products_back(vectors.reshape(cut), gradient, output.reshape(cut))
    return output


@entry
def _products(vectors: Singles, output: Singles) -> None:
    """Write dense vectors and products; a row of products is summed over columns, so that it vectorises in order."""
    count, dim = vectors.shape[1:]
    columns = np.empty((dim, count), np.float32)
    row = np.empty(count, np.float32)
    for sample in range(vectors.shape[0]):
        for d in range(dim):
            output[sample, d] = vectors[sample, 0, d]
            for i in range(count):
                columns[d, i] = vectors[sample, i, d]
        at = dim
        for i in range(1, count):
            for j in range(i):
                row[j] = np.float32(0.0)
            for d in range(dim):
                factor = vectors[sample, i, d]
                for j in range(i):
                    row[j] += factor * columns[d, j]
            for j in range(i):
                output[sample, at + j] = row[j]
            at += i


@entry
def _products_back(vectors: Singles, gradient: Singles, output: Singles) -> None:
    """Each product's gradient goes to both of its vectors, times the other."""
    count, dim = vectors.shape[1:]
    for sample in range(vectors.shape[0]):
        for i in range(count):
            for d in range(dim):
                output[sample, i, d] = np.float32(0.0) if i else gradient[sample, d]
        at = dim
        for i in range(1, count):
            for j in range(i):
                factor = gradient[sample, at + j]
                for d in range(dim):
                    output[sample, i, d] += factor * vectors[sample, j, d]
                    output[sample, j, d] += factor * vectors[sample, i, d]
            at += i


def losses(logits: Singles, labels: Singles) -> Singles:
    """Return each sample's loss, in nats, without overflow for any logit."""
    zero = np.float32(0.0)
    positive = np.maximum(logits, zero)
    return np.asarray(positive - logits * labels + np.log1p(np.exp(-np.abs(logits))), dtype=np.float32)


def loss_gradient(logits: Singles, labels: Singles) -> Singles:
    """Return the gradient of the mean loss: (click probability - label) / B."""
    small = np.exp(-np.abs(logits))
    probability = np.where(logits >= 0, np.float32(1.0), small) / (np.float32(1.0) + small)
    return np.asarray((probability - labels) / np.float32(len(labels)), dtype=np.float32)
