"""CXL-D: tables in persistent memory behind CXL, with a redo log after each batch.

Near-data logic pools and updates rows, and the CXL hardware moves the data without software. CXL-B differs only by its undo log.
A comparison with system PCIe shows how much CXL saves. Source: Kwon et al., IEEE Micro 43(2), 2023.
"""

from ...core.graph import Task
from ..steps.shared import BACKWARD_DONE, near_plan, redo_checkpoint, undo_plan
from ..system import LogPolicy, Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, which need no software hand-offs.

    The log in force is a redo log after the batch, or an undo log during the top MLP.
    """
    if settled.log_policy.log == "undo":
        return undo_plan(settled, t)
    return near_plan(settled, t, "pmem", ("Commit",), redo_checkpoint(settled.scenario, t, "pmem", "cxl", BACKWARD_DONE))


SYSTEM = System(
    title="CXL-D",
    summary="Tables in persistent memory behind CXL with near-data logic; hardware moves data; redo log after every batch.",
    devices=("host", "gpu", "cxl", "network", "near-data", "pmem"),
    one_node=True,
    memory="pmem",
    parts_kind="modules",
    plan=plan,
    log_policy=LogPolicy("redo"),
    logs=("undo",),
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
