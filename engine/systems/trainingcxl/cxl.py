"""CXL: CXL-B with relaxed embedding lookup and an MLP log that may span batches; TrainingCXL itself."""

from dataclasses import replace

from ..system import LogPolicy
from .cxl_b import SYSTEM as CXL_B

SYSTEM = replace(
    CXL_B,
    title="CXL",
    summary="TrainingCXL: undo log in the background, lookup a batch early, MLP log relaxed over batches.",
    log_policy=LogPolicy("undo", 100, True),
    can_relax=True,
)
