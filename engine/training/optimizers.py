"""The optimizers: SGD, Adagrad by row or by element, and Adam, which leaves rows alone that a batch does not use (lazy).

A step is worked out from a summed gradient and what the optimizer keeps, then subtracted; a narrow row is rounded. Adam's
correction of its first means counts the batches of the run, as PyTorch's `SparseAdam` counts a table's.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Index, Ints, Places, Singles, Slots
from ..core.jit import by_zero, entry, inner
from ..scenario.storage import OPTIMIZERS
from .lookup import Uses
from .precision import Rounding, descend, rounding
from .shape import Shape
from .weights import Weights

SGD, ROWWISE, ADAGRAD, ADAM = range(len(OPTIMIZERS))
EPSILON = 1e-8
FIRST, SECOND = 0.9, 0.999  # what Adam's means keep of themselves (Kingma and Ba, arXiv 1412.6980)


class Rule(NamedTuple):
    """An optimizer in one batch: which, its rate, what keeps its divisor from 0, and what enters Adam's means."""

    kind: int
    rate: np.float32
    epsilon: np.float32
    first: np.float32
    second: np.float32


def rule(shape: Shape, batch: int, rows: bool) -> Rule:
    """Return the rule of the run's batch `batch`; Adam's correction is PyTorch's: of rows, `epsilon` is not corrected."""
    kind = OPTIMIZERS.index(shape.optimizer)
    own = shape.row_rate if rows else None
    rate, epsilon = shape.learning_rate if own is None else own, EPSILON
    if kind == ADAM:
        root = sqrt(1 - SECOND ** (batch + 1))
        rate, epsilon = rate * root / (1 - FIRST ** (batch + 1)), epsilon if rows else epsilon * root
    return Rule(kind, np.float32(rate), np.float32(epsilon), np.float32(1 - FIRST), np.float32(1 - SECOND))


def update_rows(
    shape: Shape, weights: Weights, used: Uses, gradient: Singles, early: tuple[Singles, Uses] | None, batch: int
) -> None:
    """Update the rows in `used` from the (B, features) gradient, in place.

    `early`, the features of the next batch looked up before this update and their uses, is corrected in place.
    """
    rows = (used.unique, used.first, used.samples, used.table)
    features, later = early or (gradient[:0], Uses(used.unique[:0], used.first[:1], used.samples[:0], used.table[:1]))
    others = later.unique, later.first, later.samples, features
    how, narrow = rule(shape, batch, True), rounding(shape.row_precision, weights.seed, batch)
    _step_rows(weights.table, weights.row_state, weights.rows, *rows, gradient, shape.bottom[-1], how, narrow, *others)


def update_mlp(shape: Shape, weights: Weights, gradient: Singles, batch: int) -> None:
    """Update both MLPs from the flat gradient, in place."""
    how = rule(shape, batch, False)
    if how.kind == SGD:
        _sgd_mlp(weights.mlp, gradient, how.rate)
    elif how.kind == ADAM:
        _adam_mlp(weights.mlp, *np.split(weights.mlp_state, 2), gradient, how)
    else:
        _adagrad_mlp(weights.mlp, weights.mlp_state, gradient, how)


@inner
def _sum(total: Any, samples: Slots, first: Index, last: Index, gradient: Singles, column: int) -> None:
    """Sum the gradients of one row over its samples."""
    dim = total.size
    for d in range(dim):
        total[d] = np.float32(0.0)
    for k in range(first, last):
        part = gradient[samples[k], column : column + dim]
        for d in range(dim):
            total[d] += part[d]


@inner
def _scale(state: Any, step: Any, how: Rule) -> None:
    """Make a row's gradient its step by one factor; row-wise Adagrad's state gains the mean of its elements' squares."""
    factor = how.rate
    if how.kind == ROWWISE:
        square = np.float32(0.0)
        for element in step:
            square += element * element
        state[0] += square / np.float32(step.size)
        factor = how.rate / (np.sqrt(state[0]) + how.epsilon)
    for d in range(step.size):
        step[d] *= factor


@inner
def _scale_each(state: Any, step: Any, how: Rule) -> None:
    """Make a row's gradient its step, element by element: Adagrad's state is sums of squares, Adam's two rows of means."""
    dim = step.size
    for d in range(dim):
        slope = step[d]
        if how.kind == ADAGRAD:
            state[d] += slope * slope
            step[d] = how.rate * slope / (np.sqrt(state[d]) + how.epsilon)
        else:
            state[d] += how.first * (slope - state[d])
            state[dim + d] += how.second * (slope * slope - state[dim + d])
            step[d] = how.rate * state[d] / (np.sqrt(state[dim + d]) + how.epsilon)


@by_zero
def _step_rows(
    vectors: Singles,
    states: Singles,
    rows: Ints,
    unique: Places,
    first: Ints,
    samples: Slots,
    table: Ints,
    gradient: Singles,
    column: int,
    how: Rule,
    narrow: Rounding,
    later: Places,
    later_first: Ints,
    later_samples: Slots,
    features: Singles,
) -> None:
    """Step each row against its summed gradient, and take what it lost from every early lookup of that row."""
    dim = vectors.shape[1]
    step = np.empty(dim, np.float32)
    meet = 0
    for t in range(table.size - 1):
        for u in range(table[t], table[t + 1]):
            row = unique[u]
            _sum(step, samples, first[u], first[u + 1], gradient, column)
            if how.kind <= ROWWISE:
                _scale(states[row], step, how)
            else:
                _scale_each(states[row], step, how)
            descend(vectors[row], step, states[row], rows[row], narrow)
            while meet < later.size and later[meet] < row:
                meet += 1
            if meet < later.size and later[meet] == row:
                for k in range(later_first[meet], later_first[meet + 1]):
                    pooled = features[later_samples[k], column : column + dim]
                    for d in range(dim):
                        pooled[d] -= step[d]
        column += dim


@entry
def _sgd_mlp(mlp: Singles, gradient: Singles, rate: np.float32) -> None:
    for k in range(mlp.size):
        mlp[k] -= rate * gradient[k]


@by_zero
def _adagrad_mlp(mlp: Singles, state: Singles, gradient: Singles, how: Rule) -> None:
    for k in range(mlp.size):
        state[k] += gradient[k] * gradient[k]
        mlp[k] -= how.rate * gradient[k] / (np.sqrt(state[k]) + how.epsilon)


@by_zero
def _adam_mlp(mlp: Singles, mean: Singles, square: Singles, gradient: Singles, how: Rule) -> None:
    for k in range(mlp.size):
        slope = gradient[k]
        mean[k] += how.first * (slope - mean[k])
        square[k] += how.second * (slope * slope - square[k])
        mlp[k] -= how.rate * mean[k] / (np.sqrt(square[k]) + how.epsilon)
