"""Effective training time ratio: share of the elapsed time that trained: without exposed checkpoints, lost work and recovery."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    checkpoint = report.batches * report.steady.stage("Checkpoint")
    wasted = checkpoint + report.lost_seconds + report.down_seconds
    return max(report.elapsed - wasted, 0.0) / report.elapsed if report.elapsed else None


METRIC = Metric(
    "Effective training time ratio",
    "",
    "higher",
    "Share of the elapsed time that trained: without exposed checkpoints, lost work and recovery.",
    of,
    80,
)
