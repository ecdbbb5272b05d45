"""CXL-B: CXL-D with an undo log that is written while the top part runs."""

from ..steps.shared import undo_plan
from ..system import LogPolicy, System

SYSTEM = System(
    title="CXL-B",
    summary="Tables in CXL-MEM; an undo log of rows and MLP is written in the background of every batch.",
    devices=("host", "gpu", "cxl", "near-data", "pmem"),
    memory="pmem",
    shards="modules",
    plan=undo_plan,
    log_policy=LogPolicy("undo"),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
