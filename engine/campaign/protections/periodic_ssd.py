"""Periodic SSD: training pauses to write tables and MLP to each node's drives.

Drives are faster than remote storage. Source: Young, CACM 17(9), 1974; Daly, FGCS 22(3), 2006.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

from ...hardware.device import nodes
from ..protection import COPIES, Protection, ProtectionPlan, Site
from . import periodic_full


def plan(site: Site) -> ProtectionPlan:
    """Return the plan: checkpoint to local drives, which draw idle power all the time."""
    return replace(periodic_full.plan(site, "ssd"), watts=site.ssd_watts)


def storage_needs(site: Site) -> Mapping[str, float]:
    """Return the number of drives to add to each node for the copies.

    It is at least the number of drives to which the plan writes at once.
    """
    machine, missing_bytes = site.scenario.machine, COPIES * site.state - site.drive_room
    new_drives = 0 if site.drives else machine.num_ssds or 1
    return {"drives": max(new_drives, ceil(missing_bytes / nodes(machine) / site.drive_bytes))}


PROTECTION = Protection(
    "Periodic checkpoint to SSD",
    "Training pauses while all tables and the MLP are written to the drives of each node.",
    periodic_full.COPY_ELSEWHERE,
    plan,
    periodic=True,
    cites=("Young, CACM 17(9), 1974", "Daly, FGCS 22(3), 2006"),
    storage_needs=storage_needs,
)
