"""Checkpoint overhead: exposed checkpoint time over the rest of the step."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in %."""
    exposed = report.steady.stage("Checkpoint")
    rest = report.steady.step - exposed
    return 100 * exposed / rest if rest > 0 else None


METRIC = Metric("Checkpoint overhead", "%", "lower", "Exposed checkpoint time over the rest of the step.", of, 70)
