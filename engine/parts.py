"""The parts of a machine: the devices that a training system powers, and the constants that they were built from."""

from collections.abc import Mapping
from functools import lru_cache

from engine.assumptions import name_of
from engine.constants import Constant
from engine.device import Device
from engine.machine import Machine
from engine.registry import every, load, names
from engine.scenario import Scenario

# Knobs of the machine that belong to no single device.
SHARED = ("machine.assume", "machine.all_powered", "machine.constant_power")


def powered(system: str, machine: Machine) -> dict[str, Device]:
    """Build the devices of a machine that a system powers, by name; with `all_powered`, all there are."""
    wanted = {"near-data": machine.near_data_compute, "wall": machine.energy_level == "wall"}
    named = names("devices") if machine.all_powered else (*load("systems", system).devices, "wall")
    return {name: load("devices", name).build(machine) for name in named if wanted.get(name, True)}


def constants(scenario: Scenario) -> Mapping[str, Constant]:
    """Return the constants in use by name, as `machine.assume` knows them, with the scenario's assumptions applied."""
    return _constants(scenario.system, scenario.machine)


@lru_cache(maxsize=1024)
def _constants(system: str, machine: Machine) -> Mapping[str, Constant]:
    return {name_of(name, one): one for name, device in powered(system, machine).items() for one in device.constants}


def readers(path: str) -> tuple[str, ...]:
    """Return the devices that read a knob of the machine, given by dotted path."""
    return tuple(name for name, kind in every("devices").items() if path in kind.knobs)
