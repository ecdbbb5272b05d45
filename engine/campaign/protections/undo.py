"""Undo: TrainingCXL's strict log of old rows and the MLP, with every batch.

The log lies in persistent memory behind CXL and is written in the background. Recovery is exact after a loss of power, but not
after a loss of that memory. Source: Kwon et al., IEEE Micro 43(2), 2023.
"""

from collections.abc import Mapping
from typing import Any

from ...errors import BadKnob
from ...scenario.scenario import Scenario
from ..protection import Fidelity, Protection, ProtectionPlan, Site

CXL = ("cxl", "cxl-b", "cxl-d")
TCXL = "Kwon et al., IEEE Micro 43(2), 2023"
# One medium holds tables and log: volatile state is restored, losses of the medium are not.
IN_PMEM: dict[str, Fidelity] = {
    **dict.fromkeys(("gpu", "host", "device", "link", "site"), "exact"),
    **dict.fromkeys(("fenced", "media", "line", "bits"), "lost"),
}


def near_data_knobs(scenario: Scenario, name: str, knobs: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the knobs for the scenario's system; raises BadKnob without persistent memory behind CXL."""
    if scenario.system not in knobs:
        raise BadKnob(
            f"protection={name} writes its log to persistent memory behind CXL, which system={scenario.system} does not have; "
            f"choose system={' or '.join(knobs)}, or protection=periodic-full."
        )
    return knobs[scenario.system]


def log(scenario: Scenario) -> Mapping[str, Any]:
    """Return the knobs that log the MLP with every batch.

    The lookup is as the system does it.
    """
    strict = {"policy.log": "undo", "policy.mlp_staleness_bound_batches": 0}
    return near_data_knobs(scenario, "undo", dict.fromkeys(CXL, strict))


def log_plan(site: Site) -> ProtectionPlan:
    """Return the plan: commit every batch, and recover as the system itself does."""
    logs = max(site.pace.pmem_bytes - site.unlogged_pace.pmem_bytes, 0.0)
    return ProtectionPlan(
        step=site.pace.step,
        joules=site.pace.joules,
        checkpoint_interval=1,
        batch_bytes={"pmem": logs},
        restore=site.pace.restore,
        restore_joules=site.pace.restore_joules,
        mlp_age=site.pace.mlp_age,
    )


PROTECTION = Protection(
    "Undo log",
    "TrainingCXL's strict undo log: old rows and the MLP are logged with every batch.",
    IN_PMEM,
    log_plan,
    log,
    cites=(TCXL,),
)
