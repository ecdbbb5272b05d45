"""How much of persistent memory's endurance a campaign takes."""

from math import inf

from ..hardware.devices.pmem import ENDURANCE, MEDIA
from ..units import GiB
from .protection import Site


def wear(site: Site, nbytes: float) -> float:
    """Return the share of its endurance that writing so many bytes takes from all persistent memory, evenly spread."""
    return nbytes / endurance(site)


def endurance(site: Site) -> float:
    """Return the bytes that all persistent memory of a site can store in its life."""
    machine = site.scenario.machine
    capacity = (machine.pmem_capacity_GiB or 0.0) * GiB * site.nodes
    lasts = MEDIA.aside(machine.pmem).get(ENDURANCE.name)
    return lasts.value * capacity if lasts else inf
