"""Relaxed: TrainingCXL's undo log, with the MLP logged over several batches.

So a recovery may find an MLP that is some batches older than the rows. Relaxed helps where an MLP log with every batch would
slow training. Source: Kwon et al., IEEE Micro 43(2), 2023.
"""

from collections.abc import Mapping
from typing import Any

from ...errors import BadKnob
from ...scenario.scenario import Scenario
from ..protection import Protection
from .undo import IN_PMEM, TCXL, log_plan, near_data_knobs


def log(scenario: Scenario, name: str = "relaxed") -> Mapping[str, Any]:
    """Return the knobs for an MLP log that may be several batches old.

    The scenario's knob sets the largest age; if it is automatic, the system does.
    The knob of relaxed lookup keeps its effect.
    """
    strict = {"system": "cxl", "policy.log": None, "policy.relaxed_lookup": False}
    if scenario.policy.mlp_staleness_bound_batches == 0 and scenario.system == "cxl":
        raise BadKnob(
            f"protection={name} needs an MLP log that spans several batches, but policy.mlp_staleness_bound_batches=0; raise "
            "it, set it to auto, or choose protection=undo."
        )
    bound = {"policy.mlp_staleness_bound_batches": scenario.policy.mlp_staleness_bound_batches or None}
    return near_data_knobs(scenario, name, {"cxl": {}, "cxl-b": {**strict, **bound}, "cxl-d": {**strict, **bound}})


PROTECTION = Protection(
    "Relaxed undo log",
    "TrainingCXL's undo log: rows are logged with every batch, the MLP over several batches.",
    {loss: "lossy" if fidelity == "exact" else fidelity for loss, fidelity in IN_PMEM.items()},
    log_plan,
    log,
    cites=(TCXL,),
)
