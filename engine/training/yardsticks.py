"""Reference AUCs for a training: those of a logistic regression and of the hidden model.

The hidden model made the clicks of generated data, so its AUC is the upper limit there. The regression is trained on the same
batches as the DLRM, so in a sampled run on each N-th. It has one weight for each row and each dense feature, so a DLRM can exceed
its AUC only by products of features. Adagrad: McMahan and Streeter, arXiv 1002.4908.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.figures import count
from ..errors import CannotRun
from ..scenario.scenario import Scenario, per_table
from ..workload import generator
from ..workload.batch import Batch
from ..workload.readers import formats
from ..workload.sampling import recipe
from ..workload.source import Source, num_batches, source
from .loop import auc, auc_error
from .trained_batches import evaluation_batches, num_trained
from .weights import rows_of

RATES = (0.02, 0.05, 0.1, 0.2)  # of Adagrad; the rate with the best final AUC is shown
EPSILON = 1e-8
MAX_LOOKUPS = 1 << 27  # of a run


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """Reference AUCs on the held-out samples.

    regression: pairs (number of batches, AUC of the logistic regression), with the learning rate `rate`.
    rate: the learning rate with the best final AUC.
    teacher: the AUC of the hidden model that made the clicks; None for a data file, whose hidden model is unknown.
    regression_error: the standard error of the regression's final AUC.
    teacher_error: the standard error of the hidden model's AUC.
    """

    regression: tuple[tuple[int, float], ...]
    rate: float
    teacher: float | None
    regression_error: float | None = None
    teacher_error: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LookedUpBatch:
    """A batch with its rows found, for a logistic regression.

    batch: the batch.
    samples, places: for each lookup, its sample and the place of its row.
    used, which: the distinct places, and for each lookup the index of its place in `used`.
    """

    batch: Batch
    samples: Ints
    places: Ints
    used: Ints
    which: Ints


def look_up_batch(rows: Ints, batch: Batch, bags: Ints) -> LookedUpBatch:
    """Return a batch with the place of each lookup in sorted `rows`.

    `bags` are the offsets of T tables among a sample's lookups, (T+1,); they are used if all samples have equal numbers of
    lookups.
    """
    size = len(batch.labels)
    lengths = np.repeat(np.diff(bags), size) if batch.starts is None else np.diff(batch.starts)
    samples = np.repeat(np.tile(np.arange(size), len(bags) - 1), lengths)
    places = np.searchsorted(rows, batch.ids)
    return LookedUpBatch(batch, samples, places, *np.unique(places, return_inverse=True))


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """A logistic regression with Adagrad; the function `step` changes its arrays in place.

    rate: the learning rate.
    weights, sums: a weight for each of R rows, and its sum of squared gradients, (R,).
    shared, shared_sums: a constant and a weight for each of F dense features, and their sums of squared gradients, (1 + F,).
    """

    rate: float
    weights: Floats
    sums: Floats
    shared: Floats
    shared_sums: Floats


def regression(rate: float, rows: int, features: int) -> Regression:
    """Return an untrained logistic regression on so many rows and dense features.

    All weights are 0.
    """
    return Regression(rate, *(np.zeros(size) for size in (rows, rows, 1 + features, 1 + features)))


def logits(model: Regression, lookups: LookedUpBatch) -> Floats:
    """Return the logits of a batch, (B,)."""
    of_rows = np.bincount(lookups.samples, model.weights[lookups.places], len(lookups.batch.labels))
    return np.asarray(model.shared[0] + lookups.batch.dense @ model.shared[1:] + of_rows, dtype=np.float64)


def step(model: Regression, lookups: LookedUpBatch) -> None:
    """Train the regression on a batch by one step of Adagrad, in place."""
    gradient = (generator.sigmoid(logits(model, lookups)) - lookups.batch.labels) / len(lookups.batch.labels)
    of_rows = np.bincount(lookups.which, gradient[lookups.samples])
    of_shared = np.concatenate(([gradient.sum()], gradient @ lookups.batch.dense))
    model.sums[lookups.used] += of_rows**2
    model.weights[lookups.used] -= model.rate * of_rows / (np.sqrt(model.sums[lookups.used]) + EPSILON)
    model.shared_sums[:] += of_shared**2
    model.shared[:] -= model.rate * of_shared / (np.sqrt(model.shared_sums) + EPSILON)


@lru_cache(maxsize=4)
def yardsticks(scenario: Scenario, path: Path | None = None) -> Yardsticks:
    """Return the reference AUCs of a scenario's training, on the data file `path` if given.

    Raises CannotRun if the batches have too many lookups.
    """
    file = formats.read_file(path) if path else None
    origin, batches = source(scenario, file), num_batches(scenario, file)
    bags = np.concatenate(([0], np.cumsum(per_table(scenario.model, "pooling"), dtype=np.int64)))
    lookups = num_trained(batches, scenario.run.train_every) * scenario.data.batch_size * int(bags[-1])
    if lookups > MAX_LOOKUPS:
        raise CannotRun(
            f"A logistic regression on {count(lookups, 'lookup')} would take too long; it is computed for up to "
            f"{count(MAX_LOOKUPS)}."
        )
    rate, curve = max(_curves(scenario, origin, batches, bags), key=lambda rate_and_curve: rate_and_curve[1][-1][1])
    held_out = origin.held_out()
    teacher = None if file else _teacher(scenario, held_out)
    return Yardsticks(curve, rate, teacher, *(auc_error(area, held_out.labels) for area in (curve[-1][1], teacher)))


def _curves(scenario: Scenario, origin: Source, batches: int, bags: Ints) -> list[tuple[float, tuple[tuple[int, float], ...]]]:
    """Return for each rate the AUC after each evaluation's number of batches.

    Return 0.5 if the AUC is undefined.
    """
    held_out, trained = origin.held_out(), range(0, batches, scenario.run.train_every)
    rows = rows_of((held_out.ids, *map(origin.ids, trained)))
    models = [regression(rate, len(rows), held_out.dense.shape[1]) for rate in RATES]
    evaluated_batches, held_out_lookups = (
        evaluation_batches(batches, scenario.run.evaluations, scenario.run.train_every),
        look_up_batch(rows, held_out, bags),
    )
    curves: list[list[tuple[int, float]]] = [[] for _ in RATES]
    for n in trained:
        lookups = look_up_batch(rows, origin.batch(n), bags)
        for model, curve in zip(models, curves, strict=True):
            step(model, lookups)
            if n + 1 in evaluated_batches:
                curve.append((n + 1, auc(held_out.labels, logits(model, held_out_lookups)) or 0.5))
    return [(model.rate, tuple(curve)) for model, curve in zip(models, curves, strict=True)]


def _teacher(scenario: Scenario, held_out: Batch) -> float | None:
    made_of = recipe(scenario)
    bags = generator.prepare(made_of).bags
    teacher_logits = generator.logits(generator.hidden_model(made_of), held_out.dense, held_out.ids, bags, held_out.starts)
    return auc(held_out.labels, teacher_logits)
