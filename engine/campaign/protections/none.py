"""None: nothing is kept, so that every loss of state starts training again."""

from ..protection import LOSSES, Plan, Protection, Site


def plan(site: Site) -> Plan:
    """Train and hope."""
    return Plan(site.bare.step, site.bare.joules)


PROTECTION = Protection(
    "None", "Nothing is kept; a fault that destroys state starts training again.", dict.fromkeys(LOSSES, "lost"), plan
)
