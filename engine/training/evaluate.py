"""How good a model is on samples that it has not seen, and on those that it trained on last: loss, AUC and accuracy."""

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Singles
from .layers import losses
from .lookup import LocalBatch, look_up
from .shape import Shape
from .step import forward_pass
from .weights import Weights

CHUNK = 2048  # samples at a time: their activations stay near the processor


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Mean loss in nats, AUC (None when all labels are the same) and the share of samples classified rightly."""

    loss: float
    auc: float | None
    accuracy: float


def evaluate(shape: Shape, weights: Weights, batch: LocalBatch, chunk: int = CHUNK) -> Evaluation:
    """Return how well `weights` predict `batch`, `chunk` samples at a time."""
    size = len(batch.labels)
    logits = np.concatenate([_logits(shape, weights, batch, start, start + chunk) for start in range(0, size, chunk)])
    with np.errstate(all="ignore"):
        loss = float(np.mean(losses(logits, batch.labels), dtype=np.float64))
    right = float(np.mean((logits > 0) == (batch.labels > 0.5)))
    return Evaluation(loss, auc(batch.labels, logits), right)


def auc(labels: Singles, logits: Singles) -> float | None:
    """Return the chance that a click's logit exceeds a non-click's, ties counting half; None without both.

    Exact: pairs are counted in integers (Mann and Whitney, 1947).
    """
    clicks, others = logits[labels > 0.5], np.sort(logits[labels <= 0.5])
    if not clicks.size or not others.size:
        return None
    below, not_above = (np.searchsorted(others, clicks, side=side).astype(np.int64).sum() for side in ("left", "right"))
    return float(int(below) + int(not_above)) / (2 * clicks.size * others.size)


def _logits(shape: Shape, weights: Weights, batch: LocalBatch, start: int, stop: int) -> Singles:
    features = look_up(shape, weights, batch, start, stop)
    with np.errstate(all="ignore"):
        return forward_pass(shape, weights, batch.dense[start:stop], features)[1][-1].ravel()


@dataclass(frozen=True)
class Scores:
    """What the functional training reached; None where it was off or cannot be said."""

    loss: float | None = None
    auc: float | None = None
    accuracy: float | None = None
    training_loss: float | None = None
    training_auc: float | None = None
