"""PMEM written: bytes stored into persistent memory: updates and logs."""

from engine.metric import Metric
from engine.report import Report
from engine.units import GB


def of(report: Report) -> float | None:
    """Return it in GB."""
    return report.pmem_written / GB if "pmem" in report.machinery.devices else None


METRIC = Metric("PMEM written", "GB", "lower", "Bytes stored into persistent memory: updates and logs.", of, 120)
