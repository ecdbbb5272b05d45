"""None: no copy of the state, so that every loss of state starts training again."""

from ..protection import LOSSES, Protection, ProtectionPlan, Site


def plan(site: Site) -> ProtectionPlan:
    """Return the plan: train without any copy of the state."""
    return ProtectionPlan(site.unlogged_pace.step, site.unlogged_pace.joules)


PROTECTION = Protection(
    "None", "Nothing is kept; a fault that destroys state starts training again.", dict.fromkeys(LOSSES, "lost"), plan
)
