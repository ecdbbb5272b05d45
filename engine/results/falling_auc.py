"""Advice if the held-out AUC falls during training: the best batch, and a remedy.

Training is deterministic: fewer passes end in the weights that the run had after them. So passes that ended higher are the surest
remedy. A fall within the first pass, in which no sample is repeated, is due to the learning rate. Where evaluations do not show
which of both it was, there is no remedy.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from ..core.arrays import Row
from ..core.figures import count, exact, figure, with_error
from ..scenario.scenario import Scenario

LEAST_FALL = 0.003  # seeds of one run lie some .002 apart
LEAST_ERRORS = 3.0  # standard errors above .5 of an AUC that shows that a model has learned
RATES = ("model.learning_rate", "model.embedding_learning_rate")
RATE_DIVISOR = 10  # half of a learning rate that is far too high is still too high
PASSES = "run.passes"


class EvaluatedBatch(NamedTuple):
    """The held-out AUC and its standard error, None if unknown, after a number of batches."""

    batches: int
    auc: float
    error: float | None


def has_fallen(best_auc: float, last_auc: float, error: float | None) -> bool:
    """Return whether an AUC has fallen from its best value by more than chance.

    Chance is the larger of the difference between random seeds and the standard error `error`.
    """
    return best_auc - last_auc >= max(LEAST_FALL, error or 0.0)


def falling_auc_advice(training: Sequence[Row], scenario: Scenario, samples: int = 0) -> str:
    """Return a sentence on a falling held-out AUC: its best batch, and a remedy.

    With a data file, the best pass is named instead of the batch. Return "" if the AUC does not fall.
    `training` has the rows of a result's training curve. `samples` is the number of samples of the data file, 0 for generated
    data or if not known.
    """
    evaluations = _evaluations(training)
    best, fall = _best_and_fall(evaluations)
    if best is None:
        return ""
    pass_batches = _pass_batches(evaluations, scenario, samples)
    place = count(best.batches, "batch", "batches")
    if pass_batches and best.batches >= pass_batches:
        place = count(round(best.batches / pass_batches, 1), "pass", "passes")
    sentence = (
        f"Held-out AUC was highest, {with_error(best.auc, best.error)}, after {place}, and has fallen by {figure(fall)} since"
    )
    changes = remedy(training, scenario, samples)
    if PASSES in changes:
        return (
            f"{sentence}: the model learns the training samples by heart. "
            f"Train fewer passes: set Passes to {changes[PASSES]}, in the drawer of all knobs."
        )
    rate = f"lower Learning rate to {exact(changes[RATES[0]])}" if RATES[0] in changes else ""
    rate += f" and Embedding learning rate to {exact(changes[RATES[1]])}" if RATES[1] in changes else ""
    if not scenario.data.digest:
        return f"{sentence}: train fewer batches, {count(best.batches)} of them{rate and f', or {rate}'}."
    return f"{sentence}, before the end of the first pass: {rate}." if rate else f"{sentence}."


def remedy(training: Sequence[Row], scenario: Scenario, samples: int = 0) -> Mapping[str, float]:
    """Return the knobs to change against a falling held-out AUC, by dotted path.

    The arguments are those of `falling_auc_advice`. Return {} if the AUC does not fall, or if no remedy is sure.
    """
    evaluations = _evaluations(training)
    best, _ = _best_and_fall(evaluations)
    pass_batches = _pass_batches(evaluations, scenario, samples)
    if best is None or best.auc - 0.5 < LEAST_ERRORS * (best.error or 0.0) or (scenario.data.digest and not pass_batches):
        return {}
    by_pass = _aucs_of_passes(evaluations, pass_batches, best) if pass_batches else {}
    best_pass = max(by_pass, key=by_pass.__getitem__, default=0)
    if best_pass and by_pass[best_pass] - evaluations[-1].auc >= LEAST_FALL:
        return {PASSES: best_pass}
    within = [point for point in evaluations if not pass_batches or point.batches <= ceil(pass_batches)]
    if best not in within or not has_fallen(best.auc, within[-1].auc, best.error):
        return {}
    rates = (scenario.model.learning_rate, scenario.model.embedding_learning_rate)
    return {path: round(rate / RATE_DIVISOR, 12) for path, rate in zip(RATES, rates, strict=True) if rate is not None}


def _evaluations(training: Sequence[Row]) -> list[EvaluatedBatch]:
    return [
        EvaluatedBatch(row["Batch"] + 1, float(row["AUC"]), row.get("AUC error")) for row in training if row["AUC"] is not None
    ]


def _best_and_fall(evaluations: Sequence[EvaluatedBatch]) -> tuple[EvaluatedBatch | None, float]:
    """Return the evaluation with the highest AUC and the fall since; (None, 0.0) without a fall."""
    best = max(evaluations, key=lambda point: point.auc, default=None)
    if best is None or not has_fallen(best.auc, evaluations[-1].auc, best.error):
        return None, 0.0
    return best, best.auc - evaluations[-1].auc


def _pass_batches(evaluations: Sequence[EvaluatedBatch], scenario: Scenario, samples: int) -> float:
    """Return the batches of a pass over the data file; 0 for generated data or if not known."""
    if samples:
        return samples / scenario.data.batch_size
    known = scenario.data.digest and scenario.run.passes and evaluations
    return evaluations[-1].batches / scenario.run.passes if known and scenario.run.passes else 0.0


def _aucs_of_passes(evaluations: Sequence[EvaluatedBatch], pass_batches: float, best: EvaluatedBatch) -> Mapping[int, float]:
    """Return the AUC at the end of each pass but the last, by number of passes.

    Between two evaluations it is the lower one, but the best one where the best is the last evaluation before the end of a pass.
    Passes without an evaluation are left out.
    """
    aucs = {}
    for number in range(1, ceil(evaluations[-1].batches / pass_batches)):
        end = ceil(number * pass_batches)
        within = [point for point in evaluations if ceil((number - 1) * pass_batches) < point.batches <= end]
        behind = [point for point in evaluations if point.batches >= end]
        if within and behind:
            aucs[number] = best.auc if within[-1] == best else min(within[-1].auc, behind[0].auc)
    return aucs
