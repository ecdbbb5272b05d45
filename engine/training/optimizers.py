"""The optimizers: SGD, Adagrad by row or by element, and Adam, which leaves rows alone that a batch does not use (lazy).

A step is worked out from a summed gradient and what the optimizer keeps, then subtracted; a narrow row is rounded. Adam's
correction of its first means counts the batches of the run, as PyTorch's `SparseAdam` counts a table's.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Index, Ints, Singles, Slots
from ..core.jit import by_zero, inner
from ..scenario.storage import OPTIMIZERS
from .lookup import Early, Uses, by_feature, by_sample
from .precision import Rounding, descend, rounding
from .prefetch import fetch
from .shape import Shape, placed
from .weights import Weights, first_places

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


def rule(optimizer: str, rate: float, batch: int, is_row: bool) -> Rule:
    """Return the rule of the run's batch `batch`; Adam's correction is PyTorch's: of rows, `epsilon` is not corrected.

    Dense layers have no rows: row-wise Adagrad is Adagrad there.
    """
    kind, epsilon = OPTIMIZERS.index(optimizer), EPSILON
    kind = ADAGRAD if kind == ROWWISE and not is_row else kind
    if kind == ADAM:
        root = sqrt(1 - SECOND ** (batch + 1))
        rate, epsilon = rate * root / (1 - FIRST ** (batch + 1)), epsilon if is_row else epsilon * root
    return Rule(kind, np.float32(rate), np.float32(epsilon), np.float32(1 - FIRST), np.float32(1 - SECOND))


def update_rows(shape: Shape, weights: Weights, used: Sequence[Uses], gradient: Singles, early: Early | None, batch: int) -> None:
    """Update the rows in `used` from the (B, features) gradient, in place; what was looked up `early` is corrected in place."""
    rate = shape.learning_rate if shape.row_rate is None else shape.row_rate
    first = first_places(weights.blocks)
    for k, place in enumerate(placed(shape)):
        how = rule(place.span.optimizer, rate, batch, True)
        narrow = rounding(place.span.precision, weights.seed, batch)
        rows, here = weights.rows[first[k] : first[k + 1]], used[k]
        pooled, later = (early.features, early.uses[k]) if early else (gradient[:0], _no_uses(here))
        if place.span.features == 1:
            _step_rows(*weights.blocks[k], rows, here, gradient, place.columns.start, how, narrow, pooled, later)
            continue
        slopes, corrected = (by_feature(every[:, place.columns], place.span) for every in (gradient, pooled))
        _step_rows(*weights.blocks[k], rows, here, slopes, 0, how, narrow, corrected, later)
        pooled[:, place.columns] = by_sample(corrected, place.span)


def _no_uses(used: Uses) -> Uses:
    return Uses(used.unique[:0], used.first[:1], used.samples[:0], used.table[:1])


def update_mlp(shape: Shape, weights: Weights, gradient: Singles, batch: int) -> None:
    """Update all dense layers from the flat gradient, in place."""
    how = rule(shape.dense_optimizer, shape.learning_rate, batch, False)
    _step_mlp(weights.mlp, weights.mlp_state, gradient, how)


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
def _own_step(state: Any, k: int, size: int, slope: Any, how: Rule) -> Any:
    """Return the step of an element with a state of its own: Adagrad's is sums of squares, Adam's two rows of means."""
    if how.kind == SGD:
        return how.rate * slope
    if how.kind == ADAGRAD:
        state[k] += slope * slope
        return how.rate * slope / (np.sqrt(state[k]) + how.epsilon)
    state[k] += how.first * (slope - state[k])
    state[size + k] += how.second * (slope * slope - state[size + k])
    return how.rate * state[k] / (np.sqrt(state[size + k]) + how.epsilon)


@by_zero
def _step_rows(
    vectors: Singles,
    states: Singles,
    rows: Ints,
    used: Uses,
    gradient: Singles,
    column: int,
    how: Rule,
    narrow: Rounding,
    early: Singles,
    later: Uses,
) -> None:
    """Step each row against its summed gradient, and take what it lost from every early lookup of that row."""
    dim = vectors.shape[1]
    step = np.empty(dim, np.float32)
    meet = 0
    for t in range(used.table.size - 1):
        for u in range(used.table[t], used.table[t + 1]):
            row = used.unique[u]
            fetch(vectors, used.unique, u)
            _sum(step, used.samples, used.first[u], used.first[u + 1], gradient, column)
            if how.kind <= ROWWISE:
                _scale(states[row], step, how)
            else:
                for d in range(dim):
                    step[d] = _own_step(states[row], d, dim, step[d], how)
            descend(vectors[row], step, states[row], rows[row], narrow)
            while meet < later.unique.size and later.unique[meet] < row:
                meet += 1
            if meet < later.unique.size and later.unique[meet] == row:
                for k in range(later.first[meet], later.first[meet + 1]):
                    pooled = early[later.samples[k], column : column + dim]
                    for d in range(dim):
                        pooled[d] -= step[d]
        column += dim


@by_zero
def _step_mlp(mlp: Singles, state: Singles, gradient: Singles, how: Rule) -> None:
    for k in range(mlp.size):
        mlp[k] -= _own_step(state, k, mlp.size, gradient[k], how)
