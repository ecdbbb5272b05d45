"""PCIe copies by software: synchronise, call, dispatch, then bytes at the pinned-copy rate."""

from dataclasses import dataclass

from ...core.catalog import Catalogue, quantity
from ...core.constants import Constant
from ...core.work import Copy, Direct
from ...scenario.machine import MachineKnobs
from ...units import GB, US
from ..device import Device, DeviceKind, assumed, fields_of, over_link


@dataclass(frozen=True)
class CopyPath:
    """The software path of a host's copies."""

    handoff: Constant = quantity("software hand-off", "us")
    phy: Constant = quantity("link energy", "pJ/bit")
    pageable: Constant = quantity("unpinned copy rate", "GB/s")
    direct: Constant = quantity("zero-copy share", "of copy rate")


PATHS = Catalogue("copy-path", CopyPath, of=("host",))


def build(machine: MachineKnobs) -> Device:
    """Build the PCIe path between host memory or a card and the GPU."""
    path = assumed(machine, "pcie", PATHS[machine.host])
    rate = machine.pcie_bandwidth_GBps * GB
    unpinned = min(rate, path.pageable.value * GB)

    return Device(
        name="pcie",
        title=f"PCIe, {machine.pcie_bandwidth_GBps:g} GB/s copies",
        helps="fewer hand-offs or a faster copy path would shorten it",
        seconds={
            Direct: lambda work: work.nbytes / (path.direct.value * rate),
            Copy: lambda work: work.handoffs * path.handoff.value * US + work.nbytes / (rate if work.pinned else unpinned),
        },
        joules=dict.fromkeys((Copy, Direct), lambda work: over_link(work.nbytes, path.phy)),
        full_watts=over_link(2 * rate, path.phy),
        constants=fields_of(path),
    )


DEVICE = DeviceKind(
    "PCIe link",
    build,
    lambda: {name: fields_of(path) for name, path in PATHS.items()},
    reads=("host", "pcie_bandwidth_GBps"),
    copies=lambda machine: machine.num_gpus,
)
