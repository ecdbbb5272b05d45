"""Limits of nodes and their GPUs: places, nodes of a system, rates of ports."""

from ..core.figures import count, figure
from ..core.memo import is_given
from ..hardware.device import gpus_in_node, nodes
from ..hardware.devices.chassis import MOST_PLACES, places
from ..hardware.devices.gpu import port
from ..hardware.devices.gpu_port import copy_rate, host_port, is_superchip, port_rate
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import KNOBS, Scenario
from .system import System

COPIES, ROUNDING = "machine.pcie_bandwidth_GBps", 1e-9
USUAL_CARD = float(KNOBS["machine.network_bandwidth_GBps"].default)  # of 200 Gb/s [GB/s]


def port_problems(s: Scenario, system: System) -> tuple[str, ...]:
    """Return a sentence for each rate above that of a GPU's port.

    The usual network card is accepted in a slower slot, where it works at the slot's rate.
    """
    machine, asked = s.machine, list[tuple[str, float, str]]()
    if "gpu" not in system.devices:
        return ()
    if "pcie" in system.devices and is_given(machine, "pcie_bandwidth_GBps"):
        asked.append(("pcie_bandwidth_GBps", copy_rate(machine), "set it to auto"))
    if "network" in system.devices and nodes(machine) > 1:
        asked.append(("network_bandwidth_GBps", machine.network_bandwidth_GBps, "lower it"))
    limit = port_rate(machine)
    accepted = {"pcie_bandwidth_GBps": limit, "network_bandwidth_GBps": max(limit, USUAL_CARD)}
    return tuple(
        f"machine.{name}={figure(rate)} GB/s is more than a GPU's port carries, {figure(limit, 'GB/s')} each way "
        f"({slower_end(machine)}); {remedy}, or choose a GPU and a host with faster ports."
        for name, rate, remedy in asked
        if rate > accepted[name] * (1 + ROUNDING)
    )


def slower_end(machine: MachineKnobs) -> str:
    """Return which end of a GPU's port limits it, as a knob and its value."""
    if is_superchip(machine) or port(machine) <= host_port(machine):
        return f"machine.gpu={machine.gpu}"
    return f"machine.host={machine.host}"


def more_nodes(s: Scenario, system: System) -> str:
    """Return a refusal of several nodes under a system for one, else ""."""
    if not system.one_node:
        return ""
    gpus, limit = s.machine.num_gpus, f"system={s.system} trains on one node of up to {count(MOST_PLACES, 'GPU')}"
    if is_given(s.machine, "target_throughput"):
        return f"machine.target_throughput is not possible: {limit}; set it to auto."
    if gpus > MOST_PLACES:
        return f"machine.num_gpus={gpus} is not possible: {limit}; set it to {MOST_PLACES} or less."
    if nodes(s.machine) > 1:
        path = f"machine.gpus_per_node={s.machine.gpus_per_node}"
        return f"{path} divides {count(gpus, 'GPU')} over {count(nodes(s.machine), 'node')}, but {limit}; set it to {gpus}."
    return ""


def crowded_chassis(s: Scenario, system: System) -> str:
    """Return a refusal of more GPUs in a node than its chassis has places, else ""."""
    gpus, room = gpus_in_node(s.machine), places(s.machine)
    if gpus <= room or room >= MOST_PLACES:  # a node can have several of the largest chassis
        return ""
    fewer = "machine.num_gpus" if system.one_node else "machine.gpus_per_node"
    return (
        f"machine.chassis={s.machine.chassis} has places for {room} GPU{'s' * (room > 1)}, but a node has {gpus}; "
        f"set it to auto, or lower {fewer} to {room}."
    )
