"""The optimizers: plain SGD, or row-wise Adagrad for embeddings and Adagrad for the MLPs.

A row that several samples use gets the sum of their gradients once, in the order of the samples.
"""

import numpy as np
from numba import njit

from ..core.arrays import Singles
from .lookup import Uses
from .shape import Shape
from .weights import Weights

EPSILON = np.float32(1e-8)


def update_rows(shape: Shape, weights: Weights, used: Uses, gradient: Singles, early: tuple[Singles, Uses] | None) -> None:
    """Update the rows in `used` from the (B, features) gradient, in place.

    `early`, the features of the next batch looked up before this update and their uses, is corrected in place.
    """
    rate, column = np.float32(shape.learning_rate), shape.bottom[-1]
    rows = (used.unique, used.first, used.samples, used.table)
    if shape.adagrad:
        _adagrad_rows(weights.table, weights.row_state, *rows, gradient, column, rate)
        return
    features, later = early or (gradient[:0], Uses(used.unique[:0], used.first[:1], used.samples[:0], used.table[:1]))
    _sgd_rows(weights.table, *rows, gradient, column, rate, later.unique, later.first, later.samples, features)


def update_mlp(shape: Shape, weights: Weights, gradient: Singles) -> None:
    """Update both MLPs from the flat gradient, in place."""
    rate = np.float32(shape.learning_rate)
    if shape.adagrad:
        _adagrad_mlp(weights.mlp, weights.mlp_state, gradient, rate)
    else:
        _sgd_mlp(weights.mlp, gradient, rate)


@njit(cache=True, nogil=True, inline="always")
def _sum(total, samples, first, last, gradient, column):  # type: ignore[no-untyped-def]
    """Sum the gradients of one row over its samples."""
    dim = total.size
    for d in range(dim):
        total[d] = np.float32(0.0)
    for k in range(first, last):
        part = gradient[samples[k], column : column + dim]
        for d in range(dim):
            total[d] += part[d]


@njit(cache=True, nogil=True)
def _sgd_rows(  # type: ignore[no-untyped-def]
    vectors, unique, first, samples, table, gradient, column, rate, later, later_first, later_samples, features
):
    """Step each row against its summed gradient; take the same step in every early lookup of that row."""
    dim = vectors.shape[1]
    step = np.empty(dim, np.float32)
    meet = 0
    for t in range(table.size - 1):
        for u in range(table[t], table[t + 1]):
            row = unique[u]
            _sum(step, samples, first[u], first[u + 1], gradient, column)
            vector = vectors[row]
            for d in range(dim):
                step[d] *= rate
                vector[d] -= step[d]
            while meet < later.size and later[meet] < row:
                meet += 1
            if meet < later.size and later[meet] == row:
                for k in range(later_first[meet], later_first[meet + 1]):
                    pooled = features[later_samples[k], column : column + dim]
                    for d in range(dim):
                        pooled[d] -= step[d]
        column += dim


@njit(cache=True, nogil=True, error_model="numpy")
def _adagrad_rows(vectors, state, unique, first, samples, table, gradient, column, rate):  # type: ignore[no-untyped-def]
    """Row-wise Adagrad: one sum per row, of the mean over its elements of the squared gradient."""
    dim = vectors.shape[1]
    total = np.empty(dim, np.float32)
    for t in range(table.size - 1):
        for u in range(table[t], table[t + 1]):
            row = unique[u]
            _sum(total, samples, first[u], first[u + 1], gradient, column)
            square = np.float32(0.0)
            for d in range(dim):
                square += total[d] * total[d]
            state[row] += square / np.float32(dim)
            factor = rate / (np.sqrt(state[row]) + EPSILON)
            vector = vectors[row]
            for d in range(dim):
                vector[d] -= factor * total[d]
        column += dim


@njit(cache=True, nogil=True)
def _sgd_mlp(mlp, gradient, rate):  # type: ignore[no-untyped-def]
    for k in range(mlp.size):
        mlp[k] -= rate * gradient[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _adagrad_mlp(mlp, state, gradient, rate):  # type: ignore[no-untyped-def]
    for k in range(mlp.size):
        state[k] += gradient[k] * gradient[k]
        mlp[k] -= rate * gradient[k] / (np.sqrt(state[k]) + EPSILON)
