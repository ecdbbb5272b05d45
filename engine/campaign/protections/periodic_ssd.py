"""Periodic SSD: all tables and the MLP go to each node's own drives while training stands."""

from dataclasses import replace

from ..protection import Protection, ProtectionPlan, Site
from . import periodic_full


def plan(site: Site) -> ProtectionPlan:
    """Checkpoint to local drives; they draw idle power all the time."""
    return replace(periodic_full.plan(site, "ssd"), watts=site.ssd_watts)


PROTECTION = Protection(
    "Periodic checkpoint to SSD",
    "All tables and the MLP are written to each node's drives while training stands.",
    periodic_full.COPY_ELSEWHERE,
    plan,
    periodic=True,
    cites=("Young, CACM 17(9), 1974", "Daly, FGCS 22(3), 2006"),
)
