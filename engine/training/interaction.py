"""Feature interaction: pairwise dot products of a sample's vectors, or their plain concatenation.

A sample's V vectors are its features cut in V pieces: the dense vector first, then one per table. The top MLP gets
the dense vector and the products of vectors i > j in row order, as in the reference DLRM (arXiv 1906.00091).
"""

import numpy as np
from numba import njit

from ..core.arrays import Singles
from .shape import Shape


def interact(shape: Shape, features: Singles) -> Singles:
    """Return (B, top input) from (B, features)."""
    if shape.interaction == "concat":
        return features
    output = np.empty((len(features), shape.top_input), np.float32)
    _products(features.reshape(len(features), -1, shape.dim), output)
    return output


def interact_back(shape: Shape, features: Singles, gradient: Singles) -> Singles:
    """Return the gradient of (B, features) from that of the interaction's output."""
    if shape.interaction == "concat":
        return gradient
    output = np.empty_like(features)
    cut = (len(features), -1, shape.dim)
    _products_back(features.reshape(cut), gradient, output.reshape(cut))
    return output


@njit(cache=True, nogil=True)
def _products(vectors, output):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def _products_back(vectors, gradient, output):  # type: ignore[no-untyped-def]
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
