"""Redo: a log of each batch's new rows and the MLP in persistent memory.

The log is written at the end of the batch, before the rows are written to the tables. A power loss costs one batch, but each
batch waits for the log. Source: Kwon et al., IEEE Micro 43(2), 2023.
"""

from collections.abc import Mapping
from typing import Any

from ...scenario.scenario import Scenario
from ..protection import Protection
from .undo import IN_PMEM, TCXL, log_plan, near_data_knobs


def log(scenario: Scenario) -> Mapping[str, Any]:
    """Return the knobs of CXL-D's log; none for systems with their own redo log."""
    as_cxl_d = {"system": "cxl-d", "policy.log": None, "policy.mlp_staleness_bound_batches": None, "policy.relaxed_lookup": None}
    own_logs = {"pmem": {}, "pcie": {}, "ssd": {}, "cxl-d": {"policy.log": None}}
    return near_data_knobs(scenario, "redo", {"cxl": as_cxl_d, "cxl-b": as_cxl_d, **own_logs})


PROTECTION = Protection(
    "Redo log",
    "At the end of each batch, its new rows and the MLP are written to a log in persistent memory.",
    IN_PMEM,
    log_plan,
    log,
    cites=(TCXL,),
)
