"""AUC: area under the ROC curve on held-out samples after the run."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return report.scores.auc


METRIC = Metric("AUC", "", "higher", "Area under the ROC curve on held-out samples after the run.", of, 160)
