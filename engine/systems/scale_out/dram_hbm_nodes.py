"""DRAM and HBM of many nodes: a model's capacity decides how many; what heterogeneous memory is measured against."""

from ...core.graph import Task
from ..placement import USABLE, hbm_dram_bytes, table_tiers
from ..steps import far_memory
from ..system import Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, which reads its rows in DRAM when it needs them."""
    return far_memory.step_in_the_open(settled, t, "Read rows from DRAM", t.far_rows)


SYSTEM = System(
    title="DRAM and HBM",
    summary="Tables over HBM and DRAM of as many nodes as they need; DRAM rows are read when their batch comes.",
    devices=("host", "gpu", "pcie", "network", "dram"),
    memory="dram",
    plan=plan,
    family="Scale-out",
    baseline="dram-hbm-nodes",
    parts_kind="tiers",
    places=hbm_dram_bytes,
    tiers=table_tiers,
    caches=lambda s: (0.0, 0.0),
    constants=(USABLE,),
    cites=("pytorch/torchrec, unified virtual memory",),
)
