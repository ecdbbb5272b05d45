"""Fans, power supplies and cooling: power between the devices and the electricity meter.

The device counts only at the energy levels "node" and "room".
"""

from dataclasses import dataclass

from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.figures import figure
from ...core.part_files.tables import quantity
from ...scenario.machine import MachineKnobs
from ..device import Device, DeviceKind, assumed_part, fields_of
from ..hosts import HOSTS
from .chassis import efficiency, fan_share
from .gpu import node_watts


@dataclass(frozen=True)
class ServerRoom:
    """Constants of the power between a node's plug and the electricity meter."""

    pue: Constant = quantity("pue", "x")


ROOMS = Catalogue("room", ServerRoom)
ROOM_NAME = "server-room"


def node_joule_factor(machine: MachineKnobs) -> float:
    """Return the joules at a node's plug for each joule of its devices.

    The power supplies are taken to be loaded as by the node's CPUs and GPUs at full work.
    """
    watts = assumed_part(machine, "host", HOSTS[machine.host]).active.value + node_watts(machine)
    return 1 / (1 - fan_share(machine)) / efficiency(machine, watts)


def room_joule_factor(machine: MachineKnobs) -> float:
    """Return the joules at the electricity meter for each joule of a device."""
    return node_joule_factor(machine) * assumed_part(machine, "wall", ROOMS[ROOM_NAME]).pue.value


def build(machine: MachineKnobs) -> Device:
    """Return fans, supplies and cooling as a device.

    The device does no work, but its factor multiplies the joules of every other device.
    """
    room = machine.energy_level == "room"
    joules = room_joule_factor(machine) if room else node_joule_factor(machine)
    return Device(
        name="wall",
        title=(
            f"Fans, supplies{' and cooling' if room else ''}: {figure(joules, 'J')} for each joule of a device, included in its "
            "energy"
        ),
        seconds={},
        drawn_per_joule=joules,
        constants=fields_of(assumed_part(machine, "wall", ROOMS[ROOM_NAME])) if room else (),
    )


DEVICE = DeviceKind(
    "Fans, supplies and cooling",
    build,
    lambda: {"": fields_of(ROOMS[ROOM_NAME])},
    knob_names=("energy_level", "chassis", "cooling", "gpu", "host"),
)
