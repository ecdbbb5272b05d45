"""None: nothing is kept, so that every loss of state starts training again."""

from ..protection import LOSSES, Protection, ProtectionPlan, Site


def plan(site: Site) -> ProtectionPlan:
    """Train and hope."""
    return ProtectionPlan(site.bare.step, site.bare.joules)


PROTECTION = Protection(
    "None", "Nothing is kept; a fault that destroys state starts training again.", dict.fromkeys(LOSSES, "lost"), plan
)
