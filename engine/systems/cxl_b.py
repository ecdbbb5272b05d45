"""CXL-B: CXL-D with an undo log that is written while the top part runs."""

from engine import blocks
from engine.blocks_undo import undo_plan
from engine.graph import TaskGraph
from engine.scenario import Scenario
from engine.system import Recovery, System, Ways


def recover(s: Scenario, recovery: Recovery) -> TaskGraph:
    """Rows are rolled back from the undo log, the MLP comes from its log."""
    return blocks.restore("pmem", "cxl", recovery)


SYSTEM = System(
    title="CXL-B",
    summary="Tables in CXL-MEM; an undo log of rows and MLP is written in the background of every batch.",
    devices=("host", "gpu", "cxl", "near-data", "pmem"),
    memory="pmem",
    plan=undo_plan,
    recover=recover,
    ways=Ways("undo", 0, False),
    near_data=True,
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
