"""CPU-GPU: the host keeps and looks up the tables, the GPUs train the MLPs.

It is the usual hybrid for tables that fit into host memory but not into HBM, and the baseline for systems with hot and cold
rows. Host and GPU work one after the other, without overlap. Source: the hybrid mode of facebookresearch/dlrm.
"""

from ...core.graph import Task
from ..steps import host
from ..system import Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch: host lookup and pooling, GPU training, host update."""
    return host.hybrid(settled, t)


SYSTEM = System(
    title="CPU-GPU",
    summary="Tables and lookups on the host CPU, MLPs data-parallel on the GPUs; nothing overlaps.",
    devices=("host", "dram", "gpu", "pcie", "network"),
    memory="dram",
    plan=plan,
    family="Hot and cold rows",
    baseline="cpu-gpu",
    parts_kind="nodes",
    kernel="host",
    cites=("facebookresearch/dlrm, its hybrid mode",),
)
