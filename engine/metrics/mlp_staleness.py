"""MLP staleness: largest age of the newest complete MLP log at a commit."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in batches."""
    return None if report.staleness is None else float(report.staleness)


METRIC = Metric("MLP staleness", "batches", "lower", "Largest age of the newest complete MLP log at a commit.", of, 110)
