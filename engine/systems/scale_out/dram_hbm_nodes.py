"""DRAM and HBM: tables over both memories of as many nodes as needed.

It is the scale-out baseline for tables too large for one node, with which MTrainS's heterogeneous memory is compared. Rows in
DRAM are read when their batch needs them. Source: unified virtual memory of pytorch/torchrec.
"""

from ...core.graph import Task
from ..placement import USABLE, hbm_dram_bytes, table_tiers
from ..steps import far_memory
from ..system import Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, which reads rows in DRAM when needed."""
    return far_memory.step_in_the_open(settled, t, "Read rows from DRAM", t.far_rows)


SYSTEM = System(
    title="DRAM and HBM",
    summary="Tables over HBM and DRAM of as many nodes as they need; rows in DRAM are read when their batch needs them.",
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
