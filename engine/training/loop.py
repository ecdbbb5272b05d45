"""The training loop, a fold over batches: the same weights and batches give the same bytes, wherever it is cut.

Evaluation on held-out samples is here too: loss, AUC and accuracy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, sqrt

import numpy as np

from ..core.arrays import Floats, Places, Singles
from ..errors import Cancelled, CannotRun
from ..workload.batch import Batch
from .layers import losses
from .lookup import Early, LocalBatch, localise, look_up
from .shape import Shape
from .step import StepResult, forward_pass, step
from .weights import RowBlock, Weights, copy, dense_layers, rows_at

CHUNK = 2048  # samples at a time: their activations stay near the processor


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Mean loss in nats, AUC (None when all labels are the same), the share classified rightly, and the AUC's standard error."""

    loss: float
    auc: float | None
    accuracy: float
    auc_error: float | None = None

    @property
    def auc_with_error(self) -> tuple[float | None, float | None]:
        """The AUC and its standard error."""
        return self.auc, self.auc_error


@dataclass(frozen=True)
class Scores:
    """What the functional training reached; None where it was off or cannot be said.

    `auc_error` and `training_auc_error` are the standard errors of both AUCs, of their samples alone.
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
class KeptMlp:
    """Both MLPs as they were when a batch began, with their optimizer state."""

    mlp: Singles
    mlp_state: Singles


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The rows that one batch updated, block by block: their places in each, and what they were before and after."""

    places: tuple[Places, ...]
    before: tuple[RowBlock, ...]
    after: tuple[RowBlock, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What training batches first..last-1 gave.

    `losses` has one mean loss per batch; `evaluations[n]` is the model after n batches, for n in first+1..last;
    `kept[n]` are the MLPs as batch n began, for n in first..last-1, `recorded[n]` the rows that batch n updated;
    `weights` are as batch `last` would find them; `early` is that batch's relaxed lookup, of a training that was stopped.
    """

    losses: list[float]
    evaluations: dict[int, Evaluation]
    kept: dict[int, KeptMlp]
    recorded: dict[int, Recorded]
    weights: Weights
    early: Early | None = None


class TrainingStopped(Cancelled):
    """Training was cancelled before batch `batch`; `trained` is everything that it had given."""

    def __init__(self, sentence: str, batch: int, trained: Trained) -> None:
        super().__init__(sentence)
        self.batch, self.trained = batch, trained


def train(
    shape: Shape,
    weights: Weights,
    source_batch: Callable[[int], Batch],
    first: int,
    last: int,
    *,
    keep: frozenset[int] = frozenset(),
    record: frozenset[int] = frozenset(),
    held_out: Batch | None = None,
    evaluations: frozenset[int] = frozenset(),
    relaxed: bool = False,
    resume: Trained | None = None,
    on_batch: OnBatch = lambda number, step, batch, evaluation: None,
) -> Trained:
    """Train batches first..last-1 on a copy of `weights`.

    `on_batch(n, step, batch, evaluation)` follows each batch, and may raise; Cancelled leaves as TrainingStopped, whose
    `trained` a later call takes as `resume` to go on, to the byte. Other calls of a relaxed lookup
    start strictly, because early vectors are volatile, so they join up to float tolerance only (bit by bit
    with pooling 1). Raises CannotRun when training diverges.
    """
    mine, test = copy(weights), localise(shape, weights, held_out) if held_out else None
    given = resume or Trained([], {}, {}, {}, mine)
    done = Trained([*given.losses], {**given.evaluations}, {**given.kept}, {**given.recorded}, mine)
    early, following = given.early, None
    for n in range(first, last):
        batch = following or localise(shape, mine, source_batch(n))
        following = localise(shape, mine, source_batch(n + 1)) if n + 1 < last else None
        if n in keep:
            done.kept[n] = KeptMlp(mine.mlp.copy(), mine.mlp_state.copy())
        touched = tuple(np.unique(lookups.places) for lookups in batch.lookups) if n in record else None
        before = rows_at(mine, touched) if touched else ()
        stepped = step(shape, mine, batch, early, following if relaxed else None, n)
        early = stepped.early
        done.losses.append(_finite(shape, n, stepped.loss))
        if touched:
            done.recorded[n] = Recorded(touched, before, rows_at(mine, touched))
        if test and n + 1 in evaluations:
            done.evaluations[n + 1] = evaluate(shape, mine, test)
            _finite(shape, n, done.evaluations[n + 1].loss)
        try:
            on_batch(n, stepped, batch, done.evaluations.get(n + 1))
        except Cancelled as error:
            raise TrainingStopped(str(error), n + 1, replace(done, early=early)) from error
    return done


def joined(parts: Sequence[Trained]) -> Trained:
    """Put stretches of training that follow each other together."""
    return Trained(
        losses=[loss for part in parts for loss in part.losses],
        evaluations={n: found for part in parts for n, found in part.evaluations.items()},
        kept={n: mlp for part in parts for n, mlp in part.kept.items()},
        recorded={n: rows for part in parts for n, rows in part.recorded.items()},
        weights=parts[-1].weights,
        early=parts[-1].early,
    )


def boundaries(batches: int, count: int) -> frozenset[int]:
    """Return `count` numbers of batches, evenly spread and ending in `batches`, after which to evaluate."""
    return frozenset(-(-batches * part // count) for part in range(1, count + 1))


def _finite(shape: Shape, batch: int, loss: float) -> float:
    if not isfinite(loss):
        own = "" if shape.row_rate is None else f" or model.embedding_learning_rate={shape.row_rate:g}"
        raise CannotRun(
            f"Training diverged at batch {batch}: its loss is {loss}; lower model.learning_rate={shape.learning_rate:g}{own}."
        )
    return loss


def evaluate(shape: Shape, weights: Weights, batch: LocalBatch, chunk: int = CHUNK) -> Evaluation:
    """Return how well `weights` predict `batch`, `chunk` samples at a time."""
    size = len(batch.labels)
    logits = np.concatenate([_logits(shape, weights, batch, start, start + chunk) for start in range(0, size, chunk)])
    with np.errstate(all="ignore"):
        loss = float(np.mean(losses(logits, batch.labels), dtype=np.float64))
    right = float(np.mean((logits > 0) == (batch.labels > 0.5)))
    area = auc(batch.labels, logits)
    return Evaluation(loss, area, right, auc_error(area, batch.labels))


def auc(labels: Singles, logits: Singles | Floats) -> float | None:
    """Return the chance that a click's logit exceeds a non-click's, ties counting half; None without both.

    Exact: pairs are counted in integers (Mann and Whitney, 1947).
    """
    clicks, others = logits[labels > 0.5], np.sort(logits[labels <= 0.5])
    if not clicks.size or not others.size:
        return None
    below, not_above = (np.searchsorted(others, clicks, side=side).astype(np.int64).sum() for side in ("left", "right"))
    return float(int(below) + int(not_above)) / (2 * clicks.size * others.size)


def auc_error(area: float | None, labels: Singles) -> float | None:
    """Return the standard error of an AUC over samples with these labels; None where `sampling_error` has none."""
    clicks = int(np.count_nonzero(labels > 0.5))
    return None if area is None else sampling_error(area, clicks, len(labels) - clicks)


def sampling_error(area: float, clicks: int, others: int) -> float | None:
    """Return by how much an AUC scatters, one standard deviation, as other samples of so many clicks and others are drawn.

    None without both, and at an AUC of 0 or 1, where the formula gives 0 however few the samples are. The model is fixed: what
    seeds and training add is not in it. Hanley and McNeil, Radiology 143(1), 1982, with Q1 and Q2 of exponential scores.
    """
    if not clicks or not others or not 0 < area < 1:
        return None
    two_clicks, two_others = area / (2 - area), 2 * area**2 / (1 + area)  # Q1, Q2
    spread = (clicks - 1) * (two_clicks - area**2) + (others - 1) * (two_others - area**2)
    return sqrt((area * (1 - area) + spread) / (clicks * others))


def _logits(shape: Shape, weights: Weights, batch: LocalBatch, start: int, stop: int) -> Singles:
    features = look_up(shape, weights, batch, start, stop)
    with np.errstate(all="ignore"):
        return forward_pass(shape, dense_layers(shape, weights.mlp), batch.dense[start:stop], features).top[-1].ravel()
