"""Advice if the held-out AUC falls during training: the best batch, and a remedy."""

from collections.abc import Sequence

from ..core.arrays import Row
from ..core.figures import count, figure, with_error
from ..scenario.scenario import Scenario

LEAST_FALL = 0.003  # seeds of one run lie some .002 apart


def has_fallen(best_auc: float, last_auc: float, error: float | None) -> bool:
    """Return whether an AUC has fallen from its best value by more than chance.

    Chance is the larger of the difference between random seeds and the standard error `error`.
    """
    return best_auc - last_auc >= max(LEAST_FALL, error or 0.0)


def falling_auc_advice(training: Sequence[Row], scenario: Scenario, samples: int = 0) -> str:
    """Return a sentence on a falling held-out AUC: its best batch, and a remedy.

    With a data file, the best pass is named instead of the batch. Return "" if the AUC does not fall.
    `training` has the rows of a result's training curve. `samples` is the number of samples of the data file, 0 for generated
    data.
    """
    evaluations = [(row["Batch"] + 1, float(row["AUC"]), row.get("AUC error")) for row in training if row["AUC"] is not None]
    if not evaluations:
        return ""
    batches, best_auc, error = max(evaluations, key=lambda point: point[1])
    fall = best_auc - evaluations[-1][1]
    if not has_fallen(best_auc, evaluations[-1][1], error):
        return ""
    start = f"Held-out AUC was highest, {with_error(best_auc, error)}, after {{}}, and has fallen by {figure(fall)} since"
    passes = batches * scenario.data.batch_size / samples if samples else 0.0
    if not samples:
        return f"{start.format(count(batches, 'batch', 'batches'))}: train fewer batches, or lower Learning rate."
    if passes < 1:
        batch_text = count(batches, "batch", "batches")
        return f"{start.format(batch_text)}, before the end of the first pass: lower Learning rate."
    whole_passes = max(round(passes), 1)
    return (
        f"{start.format(count(whole_passes, 'pass', 'passes'))}: the model learns the training samples by heart. "
        f"Train fewer passes: set Passes to {whole_passes}, in the drawer of all knobs."
    )
