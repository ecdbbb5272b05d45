"""Energy: all powered devices for the whole run, at machine.energy_level."""

from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it in J."""
    return report.joules


METRIC = Metric("Energy", "J", "lower", "All powered devices for the whole run, at machine.energy_level.", of, 40)
