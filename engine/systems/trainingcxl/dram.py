"""DRAM: system CXL with DRAM instead of persistent memory, and without checkpoint.

It is the ideal with which the paper's persistent systems are compared: fast, but a power loss loses all training. Source: Kwon
et al., IEEE Micro 43(2), 2023.
"""

from ...core.graph import Task
from ..steps.shared import BACKWARD_DONE, near_plan
from ..system import Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, with near-data lookup and update, without a log."""
    return near_plan(settled, t, "expander-dram", BACKWARD_DONE)


SYSTEM = System(
    title="DRAM",
    summary="The ideal: all tables in DRAM behind CXL, without checkpoint; after a power loss training starts again.",
    devices=("host", "gpu", "cxl", "network", "near-data", "expander-dram"),
    one_node=True,
    memory="expander-dram",
    parts_kind="modules",
    plan=plan,
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
