"""Recovery time: detection, repair, restart and restore, mean over faults; replay excluded."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in s."""
    count, books = len(report.crashes), report.books.seconds
    return sum(books[name] for name in ("detect", "repair", "restart", "restore")) / count if count else None


METRIC = Metric(
    "Recovery time", "s", "lower", "Detection, repair, restart and restore, mean over faults; replay excluded.", of, 100
)
