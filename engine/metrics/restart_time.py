"""Restart time: process start before the restore, mean over faults."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in s."""
    return report.books.seconds["restart"] / len(report.crashes) if report.crashes else None


METRIC = Metric("Restart time", "s", "lower", "Process start before the restore, mean over faults.", of, 104)
