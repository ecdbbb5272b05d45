"""Checkpoint energy: of the checkpoints of batches that stay, and of what waits for them."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in J."""
    return report.books.joules["checkpoint"]


METRIC = Metric("Checkpoint energy", "J", "lower", "Of the checkpoints of batches that stay, and of what waits for them.", of, 42)
