"""RPO embeddings: most batches of embedding updates that one fault undid."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in batches."""
    return max((float(crash.begun - crash.embedding_batch) for crash in report.crashes), default=None)


METRIC = Metric("RPO embeddings", "batches", "lower", "Most batches of embedding updates that one fault undid.", of, 94)
