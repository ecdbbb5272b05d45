"""RPO MLP: most batches of MLP updates that one fault undid."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in batches."""
    return max((float(crash.begun - crash.mlp_batch) for crash in report.crashes), default=None)


METRIC = Metric("RPO MLP", "batches", "lower", "Most batches of MLP updates that one fault undid.", of, 96)
