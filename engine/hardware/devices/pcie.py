"""PCIe link: copies between host and GPU that software starts.

A copy takes the time to synchronise, call and dispatch, and then its bytes' time at the rate of pinned memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.figures import figure
from ...core.part_files.tables import Quantity, quantity
from ...core.work import Copy, Direct
from ...scenario.machine import MachineKnobs
from ...units import GB, US
from ..device import Cost, Device, DeviceKind, assumed_part, assumed_value, fields_of, gpus_in_node, over_link
from .chassis import chassis
from .gpu_port import copy_rate, host_port, is_superchip


@dataclass(frozen=True)
class CopyPath:
    """Constants of copies between a host and its GPUs."""

    handoff: Constant = quantity("software hand-off", "us")
    phy: Constant = quantity("link energy", "pJ/bit")
    pageable: Constant = quantity("unpinned copy rate", "GB/s")
    direct: Constant = quantity("zero-copy share", "of copy rate")
    staged: Constant = quantity(
        "host DRAM a byte",
        "B",
        zero=True,
        default=Constant(
            "", 1, "", 1, 2, "stated", "a copy reads or writes each byte once; 2 where it is staged in pinned memory"
        ),
    )


PINNED = Quantity("pinned copy rate", "GB/s")  # of a measured path, for machine.pcie_bandwidth_GBps, which is what counts
PATHS = Catalogue("copy-path", CopyPath, used_by=("host",), extra_constants=(PINNED,))


class CopyRates(NamedTuple):
    """Rates of copies between a host and a GPU.

    pinned: rate of copies from pinned memory [B/s].
    unpinned: rate of copies from pageable memory [B/s].
    direct: rate at which GPU threads read host memory [B/s].
    handoff: time of a software hand-off (synchronise, call, dispatch) [us].
    bit: energy at either end of the link [pJ/bit].
    """

    pinned: float
    unpinned: float
    direct: float
    handoff: float
    bit: float


def copy_seconds(path: CopyRates, work: Copy) -> Any:
    """Return the seconds of a copy: its software hand-offs, then its bytes."""
    return work.handoffs * path.handoff * US + work.nbytes / (path.pinned if work.pinned else path.unpinned)


def link_joules(path: CopyRates, work: Copy | Direct) -> Any:
    """Return the joules of bytes on the link, by copies or direct accesses."""
    return over_link(work.nbytes, path.bit)


SECONDS: Mapping[type, Cost] = {Direct: lambda path, work: work.nbytes / path.direct, Copy: copy_seconds}
JOULES: Mapping[type, Cost] = {Copy: link_joules, Direct: link_joules}


def host_memory_share(machine: MachineKnobs) -> float:
    """Return the bytes of host DRAM that are read or written for a byte between a GPU and its host."""
    return assumed_value(machine, "pcie", PATHS[machine.host].staged)


def measured_rate(host: str) -> float | None:
    """Return the measured rate of pinned copies on a host [GB/s]; None if not measured."""
    said = PATHS.extra_constants(host).get(PINNED.name)
    return said.value if said else None


def uplink_rate(machine: MachineKnobs) -> float:
    """Return the rate of a GPU's copies while all GPUs of a node copy [GB/s].

    GPUs behind one PCIe switch share its uplink to the CPU, whose 16 lanes are of the host's generation.
    """
    sharers = min(gpus_in_node(machine), chassis(machine).uplink.value)
    if is_superchip(machine) or sharers <= 1:
        return copy_rate(machine)
    return min(copy_rate(machine), host_port(machine) / sharers)


def build(machine: MachineKnobs) -> Device:
    """Return the PCIe path between host memory or a memory card and the GPU."""
    path = assumed_part(machine, "pcie", PATHS[machine.host])
    rate = uplink_rate(machine) * GB
    rates = CopyRates(
        pinned=rate,
        unpinned=min(rate, path.pageable.value * GB),
        direct=path.direct.value * rate,
        handoff=path.handoff.value,
        bit=path.phy.value,
    )
    return Device(
        name="pcie",
        title=f"PCIe, {figure(rate / GB, 'GB/s')} copies",
        helps="fewer hand-offs or a faster copy path would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        full_watts=over_link(2 * rate, path.phy.value),
        constants=fields_of(path),
    )


DEVICE = DeviceKind(
    "PCIe link",
    build,
    lambda: {name: fields_of(path) for name, path in PATHS.items()},
    knob_names=("host", "pcie_bandwidth_GBps", "gpu", "chassis", "gpus_per_node"),
    copies=lambda machine: machine.num_gpus,
)
