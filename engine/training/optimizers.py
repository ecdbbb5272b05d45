"""The optimizers: SGD, Adagrad by row or element, and lazy Adam.

Lazy Adam skips rows that a batch does not use.
A step follows from the summed gradient and the optimizer's state, and is subtracted from the weights. A row narrower than fp32 is
then rounded. Adam's bias correction counts the run's trained batches, as PyTorch's `SparseAdam` counts the updates of a table.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Index, Ints, Singles, Slots
from ..core.jit import entry_kernel_by_zero, inner_kernel
from ..scenario.storage import OPTIMIZERS
from .lookup import EarlyLookup, RowUses, by_feature, by_sample, prefetch_row
from .precision import Rounding, descend, rounding
from .shape import Shape, placed_spans
from .weights import Weights, first_places

SGD, ROWWISE, ADAGRAD, ADAM = range(len(OPTIMIZERS))
EPSILON = 1e-8
FIRST_DECAY, SECOND_DECAY = 0.9, 0.999  # decay of Adam's two means (Kingma and Ba, arXiv 1412.6980)


class Rule(NamedTuple):
    """An optimizer with its numbers for one batch.

    kind: SGD, ROWWISE, ADAGRAD or ADAM.
    rate: the learning rate; for Adam multiplied by the bias correction.
    epsilon: the term that keeps the divisor above 0.
    first, second: the weights of a new gradient in Adam's means of the gradient and of its square.
    """

    kind: int
    rate: np.float32
    epsilon: np.float32
    first: np.float32
    second: np.float32


def rule(optimizer: str, rate: float, batch: int, is_row: bool) -> Rule:
    """Return the optimizer with its numbers for the run's trained batch `batch`.

    Adam's bias correction is PyTorch's; for rows, `epsilon` is not corrected. `is_row` is False for dense layers, where row-wise
    Adagrad becomes Adagrad.
    """
    kind, epsilon = OPTIMIZERS.index(optimizer), EPSILON
    kind = ADAGRAD if kind == ROWWISE and not is_row else kind
    if kind == ADAM:
        root = sqrt(1 - SECOND_DECAY ** (batch + 1))
        rate, epsilon = rate * root / (1 - FIRST_DECAY ** (batch + 1)), epsilon if is_row else epsilon * root
    return Rule(kind, np.float32(rate), np.float32(epsilon), np.float32(1 - FIRST_DECAY), np.float32(1 - SECOND_DECAY))


def update_rows(
    shape: Shape, weights: Weights, row_uses: Sequence[RowUses], gradient: Singles, early_lookup: EarlyLookup | None, batch: int
) -> None:
    """Update the rows in `row_uses`, and correct the next batch's `early_lookup`.

    `gradient` (B, features width) has the gradients of the pooled vectors. Weights and early lookup are changed in place.
    """
    rate = shape.learning_rate if shape.row_rate is None else shape.row_rate
    first_rows = first_places(weights.blocks)
    for k, place in enumerate(placed_spans(shape)):
        block_rule = rule(place.span.optimizer, rate, batch, True)
        block_rounding = rounding(place.span.precision, weights.seed, batch)
        rows, block_uses = weights.rows[first_rows[k] : first_rows[k + 1]], row_uses[k]
        pooled, next_uses = (
            (early_lookup.features, early_lookup.uses[k]) if early_lookup else (gradient[:0], _no_uses(block_uses))
        )
        if place.span.features == 1:
            _step_rows(
                *weights.blocks[k], rows, block_uses, gradient, place.columns.start, block_rule, block_rounding, pooled, next_uses
            )
            continue
        slopes, early_vectors = (by_feature(vectors[:, place.columns], place.span) for vectors in (gradient, pooled))
        _step_rows(*weights.blocks[k], rows, block_uses, slopes, 0, block_rule, block_rounding, early_vectors, next_uses)
        pooled[:, place.columns] = by_sample(early_vectors, place.span)


def _no_uses(row_uses: RowUses) -> RowUses:
    return RowUses(row_uses.unique[:0], row_uses.first[:1], row_uses.samples[:0], row_uses.table[:1])


def update_mlp(shape: Shape, weights: Weights, gradient: Singles, batch: int) -> None:
    """Update all dense layers from their flat gradient (P,), in place."""
    mlp_rule = rule(shape.dense_optimizer, shape.learning_rate, batch, False)
    _step_mlp(weights.mlp, weights.mlp_state, gradient, mlp_rule)


@inner_kernel
def _sum(total: Any, samples: Slots, first_sample: Index, end_sample: Index, gradient: Singles, column: int) -> None:
    """Sum the gradients of one row over its samples."""
    dim = total.size
    for d in range(dim):
        total[d] = np.float32(0.0)
    for k in range(first_sample, end_sample):
        part = gradient[samples[k], column : column + dim]
        for d in range(dim):
            total[d] += part[d]


@inner_kernel
def _scale(state: Any, step: Any, rule: Rule) -> None:
    """Scale a row's gradient to its step, in place.

    Row-wise Adagrad adds the mean of the squared elements to its state.
    """
    factor = rule.rate
    if rule.kind == ROWWISE:
        square = np.float32(0.0)
        for slope in step:
            square += slope * slope
        state[0] += square / np.float32(step.size)
        factor = rule.rate / (np.sqrt(state[0]) + rule.epsilon)
    for d in range(step.size):
        step[d] *= factor


@inner_kernel
def _scale_elements(state: Any, step: Any, rule: Rule) -> None:
    """Scale each element of a row's gradient to its step by its own state, in place.

    Each optimizer has a loop of its own, because a choice within the loop keeps it from being vectorised.
    """
    if rule.kind == ADAGRAD:
        for d in range(step.size):
            step[d] = _adagrad_step(state, d, step[d], rule)
    else:
        for d in range(step.size):
            step[d] = _adam_step(state, d, step.size, step[d], rule)


@inner_kernel
def _adagrad_step(state: Any, k: int, slope: Any, rule: Rule) -> Any:
    """Return the step of one element by its sum of squares."""
    state[k] += slope * slope
    return rule.rate * slope / (np.sqrt(state[k]) + rule.epsilon)


@inner_kernel
def _adam_step(state: Any, k: int, size: int, slope: Any, rule: Rule) -> Any:
    """Return the step of one of `size` elements by its two means."""
    state[k] += rule.first * (slope - state[k])
    state[size + k] += rule.second * (slope * slope - state[size + k])
    return rule.rate * state[k] / (np.sqrt(state[size + k]) + rule.epsilon)


@entry_kernel_by_zero
def _step_rows(
    vectors: Singles,
    states: Singles,
    rows: Ints,
    row_uses: RowUses,
    gradient: Singles,
    column: int,
    rule: Rule,
    row_rounding: Rounding,
    early_vectors: Singles,
    next_uses: RowUses,
) -> None:
    """Step each row against its summed gradient, and subtract the same step from every early lookup of that row."""
    dim = vectors.shape[1]
    step = np.empty(dim, np.float32)
    next_row = 0
    for t in range(row_uses.table.size - 1):
        for u in range(row_uses.table[t], row_uses.table[t + 1]):
            row = row_uses.unique[u]
            prefetch_row(vectors, row_uses.unique, u)
            _sum(step, row_uses.samples, row_uses.first[u], row_uses.first[u + 1], gradient, column)
            if rule.kind <= ROWWISE:
                _scale(states[row], step, rule)
            else:
                _scale_elements(states[row], step, rule)
            descend(vectors[row], step, states[row], rows[row], row_rounding)
            while next_row < next_uses.unique.size and next_uses.unique[next_row] < row:
                next_row += 1
            if next_row < next_uses.unique.size and next_uses.unique[next_row] == row:
                for k in range(next_uses.first[next_row], next_uses.first[next_row + 1]):
                    pooled = early_vectors[next_uses.samples[k], column : column + dim]
                    for d in range(dim):
                        pooled[d] -= step[d]
        column += dim


@entry_kernel_by_zero
def _step_mlp(mlp: Singles, state: Singles, gradient: Singles, rule: Rule) -> None:
    if rule.kind == SGD:
        for k in range(mlp.size):
            mlp[k] -= rule.rate * gradient[k]
    elif rule.kind == ADAGRAD:
        for k in range(mlp.size):
            mlp[k] -= _adagrad_step(state, k, gradient[k], rule)
    else:
        for k in range(mlp.size):
            mlp[k] -= _adam_step(state, k, mlp.size, gradient[k], rule)
