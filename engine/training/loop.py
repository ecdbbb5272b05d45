"""The training loop over batches, and the evaluation on held-out samples (loss, AUC, accuracy).

The same weights and batches give the same bytes, also if the loop is stopped and resumed.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite, sqrt

import numpy as np

from ..core.arrays import Floats, Places, Singles
from ..errors import Cancelled, CannotRun
from ..workload.batch import Batch
from .layers import losses
from .lookup import EarlyLookup, LocalBatch, localise, look_up
from .shape import Shape, trained_samples
from .step import StepResult, forward_pass, step
from .weights import RowBlock, Weights, copy_weights, dense_layers, rows_at

CHUNK = 2048  # samples at a time: their activations stay near the processor


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores on held-out samples.

    loss: mean loss [nats].
    auc: area under the ROC curve, None if all labels are the same.
    accuracy: the share of correct predictions.
    auc_error: the AUC's standard error.
    """

    loss: float
    auc: float | None
    accuracy: float
    auc_error: float | None = None

    @property
    def auc_with_error(self) -> tuple[float | None, float | None]:
        """(AUC, standard error of the AUC)."""
        return self.auc, self.auc_error


@dataclass(frozen=True)
class Scores:
    """Scores of the functional training; None if training was off or the score is undefined.

    loss, auc, accuracy: scores on held-out samples.
    training_loss, training_auc: scores of the predictions in the last pass of training.
    auc_error, training_auc_error: the standard errors of both AUCs, from the random choice of samples only.
    """

    loss: float | None = None
    auc: float | None = None
    accuracy: float | None = None
    training_loss: float | None = None
    training_auc: float | None = None
    auc_error: float | None = None
    training_auc_error: float | None = None


OnBatch = Callable[[int, StepResult, LocalBatch, Evaluation | None], None]


@dataclass(frozen=True, slots=True, eq=False)
class MlpSnapshot:
    """Both MLPs at the start of a batch, with their optimizer state."""

    mlp: Singles
    mlp_state: Singles


@dataclass(frozen=True, slots=True, eq=False)
class RowChange:
    """The rows that one batch updated, with their old and new values.

    places: the places of the rows in each block.
    before, after: the rows' vectors and states before and after the update, block by block.
    """

    places: tuple[Places, ...]
    before: tuple[RowBlock, ...]
    after: tuple[RowBlock, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TrainedStretch:
    """The results of training on batches first to last - 1.

    losses: the mean loss of each trained batch [nats].
    evaluations: by number n, the scores on held-out samples after n batches.
    kept: by number n, the MLPs at the start of batch n.
    recorded: by number n, the rows that batch n updated, or looked up if it was not trained.
    weights: the weights at the start of batch `last`.
    early: the relaxed lookup of batch `last` if training was stopped there, else None.
    """

    losses: "array[float]"
    evaluations: dict[int, Evaluation]
    kept: dict[int, MlpSnapshot]
    recorded: dict[int, RowChange]
    weights: Weights
    early: EarlyLookup | None = None


class TrainingStopped(Cancelled):
    """Raised when training is cancelled before batch `batch`; `trained` has its results so far."""

    def __init__(self, sentence: str, batch: int, trained: TrainedStretch) -> None:
        super().__init__(sentence)
        self.batch, self.trained = batch, trained


def train(
    shape: Shape,
    weights: Weights,
    source_batch: Callable[[int], Batch],
    first_batch: int,
    end_batch: int,
    *,
    keep: frozenset[int] = frozenset(),
    record: frozenset[int] = frozenset(),
    held_out: Batch | None = None,
    evaluations: frozenset[int] = frozenset(),
    relaxed: bool = False,
    train_every: int = 1,
    resume: TrainedStretch | None = None,
    on_batch: OnBatch = lambda number, step, batch, evaluation: None,
) -> TrainedStretch:
    """Train on batches `first_batch` to `end_batch` - 1, on a copy of `weights`.

    source_batch: returns the batch of a number.
    keep: the batches at whose start the MLPs are kept in the result.
    record: the batches whose updated rows are recorded in the result.
    held_out: the samples to evaluate on.
    evaluations: the numbers of trained batches after which to evaluate.
    relaxed: True to look up the next trained batch before the update of a batch.
    train_every: N to train only batches 0, N, 2N and so on; the other batches change no weight.
    resume: the `trained` of a TrainingStopped, to continue with the same bytes.
    on_batch: called as `on_batch(n, step, batch, evaluation)` after each trained batch; it may raise.

    If `on_batch` raises Cancelled, TrainingStopped is raised with the results so far. Without `resume`, the first batch is looked
    up after the previous update even if `relaxed`, because early vectors are not saved; so stretches that are trained one after
    the other equal an uncut training only up to rounding (exactly with pooling 1). Raises CannotRun if the training diverges.
    """
    trained_weights, test = copy_weights(weights), localise(shape, weights, held_out) if held_out else None
    start = resume or TrainedStretch(array("d"), {}, {}, {}, trained_weights)
    stretch = TrainedStretch(start.losses[:], {**start.evaluations}, {**start.kept}, {**start.recorded}, trained_weights)
    early_lookup, next_batch = start.early, None
    for n in range(first_batch, end_batch):
        if n in keep:
            stretch.kept[n] = MlpSnapshot(trained_weights.mlp.copy(), trained_weights.mlp_state.copy())
        if n % train_every:
            if n in record:
                stretch.recorded[n] = _unchanged_rows(shape, trained_weights, source_batch(n))
            continue
        batch, next_n = next_batch or _localised(shape, trained_weights, source_batch(n)), n + train_every
        next_batch = _localised(shape, trained_weights, source_batch(next_n)) if next_n < end_batch else None
        touched_places = _touched_places(batch) if n in record else None
        rows_before = rows_at(trained_weights, touched_places) if touched_places else ()
        stepped = step(shape, trained_weights, batch, early_lookup, next_batch if relaxed else None, n // train_every)
        early_lookup = stepped.early
        stretch.losses.append(_finite(shape, n, stepped.loss))
        if touched_places:
            stretch.recorded[n] = RowChange(touched_places, rows_before, rows_at(trained_weights, touched_places))
        if test and n + 1 in evaluations:
            stretch.evaluations[n + 1] = evaluate(shape, trained_weights, test)
            _finite(shape, n, stretch.evaluations[n + 1].loss)
        try:
            on_batch(n, stepped, batch, stretch.evaluations.get(n + 1))
        except Cancelled as error:
            raise TrainingStopped(str(error), n + 1, replace(stretch, early=early_lookup)) from error
    return stretch


def _localised(shape: Shape, weights: Weights, batch: Batch) -> LocalBatch:
    """Return the samples of a batch that are trained, with the places of their rows."""
    return localise(shape, weights, batch, trained_samples(shape, len(batch.labels)))


def _touched_places(batch: LocalBatch) -> tuple[Places, ...]:
    """Return the places of the rows that a batch looks up, block by block."""
    return tuple(np.unique(lookups.places) for lookups in batch.lookups)


def _unchanged_rows(shape: Shape, weights: Weights, batch: Batch) -> RowChange:
    """Return the rows of a batch that is not trained: its log has them, with equal values before and after."""
    places = _touched_places(_localised(shape, weights, batch))
    rows = rows_at(weights, places)
    return RowChange(places, rows, rows)


def join_stretches(parts: Sequence[TrainedStretch]) -> TrainedStretch:
    """Return the results of consecutive stretches of training as one stretch."""
    return TrainedStretch(
        losses=array("d", chain.from_iterable(part.losses for part in parts)),
        evaluations={n: evaluation for part in parts for n, evaluation in part.evaluations.items()},
        kept={n: mlp for part in parts for n, mlp in part.kept.items()},
        recorded={n: rows for part in parts for n, rows in part.recorded.items()},
        weights=parts[-1].weights,
        early=parts[-1].early,
    )


def _finite(shape: Shape, batch: int, loss: float) -> float:
    if not isfinite(loss):
        row_rate_text = "" if shape.row_rate is None else f" or model.embedding_learning_rate={shape.row_rate:g}"
        raise CannotRun(
            f"Training diverged at batch {batch}: its loss is {loss}; lower model.learning_rate={shape.learning_rate:g}"
            f"{row_rate_text}."
        )
    return loss


def evaluate(shape: Shape, weights: Weights, batch: LocalBatch, chunk: int = CHUNK) -> Evaluation:
    """Return the scores of `weights` on `batch`, computed `chunk` samples at a time."""
    size = len(batch.labels)
    logits = np.concatenate([_logits(shape, weights, batch, start, start + chunk) for start in range(0, size, chunk)])
    with np.errstate(all="ignore"):
        loss = float(np.mean(losses(logits, batch.labels), dtype=np.float64))
    accuracy = float(np.mean((logits > 0) == (batch.labels > 0.5)))
    area = auc(batch.labels, logits)
    return Evaluation(loss, area, accuracy, auc_error(area, batch.labels))


def auc(labels: Singles, logits: Singles | Floats) -> float | None:
    """Return the probability that a click's logit exceeds a non-click's; ties count half.

    Return None without clicks or without non-clicks.
    The result is exact: pairs are counted in integers (Mann and Whitney, 1947).
    """
    clicks, non_clicks = logits[labels > 0.5], np.sort(logits[labels <= 0.5])
    if not clicks.size or not non_clicks.size:
        return None
    pairs_below, pairs_not_above = (
        np.searchsorted(non_clicks, clicks, side=side).astype(np.int64).sum() for side in ("left", "right")
    )
    return float(int(pairs_below) + int(pairs_not_above)) / (2 * clicks.size * non_clicks.size)


def auc_error(area: float | None, labels: Singles) -> float | None:
    """Return the standard error of an AUC over samples with these labels.

    Return None where `sampling_error` returns None.
    """
    clicks = int(np.count_nonzero(labels > 0.5))
    return None if area is None else sampling_error(area, clicks, len(labels) - clicks)


def sampling_error(area: float, clicks: int, non_clicks: int) -> float | None:
    """Return the standard deviation of an AUC over random sets of samples.

    A set has `clicks` clicks and `non_clicks` samples without a click.
    Return None if one of these is 0, or if the AUC is 0 or 1, where the formula gives 0 for any number of samples. The model is
    fixed: differences by random seed or by training are not included. Hanley and McNeil, Radiology 143(1), 1982, with Q1 and Q2
    of exponential scores.
    """
    if not clicks or not non_clicks or not 0 < area < 1:
        return None
    two_clicks, two_others = area / (2 - area), 2 * area**2 / (1 + area)  # Q1, Q2
    spread = (clicks - 1) * (two_clicks - area**2) + (non_clicks - 1) * (two_others - area**2)
    return sqrt((area * (1 - area) + spread) / (clicks * non_clicks))


def _logits(shape: Shape, weights: Weights, batch: LocalBatch, start: int, stop: int) -> Singles:
    features = look_up(shape, weights, batch, start, stop)
    with np.errstate(all="ignore"):
        lengths = None if batch.history_lengths is None else batch.history_lengths[start:stop]
        return forward_pass(shape, dense_layers(shape, weights.mlp), batch.dense[start:stop], features, lengths).top[-1].ravel()
