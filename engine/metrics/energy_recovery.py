"""Recovery energy: of detection, repair, restart, restore and replay."""

from engine.books import RECOVERY
from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in J."""
    return sum(report.books.joules[name] for name in RECOVERY)


METRIC = Metric("Recovery energy", "J", "lower", "Of detection, repair, restart, restore and replay.", of, 44)
