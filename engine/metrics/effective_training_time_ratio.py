"""Effective training time ratio: share of the elapsed time that trained for good, and did nothing else."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return max(report.books.seconds["useful"], 0.0) / report.elapsed if report.elapsed else None


METRIC = Metric(
    "Effective training time ratio",
    "",
    "higher",
    "Share of the elapsed time that trained for good: without exposed checkpoints, lost work, recovery and replay.",
    of,
    80,
)
