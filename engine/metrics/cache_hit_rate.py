"""Cache hit rate: the share of lookups whose row was near when their batch began; none without a cache."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in percent; a full run counts the filling of the cache too."""
    return None if report.hit_rate is None else 100 * report.hit_rate


METRIC = Metric("Cache hit rate", "%", "higher", "Lookups whose row the cache held when their batch began.", of, 137)
