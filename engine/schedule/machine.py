"""A scenario made ready to run: its system, the policies in force, its devices, and batches on a timeline."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod

from ..core.graph import check
from ..hardware import assumptions
from ..hardware.device import Device
from ..hardware.power import counted, within_host
from ..registry import every, load
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import Scenario
from ..systems import system
from ..systems.powered import built, powered
from ..systems.system import LogPolicy, System
from ..systems.traffic import Traffic
from .timeline import Slow, Timeline, timeline


@dataclass(frozen=True)
class Machine:
    """A scenario made ready to run: its system, policies in force, and devices by name."""

    scenario: Scenario
    system: System
    log_policy: LogPolicy
    devices: Mapping[str, Device]


def machine_of(scenario: Scenario) -> Machine:
    """Build the devices of a settled scenario; raises BadKnob for a policy that its system cannot have."""
    chosen: System = load("systems", scenario.system)
    if scenario.machine.assume:
        assumptions.check(scenario.machine, _catalogue())
    parts = powered(scenario.system, scenario.machine)
    behind_link = chosen.memory == "dram" and "cxl" in chosen.devices
    with_host = not behind_link and {"host", "dram"} <= parts.keys()
    factor = prod([device.drawn_per_joule for device in parts.values()])
    devices = {name: _device(scenario.machine, name, with_host and name == "dram", factor) for name in parts}
    return Machine(scenario, chosen, system.log_policy(scenario, chosen), devices)


def _device(machine: MachineKnobs, name: str, in_host: bool, factor: float) -> Device:
    device = built(machine, name)
    return counted(machine, within_host(device) if in_host else device, factor)


@cache
def _catalogue() -> tuple[str, ...]:
    """Return the names of all constants of all devices, as `machine.assume` knows them."""
    kinds = every("devices").items()
    return tuple(
        sorted({assumptions.name_of(device, one) for device, kind in kinds for part in kind.parts().values() for one in part})
    )


def schedule(m: Machine, traffic: Traffic, like: Timeline | None = None, slow: Slow | None = None) -> Timeline:
    """Plan the batches of `traffic` and schedule them, some perhaps slowly; queues are as in the timeline `like`."""
    graph = m.system.plan(m.scenario, m.log_policy, traffic)
    check(graph, frozenset(m.devices), m.log_policy.log)
    return timeline(graph, m.devices, traffic.batches, like.graph if like else None, slow)
