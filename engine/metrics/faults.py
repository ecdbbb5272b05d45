"""Faults: faults that struck, in recoveries too."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return float(report.strikes)


METRIC = Metric("Faults", "", "lower", "Faults that struck, in recoveries too.", of, 85)
