"""The layers of a DLRM, forward and backward.

The layers are fully connected layers, the feature interaction, and the loss of a click prediction.
"""

from collections.abc import Sequence

import numpy as np

from ..core.arrays import Index, Singles, aligned_empty
from ..core.jit import entry_kernel, inner_kernel
from .products import LOSS_SCALE, Layer, operand
from .shape import Shape, placed_spans
from .spans import TableSpan

VECTORS = 32  # whose products with another vector are computed together: they stay in the processor's cache
SAMPLES, ELEMENTS = 16, 16  # side by side; with fewer, loops are unrolled before they vectorise, and three times slower


def forward(layers: Sequence[Layer], x: Singles, last_relu: bool, precision: str) -> list[Singles]:
    """Return the input of an MLP, and then the (B, out) output of each layer.

    Each layer ends in a ReLU, the last layer only if `last_relu`.
    Operands of matrix products are rounded to `precision`.
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
    rows: int = 1,
) -> Singles:
    """Write the layers' gradients into `gradients`; return the gradient of the first layer's linear output.

    `gradient` is the gradient of the last layer's output, and is overwritten. The function does not compute the gradient of the
    MLP's input, which the bottom MLP does not need; `through(layers[0], gradient, precision, rows)` returns it.
    `rows`: the rows of `gradient` that belong to one sample.
    """
    for k in range(len(layers) - 1, -1, -1):
        _start_back(gradient, outputs[k + 1], gradients[k].bias, last_relu or k < len(layers) - 1)
        slope = operand(gradient, precision, LOSS_SCALE * len(gradient) / rows)
        np.matmul(slope.T, operand(outputs[k], precision), out=gradients[k].weight)
        if k:
            gradient = slope @ operand(layers[k].weight, precision)
    return gradient


def through(layer: Layer, gradient: Singles, precision: str, rows: int = 1) -> Singles:
    """Return the gradient of a layer's input from the gradient of its linear output.

    `rows`: the rows of `gradient` that belong to one sample.
    """
    return operand(gradient, precision, LOSS_SCALE * len(gradient) / rows) @ operand(layer.weight, precision)


@entry_kernel
def _finish(y: Singles, bias: Singles, relu: bool) -> None:
    """Add the biases and apply the ReLU, in place."""
    zero = np.float32(0.0)
    for sample in range(y.shape[0]):
        for n in range(y.shape[1]):
            activation = y[sample, n] + bias[n]
            y[sample, n] = zero if relu and activation < zero else activation


@entry_kernel
def _start_back(gradient: Singles, y: Singles, bias_gradient: Singles, relu: bool) -> None:
    """Set the gradient to 0 where the ReLU's output is 0, in place, and sum the biases' gradient over samples."""
    zero = np.float32(0.0)
    for n in range(bias_gradient.size):
        bias_gradient[n] = zero
    for sample in range(y.shape[0]):
        for n in range(y.shape[1]):
            slope = zero if relu and not y[sample, n] > zero else gradient[sample, n]
            gradient[sample, n] = slope
            bias_gradient[n] += slope


def project(shape: Shape, matrices: Sequence[Singles], features: Singles, precision: str) -> Singles:
    """Return the (B, V) vectors that the interaction multiplies with each other.

    The pooled vectors in `features` (B, features width) whose width differs from the bottom MLP's output are multiplied by
    the `matrices` of their tables.

    Source: Ginart et al., Mixed Dimension Embeddings, arXiv 1909.11810.
    """
    if not matrices:
        return features
    width, projections = shape.bottom[-1], iter(matrices)
    vectors = np.empty((len(features), 1 + shape.num_vectors, width), np.float32)
    vectors[:, 0] = features[:, :width]
    for span, _, columns, numbers, _, _ in placed_spans(shape):
        pooled, target = _by_table(features[:, columns], span), _vectors(vectors, numbers)
        if span.dim == width:
            target[:] = pooled
        else:
            matrix = np.repeat(operand(next(projections), precision), span.features, axis=0)
            np.matmul(operand(pooled, precision), matrix.transpose(0, 2, 1), out=target)
    return vectors.reshape(len(features), -1)


def project_back(
    shape: Shape,
    matrices: Sequence[Singles],
    gradients: Sequence[Singles],
    features: Singles,
    gradient: Singles,
    precision: str,
) -> Singles:
    """Write the matrices' gradients into `gradients`; return the gradient of `features`.

    `gradient` is the gradient of the (B, V) vectors that `project` returned. The result has the shape of `features`.
    """
    if not matrices:
        return gradient
    width, scale, projections = shape.bottom[-1], LOSS_SCALE * len(gradient), zip(matrices, gradients, strict=True)
    of_vectors, of_features = gradient.reshape(len(gradient), -1, width), np.empty_like(features)
    of_features[:, :width] = of_vectors[:, 0]
    for span, _, columns, numbers, _, _ in placed_spans(shape):
        slope, target = _vectors(of_vectors, numbers), _by_table(of_features[:, columns], span)
        if span.dim == width:
            target[:] = slope
            continue
        matrix, of_matrix = next(projections)
        slope, pooled = operand(slope, precision, scale), operand(_by_table(features[:, columns], span), precision)
        of_vector = np.matmul(slope.transpose(0, 2, 1), pooled)
        np.sum(of_vector.reshape(span.tables, span.features, *of_vector.shape[1:]), axis=1, out=of_matrix)
        np.matmul(slope, np.repeat(operand(matrix, precision), span.features, axis=0), out=target)
    return of_features


def _by_table(columns: Singles, span: TableSpan) -> Singles:
    """Return (vectors, B, dim) pooled vectors as a view of a span's columns."""
    return columns.reshape(len(columns), span.vectors, span.dim).transpose(1, 0, 2)


def _vectors(vectors: Singles, numbers: slice) -> Singles:
    """Return (vectors, B, D) as a view of the vectors with these numbers in each sample."""
    return vectors[:, numbers].transpose(1, 0, 2)


def _averaged(features: Singles, stride: int) -> Singles:
    """Return the means of groups of `stride` neighbouring features; the last group may be smaller."""
    starts = np.arange(0, features.shape[1], stride)
    sums = np.add.reduceat(features, starts, axis=1)
    return np.asarray(sums / np.diff(starts, append=features.shape[1]).astype(np.float32), dtype=np.float32)


def _averaged_back(gradient: Singles, width: int, stride: int) -> Singles:
    """Return the gradient of `width` features from the gradient of their means."""
    group_sizes = np.diff(np.arange(0, width, stride), append=width)
    return np.repeat(gradient / group_sizes.astype(np.float32), group_sizes, axis=1)


def interact(shape: Shape, vectors: Singles) -> Singles:
    """Return the interaction's output (B, width) of (B, V) vectors, before any cross network."""
    if shape.interaction != "dot":
        return vectors if shape.stride == 1 else _averaged(vectors, shape.stride)
    output = aligned_empty((len(vectors), shape.top_input))
    _products(vectors.reshape(len(vectors), -1, shape.bottom[-1]), output)
    return output


def interact_back(shape: Shape, vectors: Singles, gradient: Singles) -> Singles:
    """Return the gradient of (B, V) vectors from the gradient of the interaction's output."""
    if shape.interaction != "dot":
        return gradient if shape.stride == 1 else _averaged_back(gradient, vectors.shape[1], shape.stride)
    output = aligned_empty(vectors.shape)
    cut = (len(vectors), -1, shape.bottom[-1])
    _products_back(vectors.reshape(cut), gradient, output.reshape(cut))
    return output


@entry_kernel
def _products(vectors: Singles, output: Singles) -> None:
    """Write dense vectors and products.

    SAMPLES samples lie side by side, so sums vectorise; each product is summed element by element, in a fixed order.
    """
    count, dim = vectors.shape[1:]
    columns = np.zeros((count, -(-dim // ELEMENTS) * ELEMENTS, SAMPLES), np.float32)
    products = np.empty((VECTORS, SAMPLES), np.float32)
    for first in range(0, vectors.shape[0], SAMPLES):
        size = min(SAMPLES, vectors.shape[0] - first)
        for s in range(size):
            sample = vectors[first + s]
            output[first + s, :dim] = sample[0]
            for i in range(count):
                for d in range(dim):
                    columns[i, d, s] = sample[i, d]
        for begin in range(0, count, VECTORS):
            for i in range(begin + 1, count):
                end = min(begin + VECTORS, i)
                _multiply(columns, i, begin, end, products)
                offset = dim + i * (i - 1) // 2
                for s in range(size):
                    row = output[first + s, offset + begin : offset + end]
                    for j in range(row.size):
                        row[j] = products[j, s]


@inner_kernel
def _multiply(columns: Singles, i: Index, begin: Index, end: Index, products: Singles) -> None:
    """Write the products of vector i with vectors `begin` to `end` - 1, for SAMPLES samples."""
    products[: end - begin] = np.float32(0.0)
    for start in range(0, columns.shape[1], ELEMENTS):
        factors = columns[i, start : start + ELEMENTS]
        for j in range(begin, end):
            others, sums = columns[j, start : start + ELEMENTS], products[j - begin]
            for s in range(SAMPLES):
                total = sums[s]
                for d in range(ELEMENTS):
                    total += factors[d, s] * others[d, s]
                sums[s] = total


@entry_kernel
def _products_back(vectors: Singles, gradient: Singles, output: Singles) -> None:
    """Add each product's gradient, times one of its vectors, to the gradient of the other vector."""
    count, dim = vectors.shape[1:]
    for sample in range(vectors.shape[0]):
        for i in range(count):
            for d in range(dim):
                output[sample, i, d] = np.float32(0.0) if i else gradient[sample, d]
        offset = dim
        for i in range(1, count):
            for j in range(i):
                factor = gradient[sample, offset + j]
                for d in range(dim):
                    output[sample, i, d] += factor * vectors[sample, j, d]
                    output[sample, j, d] += factor * vectors[sample, i, d]
            offset += i


def losses(logits: Singles, labels: Singles) -> Singles:
    """Return each sample's loss [nats], without overflow for any logit."""
    zero = np.float32(0.0)
    positive = np.maximum(logits, zero)
    return np.asarray(positive - logits * labels + np.log1p(np.exp(-np.abs(logits))), dtype=np.float32)


def loss_gradient(logits: Singles, labels: Singles) -> Singles:
    """Return the gradient of the mean loss: (click probability - label) / B."""
    small = np.exp(-np.abs(logits))
    probability = np.where(logits >= 0, np.float32(1.0), small) / (np.float32(1.0) + small)
    return np.asarray((probability - labels) / np.float32(len(labels)), dtype=np.float32)
