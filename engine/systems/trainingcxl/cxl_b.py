"""CXL-B: CXL-D with an undo log that is written while the top part runs."""

from dataclasses import replace

from ..system import LogPolicy
from .cxl_d import SYSTEM as CXL_D

SYSTEM = replace(
    CXL_D,
    title="CXL-B",
    summary="Tables in CXL-MEM; an undo log of rows and MLP is written in the background of every batch.",
    log_policy=LogPolicy("undo"),
    logs=(),
)
