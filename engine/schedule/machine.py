"""A scenario made ready to run: its system, the policies in force, its devices, and batches on a timeline."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod

from ..core.graph import check
from ..core.memo import remembered
from ..hardware import assumptions
from ..hardware.device import Device
from ..hardware.power import counted, within_host
from ..registry import every, load
from ..scenario.machine import Machine
from ..scenario.scenario import Scenario
from ..systems import system
from ..systems.powered import built, powered
from ..systems.system import System, Ways
from ..systems.traffic import Traffic
from .timeline import Slow, Timeline, timeline


@dataclass(frozen=True)
class Machinery:
    """A scenario made ready to run: its system, policies in force, and devices by name."""

    scenario: Scenario
    system: System
    ways: Ways
    devices: Mapping[str, Device]


def machinery(scenario: Scenario) -> Machinery:
    """Build the devices of a settled scenario; raises BadKnob for a policy that its system cannot have."""
    chosen: System = load("systems", scenario.system)
    if scenario.machine.assume:
        assumptions.check(scenario.machine, _catalogue())
    parts = powered(scenario.system, scenario.machine)
    behind_link = chosen.memory == "dram" and "cxl" in chosen.devices
    with_host = not behind_link and {"host", "dram"} <= parts.keys()
    factor = prod([device.drawn_per_joule for device in parts.values()])
    devices = {name: _device(scenario.machine, name, with_host and name == "dram", factor) for name in parts}
    return Machinery(scenario, chosen, system.ways(scenario, chosen), devices)


@remembered()
def _device(machine: Machine, name: str, in_host: bool, factor: float) -> Device:
    device = built(machine, name)
    return counted(machine, within_host(device) if in_host else device, factor)


@cache
def _catalogue() -> tuple[str, ...]:
    """Return the names of all constants of all devices, as `machine.assume` knows them."""
    kinds = every("devices").items()
    return tuple(
        sorted({assumptions.name_of(device, one) for device, kind in kinds for part in kind.parts().values() for one in part})
    )


def schedule(m: Machinery, traffic: Traffic, like: Timeline | None = None, slow: Slow | None = None) -> Timeline:
    """Plan the batches of `traffic` and schedule them, some perhaps slowly; queues are as in the timeline `like`."""
    graph = m.system.plan(m.scenario, m.ways, traffic)
    check(graph, frozenset(m.devices), m.ways.log)
    return timeline(graph, m.devices, traffic.batches, like.graph if like else None, slow)
