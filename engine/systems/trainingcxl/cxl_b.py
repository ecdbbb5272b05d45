"""CXL-B: CXL-D whose undo log is written in the background, during the top MLP.

A comparison with CXL-D shows how much background logging saves, without relaxed lookup. A power loss costs one batch, and the
result stays exact. Source: Kwon et al., IEEE Micro 43(2), 2023.
"""

from dataclasses import replace

from ..system import LogPolicy
from .cxl_d import SYSTEM as CXL_D

SYSTEM = replace(
    CXL_D,
    title="CXL-B",
    summary="Tables in persistent memory behind CXL; each batch writes an undo log of rows and MLP in the background.",
    log_policy=LogPolicy("undo"),
    logs=(),
)
