"""Unrecoverable: 1 if the run ended without its result, else 0."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return float(report.unrecoverable)


METRIC = Metric("Unrecoverable", "", "lower", "1 if the run ended without its result, else 0.", of, 98)
