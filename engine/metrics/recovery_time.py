"""Recovery time: detection, restart and restore, mean over faults; replay excluded."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in s."""
    return report.down_seconds / report.crashes if report.crashes else None


METRIC = Metric("Recovery time", "s", "lower", "Detection, restart and restore, mean over faults; replay excluded.", of, 100)
