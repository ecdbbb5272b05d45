"""Replay time: batches that had ended and are run again, mean over faults."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in s."""
    return report.books.seconds["replay"] / len(report.crashes) if report.crashes else None


METRIC = Metric("Replay time", "s", "lower", "Batches that had ended and are run again, mean over faults.", of, 106)
