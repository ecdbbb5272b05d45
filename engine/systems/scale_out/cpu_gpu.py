"""CPU-GPU: tables and their lookups on the host, MLPs on the GPUs, one after the other; the usual hybrid."""

from ...core.graph import Task
from ..steps import host
from ..system import Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch: host lookup and pooling, GPU training, host update."""
    return host.hybrid(settled, t)


SYSTEM = System(
    title="CPU-GPU",
    summary="Tables and embedding work on the host CPU, MLPs data-parallel on the GPUs, nothing overlapped.",
    devices=("host", "dram", "gpu", "pcie", "network"),
    memory="dram",
    plan=plan,
    family="Hot and cold rows",
    baseline="cpu-gpu",
    parts_kind="nodes",
    kernel="host",
    cites=("facebookresearch/dlrm, its hybrid mode",),
)
