"""Lost work: training time that faults undid: thrown away, or spent a second time."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in s."""
    return report.books.seconds["lost"] + report.books.seconds["replay"]


METRIC = Metric("Lost work", "s", "lower", "Training time that faults undid: thrown away, or spent a second time.", of, 92)
