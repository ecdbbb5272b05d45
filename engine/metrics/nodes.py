"""Nodes: how many hold the machine's GPUs; with a target throughput, as many as the system needs."""

from engine import cluster
from engine.metric import Metric
from engine.report import Report


def of(report: Report) -> float | None:
    """Return it."""
    return float(cluster.nodes(report.machinery.scenario.machine))


METRIC = Metric("Nodes", "", "lower", "Hosts with their GPUs; with a target throughput, as many as the system needs.", of, 132)
