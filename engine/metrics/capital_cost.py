"""Capital cost: price of every device, at the year its source gives."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in USD."""
    return sum(device.price for device in report.machinery.devices.values())


METRIC = Metric("Capital cost", "USD", "lower", "Price of every device, at the year its source gives.", of, 140)
