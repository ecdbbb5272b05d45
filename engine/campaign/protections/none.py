"""None: no copy of the state, so each loss of state starts training again.

It is the reference without any cost of protection.
"""

from ..protection import LOSSES, Protection, ProtectionPlan, Site


def plan(site: Site) -> ProtectionPlan:
    """Return the plan: train without any copy of the state."""
    return ProtectionPlan(site.unlogged_pace.step, site.unlogged_pace.joules)


PROTECTION = Protection(
    "None",
    "No copy of the state is kept; a fault that destroys state starts training again at batch 0.",
    dict.fromkeys(LOSSES, "lost"),
    plan,
)
