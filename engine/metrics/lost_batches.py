"""Lost batches: batches that had begun and were run again after a fault."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return float(sum(crash.lost for crash in report.crashes))


METRIC = Metric("Lost batches", "", "lower", "Batches that had begun and were run again after a fault.", of, 90)
