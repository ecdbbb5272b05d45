"""PMEM media written: bytes that the media stores, whole lines and rewrites; they wear it out."""

from engine.metric import Metric
from engine.report import Report
from engine.units import GB


def of(report: Report) -> float | None:
    """Return it in GB."""
    return report.pmem_media_written / GB if "pmem" in report.machinery.devices else None


METRIC = Metric(
    "PMEM media written", "GB", "lower", "Bytes that the media stores, whole lines and rewrites; they wear it out.", of, 125
)
