"""Lost batches: batches that had begun and were run again after a fault."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return float(report.lost_batches)


METRIC = Metric("Lost batches", "", "lower", "Batches that had begun and were run again after a fault.", of, 90)
