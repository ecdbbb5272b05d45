"""Loss: binary cross-entropy on held-out samples after the run."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return report.scores.loss


METRIC = Metric("Loss", "", "lower", "Binary cross-entropy on held-out samples after the run.", of, 150)
