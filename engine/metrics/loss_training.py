"""Loss (training): mean loss of the last pass, as it was trained."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return report.scores.training_loss


METRIC = Metric("Loss (training)", "", "lower", "Mean loss of the last pass, as it was trained.", of, 180)
