"""CXL: TrainingCXL itself, which is CXL-B with relaxed lookup and MLP log.

The rows of the next batch are looked up before this batch updates them, and the vectors are corrected afterwards. The MLP is
logged over several batches, so a power loss may cost some of its updates. It is the fastest of the paper's systems with
persistent memory. Source: Kwon et al., IEEE Micro 43(2), 2023.
"""

from dataclasses import replace

from ..system import LogPolicy
from .cxl_b import SYSTEM as CXL_B

SYSTEM = replace(
    CXL_B,
    title="CXL",
    summary=(
        "TrainingCXL: tables behind CXL, a background undo log, lookups one batch early, and the MLP logged over several batches."
    ),
    log_policy=LogPolicy("undo", 100, True),
    can_relax=True,
)
