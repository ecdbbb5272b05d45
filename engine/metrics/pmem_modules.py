"""PMEM modules: modules that the PMEM capacity takes; they set bandwidth, idle power and price."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return float(report.machinery.devices["pmem"].modules) if "pmem" in report.machinery.devices else None


METRIC = Metric(
    "PMEM modules", "", "lower", "Modules that the PMEM capacity takes; they set bandwidth, idle power and price.", of, 130
)
