"""Families of machines, by the memory that holds their embedding rows.

A verdict compares the best machines of the families.
"""

from collections.abc import Mapping

from ...core.arithmetic import total
from ...hardware.devices.dram import grade_name
from ...systems.system import Settled

HBM, CACHED_DRAM, HOST, CXL, PERSISTENT, DRIVES, SERVERS = (
    "HBM",
    "DRAM, hot rows in HBM",
    "Host DRAM",
    "CXL memory",
    "Persistent memory",
    "Drives",
    "Embedding servers",
)
MIN_ROW_SHARE = 1e-3  # share of all rows; a memory with fewer names no family
# The lowest memory that holds rows names the family.
FAMILY_BY_MEMORY: Mapping[str, str] = {
    "ssd": DRIVES,
    "servers": SERVERS,
    "pmem": PERSISTENT,
    "expander-dram": CXL,
    "dram": HOST,
    "hbm": HBM,
}


def lowest_memory(settled: Settled) -> str:
    """Return the slowest memory that holds a noticeable share of a machine's rows."""
    bytes_by_memory = settled.system.nbytes_by_memory(settled.scenario)
    placed = total(bytes_by_memory.values())
    return next(
        (place for place in FAMILY_BY_MEMORY if bytes_by_memory.get(place, 0.0) > MIN_ROW_SHARE * placed),
        settled.system.memory,
    )


def family_of(settled: Settled) -> str:
    """Return the family of a machine.

    Machines with host DRAM and some rows in HBM are a separate family.
    """
    place = lowest_memory(settled)
    has_hbm_rows = settled.system.nbytes_by_memory(settled.scenario).get("hbm", 0.0) > 0 or settled.system.cache is not None
    return CACHED_DRAM if place == "dram" and has_hbm_rows else FAMILY_BY_MEMORY[place]


def medium_of(settled: Settled) -> str:
    """Return the part that holds most of a machine's rows.

    The part is a GPU, a grade of DRAM, a card, a medium or a drive.
    """
    machine, place = settled.scenario.machine, lowest_memory(settled)
    parts = {"ssd": machine.ssd, "pmem": machine.pmem, "hbm": machine.gpu, "expander-dram": machine.expander}
    return parts.get(place) or grade_name(machine)
