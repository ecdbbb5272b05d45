"""Repair time: from the notice to the restart, mean over faults."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in s."""
    return report.books.seconds["repair"] / len(report.crashes) if report.crashes else None


METRIC = Metric("Repair time", "s", "lower", "From the notice to the restart, mean over faults.", of, 103)
