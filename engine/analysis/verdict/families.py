"""Families: where a machine's rows are held, which is what a verdict chooses among."""

from collections.abc import Mapping

from ...hardware.devices.dram import grade_name
from ...systems.system import Settled

HBM, CACHED, HOST, CXL, PERSISTENT, DRIVES, SERVERS = (
    "HBM",
    "DRAM, hot rows in HBM",
    "Host DRAM",
    "CXL memory",
    "Persistent memory",
    "Drives",
    "Embedding servers",
)
LEAST = 1e-3  # of all rows: fewer name no family
# The lowest memory that holds rows names the family.
FROM_BELOW: Mapping[str, str] = {
    "ssd": DRIVES,
    "servers": SERVERS,
    "pmem": PERSISTENT,
    "expander-dram": CXL,
    "dram": HOST,
    "hbm": HBM,
}


def held_in(settled: Settled) -> str:
    """Return the lowest memory that holds rows of a machine, as its system places them."""
    held = settled.system.held(settled.scenario)
    total = sum(held.values())
    return next((place for place in FROM_BELOW if held.get(place, 0.0) > LEAST * total), settled.system.memory)


def family_of(settled: Settled) -> str:
    """Return the family of a machine; host DRAM beside rows in HBM is one of its own."""
    place = held_in(settled)
    near = settled.system.held(settled.scenario).get("hbm", 0.0) > 0 or settled.system.cache is not None
    return CACHED if place == "dram" and near else FROM_BELOW[place]


def medium_of(settled: Settled) -> str:
    """Return the part that holds most of a machine's rows: a GPU, a grade of DRAM, a card, a medium or a drive."""
    machine, place = settled.scenario.machine, held_in(settled)
    parts = {"ssd": machine.ssd, "pmem": machine.pmem, "hbm": machine.gpu, "expander-dram": machine.expander}
    return parts.get(place) or grade_name(machine)
