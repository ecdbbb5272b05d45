"""Elapsed: simulated time of the whole run, faults and recoveries included."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in s."""
    return report.elapsed


METRIC = Metric("Elapsed", "s", "lower", "Simulated time of the whole run, faults and recoveries included.", of, 30)
