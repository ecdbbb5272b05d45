"""Energy per batch: energy of a steady-state batch, all powered devices, at machine.energy_level."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in J."""
    return report.steady.energy


METRIC = Metric(
    "Energy per batch", "J", "lower", "Energy of a steady-state batch, all powered devices, at machine.energy_level.", of, 50
)
