"""CXL: CXL-B with relaxed embedding lookup and an MLP log that may span batches; TrainingCXL itself."""

from engine import blocks
from engine.blocks_undo import undo_plan
from engine.graph import TaskGraph
from engine.scenario import Scenario
from engine.system import Recovery, System, Ways


def recover(s: Scenario, recovery: Recovery) -> TaskGraph:
    """Rows are rolled back from the undo log, the MLP comes from its newest complete log, which may be older."""
    return blocks.restore("pmem", "cxl", recovery)


SYSTEM = System(
    title="CXL",
    summary="TrainingCXL: undo log in the background, lookup a batch early, MLP log relaxed over batches.",
    devices=("host", "gpu", "cxl", "near-data", "pmem"),
    memory="pmem",
    plan=undo_plan,
    recover=recover,
    ways=Ways("undo", 100, True),
    near_data=True,
    relaxes=True,
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
