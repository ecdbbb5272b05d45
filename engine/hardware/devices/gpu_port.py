"""Port of a GPU: the link of all bytes but those of a fabric.

Copies, direct reads of host memory, network cards, CXL memory and a fabric over PCIe share it. Each direction is a lane. A PCIe
link of 16 lanes is as fast as the slower of its two ends; a superchip's GPU has a link of its own to its CPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...core import catalog
from ...core.constants import Constant
from ...core.figures import figure
from ...core.memo import is_given
from ...core.part_files.tables import quantity
from ...core.row_sizes import granule_bytes
from ...core.work import AllGather, AllReduce, AllToAll, Copy, Direct, Fetch, Move
from ...scenario.machine import MachineKnobs
from ...units import GB
from ..copy_paths import measured_rate
from ..device import Cost, Device, DeviceKind, assumed_part, assumed_value, fields_of, gpus_in_node, nodes
from ..hosts import HOSTS
from .gpu import ACCELERATORS, SECTOR, port
from .network import FABRICS

OLDEST, LATEST = 3, 7  # generations of PCIe; each is twice as fast as the one before


@dataclass(frozen=True)
class HostEnd:
    """The host's end of a port: 16 lanes of PCIe 3, from which later generations follow."""

    lanes: Constant = quantity(
        "host port of PCIe 3",
        "GB/s",
        default=Constant("", 13, "", 12, 13.5, "measured", "pinned copies over 16 lanes: 12.3 to 13; 24.8 to 26 on PCIe 4"),
    )


HOST_END = HostEnd()


class PortRates(NamedTuple):
    """Rates of the ports of all GPUs.

    gpus: number of GPUs.
    rate: rate of a GPU's port in one direction [B/s].
    fabric: share of the bytes between GPUs of a node that cross the port.
    gathered: bytes over the fabric for each byte over the network.
    ring: bytes of an all-reduce that cross the port, per byte of a GPU's gradients.
    """

    gpus: float
    rate: float
    fabric: float
    gathered: float
    ring: float


def exchanged_bytes(ports: PortRates, work: AllToAll) -> Any:
    """Return the bytes of an all-to-all at the busiest GPU's port.

    There are none if the hosts exchange.
    """
    return 0.0 if work.hosts else work.network + ports.fabric * (work.fabric + ports.gathered * work.network)


SECONDS: Mapping[type, Cost] = {
    **dict.fromkeys((Copy, Fetch, Move), lambda ports, work: work.nbytes / ports.gpus / ports.rate),
    Direct: lambda ports, work: work.rows * granule_bytes(work.row_bytes, SECTOR) / ports.gpus / ports.rate,
    AllToAll: lambda ports, work: exchanged_bytes(ports, work) / ports.rate,
    AllReduce: lambda ports, work: work.nbytes * ports.ring / ports.rate,
    AllGather: lambda ports, work: work.nbytes * ports.ring / 2 / ports.rate,
}


def host_port(machine: MachineKnobs) -> float:
    """Return the rate of 16 lanes of the host's PCIe, one direction [GB/s].

    It is at least that of measured copies.
    """
    measured = measured_rate(machine.host) or 0.0
    generation = assumed_value(machine, "host", HOSTS[machine.host].generation)
    return max(
        measured, float(assumed_value(machine, "gpu-port", HOST_END.lanes) * 2.0 ** min(generation - OLDEST, LATEST - OLDEST))
    )


def is_superchip(machine: MachineKnobs) -> bool:
    """Return whether a link of their own joins GPU and CPU.

    A prototype's GPU counts as joined.
    """
    return machine.gpu not in ACCELERATORS or catalog.form("gpu", machine.gpu) == "superchip"


def port_rate(machine: MachineKnobs) -> float:
    """Return the rate of a GPU's port, one direction [GB/s].

    It is that of the slower end, the GPU's or the host's.
    """
    return port(machine) if is_superchip(machine) else min(port(machine), host_port(machine))


def copy_rate(machine: MachineKnobs) -> float:
    """Return the rate of one GPU's copies from pinned memory, one direction [GB/s]."""
    given = is_given(machine, "pcie_bandwidth_GBps")
    return machine.pcie_bandwidth_GBps if given else port_rate(machine)  # type: ignore[return-value]


def build(machine: MachineKnobs) -> Device:
    """Return the ports of all GPUs as one device.

    They draw no power of their own.
    """
    rate, fabric = port_rate(machine), assumed_part(machine, "network", FABRICS[machine.gpu]).port_share.value
    node_gpus, count = gpus_in_node(machine), nodes(machine)
    rates = PortRates(
        gpus=float(machine.num_gpus),
        rate=rate * GB,
        fabric=fabric,
        gathered=(node_gpus - 1) / node_gpus if machine.exchange_route == "by node" else 0.0,
        ring=2 * (count - 1) / count / node_gpus + fabric * 2 * (node_gpus - 1) / node_gpus,
    )
    return Device(
        name="gpu-port",
        title=f"GPU port, {figure(rate, 'GB/s')} each way",
        helps="a GPU and a host with a faster port, or fewer bytes, would shorten it",
        rates=rates,
        seconds=SECONDS,
        constants=fields_of(assumed_part(machine, "gpu-port", HOST_END)),
    )


DEVICE = DeviceKind(
    "GPU port",
    build,
    lambda: {"": fields_of(HOST_END)},
    knob_names=("gpu", "host", "exchange_route"),
)
