"""CXL: CXL-B with relaxed embedding lookup and an MLP log that may span batches; TrainingCXL itself."""

from ..steps.shared import undo_plan
from ..system import LogPolicy, System

SYSTEM = System(
    title="CXL",
    summary="TrainingCXL: undo log in the background, lookup a batch early, MLP log relaxed over batches.",
    devices=("host", "gpu", "cxl", "near-data", "pmem"),
    memory="pmem",
    shards="modules",
    plan=undo_plan,
    log_policy=LogPolicy("undo", 100, True),
    relaxes=True,
    cites=("Kwon et al., IEEE Micro 43(2), 2023",),
)
