"""Restore time: reading logs and putting rows back, mean over faults."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in s."""
    return report.books.seconds["restore"] / len(report.crashes) if report.crashes else None


METRIC = Metric("Restore time", "s", "lower", "Reading logs and putting rows back, mean over faults.", of, 105)
