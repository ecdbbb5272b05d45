"""Throughput: samples trained per second in the steady state."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in samples/s."""
    return report.machinery.scenario.data.batch_size / report.steady.step


METRIC = Metric("Throughput", "samples/s", "higher", "Samples trained per second in the steady state.", of, 20)
