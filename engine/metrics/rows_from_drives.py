"""Rows from drives: the share of a batch's rows that no memory above the drives has; none where there is one memory."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in percent, the mean over batches."""
    return None if report.drives_share is None else 100 * report.drives_share


METRIC = Metric("Rows from drives", "%", "lower", "Unique rows of a batch that neither HBM, DRAM nor SCM holds.", of, 138)
