"""What to hold a training's AUC against: a logistic regression on the same batches, and the hidden model that clicks.

The regression has a weight for each row and each dense feature, so what a DLRM scores above it comes from its products of
features; the hidden model is the most that generated data allow. Adagrad: McMahan and Streeter, arXiv 1002.4908.
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
from .loop import auc, auc_error, boundaries
from .weights import rows_of

RATES = (0.02, 0.05, 0.1, 0.2)  # of Adagrad; the one that ends best is shown
EPSILON = 1e-8
MOST_LOOKUPS = 1 << 27  # of a run


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """AUC on the held-out samples: of the regression after so many batches each, at `rate`, and of the hidden model.

    The latter is None where a file's samples are trained on, whose AUC nobody knows. Both ends have their standard errors.
    """

    regression: tuple[tuple[int, float], ...]
    rate: float
    teacher: float | None
    regression_error: float | None = None
    teacher_error: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """A batch as a regression sees it: each lookup's sample and place of its row, the places used, and which of them it is."""

    batch: Batch
    samples: Ints
    places: Ints
    used: Ints
    which: Ints


def looked(rows: Ints, batch: Batch, bags: Ints) -> Looked:
    """Look a batch up among sorted `rows`; `bags` are the (T+1,) positions of the tables' lookups within a sample, if even."""
    size = len(batch.labels)
    lengths = np.repeat(np.diff(bags), size) if batch.starts is None else np.diff(batch.starts)
    samples = np.repeat(np.tile(np.arange(size), len(bags) - 1), lengths)
    places = np.searchsorted(rows, batch.ids)
    return Looked(batch, samples, places, *np.unique(places, return_inverse=True))


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Weights that `step` changes: (R,) one a row, (1 + F,) a constant and one a dense feature; with their sums of Adagrad."""

    rate: float
    weights: Floats
    sums: Floats
    shared: Floats
    shared_sums: Floats


def regression(rate: float, rows: int, features: int) -> Regression:
    """Return a regression that knows nothing yet."""
    return Regression(rate, *(np.zeros(size) for size in (rows, rows, 1 + features, 1 + features)))


def logits(model: Regression, on: Looked) -> Floats:
    """Return the (B,) logits of a batch."""
    of_rows = np.bincount(on.samples, model.weights[on.places], len(on.batch.labels))
    return np.asarray(model.shared[0] + on.batch.dense @ model.shared[1:] + of_rows, dtype=np.float64)


def step(model: Regression, on: Looked) -> None:
    """Take one step of Adagrad against the mean loss of a batch."""
    gradient = (generator.sigmoid(logits(model, on)) - on.batch.labels) / len(on.batch.labels)
    of_rows = np.bincount(on.which, gradient[on.samples])
    of_shared = np.concatenate(([gradient.sum()], gradient @ on.batch.dense))
    model.sums[on.used] += of_rows**2
    model.weights[on.used] -= model.rate * of_rows / (np.sqrt(model.sums[on.used]) + EPSILON)
    model.shared_sums[:] += of_shared**2
    model.shared[:] -= model.rate * of_shared / (np.sqrt(model.shared_sums) + EPSILON)


@lru_cache(maxsize=4)
def yardsticks(scenario: Scenario, path: Path | None = None) -> Yardsticks:
    """Train the regression on a scenario's batches, `path` being its data file; raises CannotRun where these are too many."""
    file = formats.read(path) if path else None
    origin, batches = source(scenario, file), num_batches(scenario, file)
    bags = np.concatenate(([0], np.cumsum(per_table(scenario.model, "pooling"), dtype=np.int64)))
    lookups = batches * scenario.data.batch_size * int(bags[-1])
    if lookups > MOST_LOOKUPS:
        raise CannotRun(
            f"A logistic regression on {count(lookups, 'lookup')} takes long; it is found for up to {count(MOST_LOOKUPS)}."
        )
    rate, curve = max(_curves(scenario, origin, batches, bags), key=lambda found: found[1][-1][1])
    held_out = origin.held_out()
    teacher = None if file else _teacher(scenario, held_out)
    return Yardsticks(curve, rate, teacher, *(auc_error(area, held_out.labels) for area in (curve[-1][1], teacher)))


def _curves(scenario: Scenario, origin: Source, batches: int, bags: Ints) -> list[tuple[float, tuple[tuple[int, float], ...]]]:
    """Return for each rate the AUC after each number of batches after which the run evaluates; 0.5 where none can be said."""
    held_out = origin.held_out()
    rows = rows_of((held_out.ids, *(origin.ids(n) for n in range(batches))))
    models = [regression(rate, len(rows), held_out.dense.shape[1]) for rate in RATES]
    when, asked = boundaries(batches, scenario.run.evaluations), looked(rows, held_out, bags)
    curves: list[list[tuple[int, float]]] = [[] for _ in RATES]
    for n in range(batches):
        on = looked(rows, origin.batch(n), bags)
        for model, curve in zip(models, curves, strict=True):
            step(model, on)
            if n + 1 in when:
                curve.append((n + 1, auc(held_out.labels, logits(model, asked)) or 0.5))
    return [(model.rate, tuple(curve)) for model, curve in zip(models, curves, strict=True)]


def _teacher(scenario: Scenario, held_out: Batch) -> float | None:
    made_of = recipe(scenario)
    bags = generator.prepare(made_of).bags
    found = generator.logits(generator.teacher(made_of), held_out.dense, held_out.ids, bags, held_out.starts)
    return auc(held_out.labels, found)
