"""Step time: mean interval between batch ends after the first two; faults and recovery excluded."""

from engine.metric import Metric
from engine.report import Report
from engine.units import MS


def of(report: Report) -> float | None:
    """Return it in ms."""
    return report.steady.step / MS


METRIC = Metric(
    "Step time", "ms", "lower", "Mean interval between batch ends after the first two; faults and recovery excluded.", of, 10
)
