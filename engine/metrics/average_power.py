"""Average power: energy over elapsed time."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in W."""
    return report.joules / report.elapsed if report.elapsed else None


METRIC = Metric("Average power", "W", "lower", "Energy over elapsed time.", of, 60)
