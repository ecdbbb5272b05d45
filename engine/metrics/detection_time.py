"""Detection time: from the fault to its notice, mean over faults."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in s."""
    return report.books.seconds["detect"] / len(report.crashes) if report.crashes else None


METRIC = Metric("Detection time", "s", "lower", "From the fault to its notice, mean over faults.", of, 102)
