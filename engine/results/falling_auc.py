"""Held-out AUC that falls while training goes on: the sentence that says since when, and what to change."""

from collections.abc import Sequence

from ..core.arrays import Row
from ..core.figures import count, figure, with_error
from ..scenario.scenario import Scenario

LEAST_FALL = 0.003  # seeds of one run lie some .002 apart


def is_fall(best: float, last: float, error: float | None) -> bool:
    """Return whether an AUC has fallen since its best by more than seeds, or its own standard error, move it."""
    return best - last >= max(LEAST_FALL, error or 0.0)


def advice(training: Sequence[Row], scenario: Scenario, samples: int = 0) -> str:
    """Return since when a run's held-out AUC falls, and the remedy; "" where it does not fall.

    `training` has the rows of a result, `samples` are those of a pass over the data file, 0 for generated data.
    """
    known = [(row["Batch"] + 1, float(row["AUC"]), row.get("AUC error")) for row in training if row["AUC"] is not None]
    if not known:
        return ""
    batches, best, error = max(known, key=lambda point: point[1])
    fall = best - known[-1][1]
    if not is_fall(best, known[-1][1], error):
        return ""
    start = f"Held-out AUC was highest, {with_error(best, error)}, after {{}}, and has fallen by {figure(fall)} since"
    passes = batches * scenario.data.batch_size / samples if samples else 0.0
    if not samples:
        return f"{start.format(count(batches, 'batch', 'batches'))}: train fewer batches, or lower Learning rate."
    if passes < 1:
        done = count(batches, "batch", "batches")
        return f"{start.format(done)}, before the end of the first pass: lower Learning rate."
    whole = max(round(passes), 1)
    return (
        f"{start.format(count(whole, 'pass', 'passes'))}: the model learns the training samples by heart. Train fewer passes: "
        f"set Passes to {whole}, in the drawer of all knobs."
    )
