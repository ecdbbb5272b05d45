"""Accuracy: held-out samples classified rightly at probability one half."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in %."""
    return None if report.scores.accuracy is None else 100 * report.scores.accuracy


METRIC = Metric("Accuracy", "%", "higher", "Held-out samples classified rightly at probability one half.", of, 170)
