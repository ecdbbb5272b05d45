"""Families of machines, by the memory that holds the rows; a verdict chooses among families."""

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
LEAST = 1e-3  # share of all rows; a memory with fewer names no family
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
    bytes_by_memory = settled.system.held(settled.scenario)
    total = sum(bytes_by_memory.values())
    return next((place for place in FROM_BELOW if bytes_by_memory.get(place, 0.0) > LEAST * total), settled.system.memory)


def family_of(settled: Settled) -> str:
    """Return the family of a machine; host DRAM with rows in HBM is a family of its own."""
    place = held_in(settled)
    has_hbm_rows = settled.system.held(settled.scenario).get("hbm", 0.0) > 0 or settled.system.cache is not None
    return CACHED if place == "dram" and has_hbm_rows else FROM_BELOW[place]


def medium_of(settled: Settled) -> str:
    """Return the part that holds most of a machine's rows.

    The part is a GPU, a grade of DRAM, a card, a medium or a drive.
    """
    machine, place = settled.scenario.machine, held_in(settled)
    parts = {"ssd": machine.ssd, "pmem": machine.pmem, "hbm": machine.gpu, "expander-dram": machine.expander}
    return parts.get(place) or grade_name(machine)
