"""The parts of a machine: the devices that a training system powers, and the constants that they were built from."""

from collections.abc import Mapping
from functools import lru_cache

from ..core.constants import Constant
from ..core.memo import remembered
from ..hardware.assumptions import name_of
from ..hardware.cluster import folded
from ..hardware.device import Device, DeviceKind
from ..registry import every, load
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import Scenario
from .system import System


def powered(system: str, machine: MachineKnobs) -> dict[str, Device]:
    """Build the devices that a system powers, by name, alike ones folded; with `all_powered`, those of its whole family."""
    return {name: built(machine, name) for name in named(system, machine)}


def named(system: str, machine: MachineKnobs) -> tuple[str, ...]:
    """Return the names of the devices that a system powers."""
    chosen = load("systems", system)
    wanted = {"near-data": machine.near_data_compute, "wall": machine.energy_level == "wall"}
    names = _bench(chosen) if machine.all_powered else (*chosen.devices, "wall")
    return tuple(name for name in names if wanted.get(name, True))


@remembered()
def built(machine: MachineKnobs, name: str) -> Device:
    """Build a device, alike ones folded."""
    kind: DeviceKind = load("devices", name)
    return folded(kind.build(machine), kind.copies(machine))


def _bench(chosen: System) -> tuple[str, ...]:
    """Return the devices of a machine on which every system of one family can run; what stands apart is no part of it."""
    used = {device for one in every("systems").values() if one.family == chosen.family for device in one.devices}
    return tuple(
        name
        for name, kind in every("devices").items()
        if name == "wall" or name in chosen.devices or (name in used and not kind.apart)
    )


def constants(scenario: Scenario) -> Mapping[str, Constant]:
    """Return the constants in use by name, as `machine.assume` knows them, with the scenario's assumptions applied."""
    return _constants(scenario.system, scenario.machine)


@lru_cache(maxsize=1024)
def _constants(system: str, machine: MachineKnobs) -> Mapping[str, Constant]:
    return {name_of(name, one): one for name, device in powered(system, machine).items() for one in device.constants}


def readers(path: str) -> tuple[str, ...]:
    """Return the devices that read a knob of the machine, given by dotted path."""
    return tuple(name for name, kind in every("devices").items() if path in kind.knobs)
