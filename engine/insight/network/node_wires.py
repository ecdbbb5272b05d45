"""Wires of one node: their ends, their rates, and how busy they are."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...core.arrays import Row
from ...hardware.device import Device, gpus_in_node, nodes
from ...hardware.devices.cxl import joint_rate
from ...hardware.devices.gpu_port import port_rate
from ...hardware.devices.network import fabric_rate
from ...hardware.devices.pcie import uplink_rate
from ...scenario.machine import MachineKnobs
from ...scenario.scenario import Scenario
from ...schedule.machine import Machine, ready_machine
from ...units import GB

GPU, SLOT, HOST, NETWORK, CARD = "GPU", "PCIe slot", "host CPU", "other nodes", "memory card"
MEMORIES = {"dram": "host DRAM", "expander-dram": "DRAM of cards", "pmem": "persistent memory", "ssd": "drives"}


class Wire(NamedTuple):
    """One wire of a node.

    device: the name of the device that works for the bytes on the wire.
    start, end: what it joins.
    rate: its rate in one direction [GB/s], of one GPU if `of_each_gpu`; None for memories, whose rate depends on the access.
    busy: the share of the time in which the device works.
    """

    device: str
    start: str
    end: str
    rate: float | None
    busy: float
    of_each_gpu: bool = False


def node_wires(scenario: Scenario, device_rows: tuple[Row, ...]) -> tuple[Wire, ...]:
    """Return the wires of one node of a machine.

    `device_rows` are the devices of its result. Raises CannotRun for a machine that does not fit.
    """
    m = ready_machine(scenario)
    busy = {str(row["Device"]): float(row["Busy [%]"]) / 100 for row in device_rows}
    return tuple(_wires(m, m.scenario.machine, busy))


def _wires(m: Machine, machine: MachineKnobs, busy: Mapping[str, float]) -> Iterator[Wire]:
    devices: Mapping[str, Device] = m.devices
    behind_cxl = "cxl" in devices
    if "gpu-port" in devices:
        yield Wire("gpu-port", GPU, SLOT, port_rate(machine), busy["gpu-port"], True)
    if "pcie" in devices:
        yield Wire("pcie", SLOT, HOST, uplink_rate(machine), busy["pcie"], True)
    if "network" in devices and gpus_in_node(machine) > 1 and "gpu" in devices:
        yield Wire("network", GPU, "other GPUs", fabric_rate(machine), busy["network"], True)
    if "network" in devices and nodes(machine) > 1:
        start = SLOT if "gpu" in devices else HOST
        yield Wire("network", start, NETWORK, machine.network_bandwidth_GBps, busy["network"], "gpu" in devices)
    if "remote" in devices:
        yield Wire("remote", SLOT, "embedding servers", None, busy["remote"])
    if behind_cxl:
        yield Wire("cxl", SLOT, "CXL cards", joint_rate(machine) / GB, busy["cxl"])
    if "card-link" in devices:
        yield Wire("card-link", HOST, CARD, devices["card-link"].rates / GB, busy["card-link"])
    far = "CXL cards" if behind_cxl else CARD if "card-link" in devices else HOST
    for name, place in MEMORIES.items():
        if name in devices:
            rate = devices[name].rates.rate / GB if name == "dram" else None
            yield Wire(name, far if name in ("pmem", "expander-dram") else HOST, place, rate, busy[name])


def busiest_wire(wires: tuple[Wire, ...]) -> Wire:
    """Return the wire that works for the largest share of the time.

    Of a device's wires it is the slowest.
    """
    return max(wires, key=lambda wire: (wire.busy, -(wire.rate or 0.0)))
