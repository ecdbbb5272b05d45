"""GPU memory: what one GPU holds of tables or cache, index maps and parameters; activations come and go."""

from engine.fit import gpu_bytes
from engine.metric import Metric
from engine.report import Report
from engine.units import GiB


def of(report: Report) -> float | None:
    """Return it in GiB."""
    return gpu_bytes(report.machinery.scenario, report.machinery.system) / GiB


METRIC = Metric("GPU memory", "GiB", "lower", "What one GPU holds between batches: rows, index maps and parameters.", of, 135)
