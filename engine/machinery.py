"""A scenario made ready to run: its system, the policies in force, its devices, and batches on a timeline."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from engine import assumptions, system
from engine.device import Device
from engine.graph import check
from engine.parts import powered
from engine.power import counted, within_host
from engine.registry import every, load
from engine.scenario import Scenario
from engine.system import System, Ways
from engine.timeline import Slow, Timeline, timeline
from engine.traffic import Traffic


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
    devices = powered(scenario.system, scenario.machine)
    assumptions.check(scenario.machine, _catalogue())
    behind_link = chosen.memory == "dram" and "cxl" in chosen.devices
    known = devices if behind_link else within_host(devices)
    return Machinery(scenario, chosen, system.ways(scenario, chosen), counted(scenario.machine, known))


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
    check(graph, frozenset(m.devices))
    return timeline(graph, m.devices, traffic.batches, like.graph if like else None, slow)
