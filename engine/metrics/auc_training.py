"""AUC (training): AUC of the predictions of the last pass, as it was trained."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return report.scores.training_auc


METRIC = Metric("AUC (training)", "", "higher", "AUC of the predictions of the last pass, as it was trained.", of, 190)
