"""Goodput: samples trained for good per second of the whole run, faults included."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in samples/s."""
    return report.batches * report.machinery.scenario.data.batch_size / report.elapsed if report.elapsed else None


METRIC = Metric(
    "Goodput", "samples/s", "higher", "Samples trained for good per second of the whole run, faults included.", of, 82
)
