"""How much of persistent memory's endurance a campaign takes."""

from math import inf

from engine.constants import Constant
from engine.protection import Site
from engine.units import GiB

_INTEL = "Intel by StorageReview and Blocks & Files, 2019: 360 PB written to a 256 GB module"
# How often the whole capacity can be written, by media; DRAM does not wear.
ENDURANCE = {
    "optane-100": Constant("endurance", 1.4e6, "full writes", 5.8e5, 2.3e6, "secondary", _INTEL),
    "optane-200": Constant("endurance", 1.4e6, "full writes", 5.8e5, 2.3e6, "unsourced", "as the 100 series"),
    "cxl-flash": Constant("endurance", 1825, "full writes", 550, 5500, "unsourced", "NAND: a drive write a day for five years"),
    "trainingcxl": Constant("endurance", 1.4e6, "full writes", 5.8e5, 2.3e6, "unsourced", "as Optane, which it emulates"),
}


def wear(site: Site, nbytes: float) -> float:
    """Return the share of its endurance that writing so many bytes takes from all persistent memory, evenly spread."""
    return nbytes / endurance(site)


def endurance(site: Site) -> float:
    """Return the bytes that all persistent memory of a site can store in its life."""
    machine = site.scenario.machine
    capacity = (machine.pmem_capacity_GiB or 0.0) * GiB * site.nodes
    return ENDURANCE[machine.pmem].value * capacity if machine.pmem in ENDURANCE else inf
