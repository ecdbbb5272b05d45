"""Limits of GPUs' ports: what a machine asks of them that no part delivers."""

from ..core.figures import figure
from ..core.memo import is_given
from ..hardware.device import nodes
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
