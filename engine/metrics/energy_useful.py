"""Useful energy: of batches that stay, up to what they take without a fault, checkpoints apart."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in J."""
    return report.books.joules["useful"]


METRIC = Metric(
    "Useful energy", "J", "neither", "Of batches that stay, up to what they take without a fault, checkpoints apart.", of, 41
)
