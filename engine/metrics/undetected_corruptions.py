"""Undetected corruptions: bits that flipped where no checksum covers them: in tables and MLPs."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return float(report.unnoticed)


METRIC = Metric(
    "Undetected corruptions", "", "lower", "Bits that flipped where no checksum covers them: in tables and MLPs.", of, 99
)
