"""Lost energy: of work that was thrown away, and of waiting for slow devices."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in J."""
    return report.books.joules["lost"] + report.books.joules["stalled"]


METRIC = Metric("Lost energy", "J", "lower", "Of work that was thrown away, and of waiting for slow devices.", of, 43)
