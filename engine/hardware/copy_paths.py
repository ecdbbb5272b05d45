"""Constants of copies between a host and its GPUs, as sources measured them."""

from dataclasses import dataclass

from ..core.catalog import Catalogue
from ..core.constants import Constant
from ..core.part_files.tables import Quantity, quantity
from ..scenario.machine import MachineKnobs
from .device import assumed_value


def _share(share: float, low: float, high: float) -> Constant:
    """Return the share of the copy rate that small zero-copy requests reach."""
    return Constant("", share, "", low, high, "stated", "of a request's time on the link, a fixed part is not for bytes")


@dataclass(frozen=True)
class CopyPath:
    """Constants of copies between a host and its GPUs."""

    handoff: Constant = quantity("software hand-off", "us")
    phy: Constant = quantity("link energy", "pJ/bit")
    pageable: Constant = quantity("unpinned copy rate", "GB/s")
    direct: Constant = quantity("zero-copy share", "of copy rate")
    direct_64: Constant = quantity("zero-copy share at 64 B", "of copy rate", default=_share(0.55, 0.4, 0.7))
    direct_32: Constant = quantity("zero-copy share at 32 B", "of copy rate", default=_share(0.35, 0.25, 0.5))
    staged: Constant = quantity(
        "host DRAM a byte",
        "B",
        zero=True,
        default=Constant("", 1, "", 1, 2, "stated", "a copy reads or writes each byte once; 2 if it is staged"),
    )


PINNED = Quantity("pinned copy rate", "GB/s")  # of a measured path, for machine.pcie_bandwidth_GBps, which is what counts
PATHS = Catalogue("copy-path", CopyPath, used_by=("host",), extra_constants=(PINNED,))


def host_memory_share(machine: MachineKnobs) -> float:
    """Return the bytes of host DRAM that a copied byte reads or writes."""
    return assumed_value(machine, "pcie", PATHS[machine.host].staged)


def measured_rate(host: str) -> float | None:
    """Return the measured rate of pinned copies on a host [GB/s]; None if not measured."""
    said = PATHS.extra_constants(host).get(PINNED.name)
    return said.value if said else None
