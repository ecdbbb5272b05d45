"""The wall: what power supplies and cooling draw beside the devices, counted at energy level "wall" alone."""

from dataclasses import dataclass

from ...core.catalog import Catalogue, quantity
from ...core.constants import Constant
from ...scenario.machine import MachineKnobs
from ..device import Device, DeviceKind, assumed, fields_of


@dataclass(frozen=True)
class Supply:
    """What stands between the devices and the electricity meter."""

    efficiency: Constant = quantity("psu efficiency", "of input")
    pue: Constant = quantity("pue", "x")


SUPPLIES = Catalogue("supply", Supply)
USED = "server-room"


def build(machine: MachineKnobs) -> Device:
    """Build the supply; it does no work, but every device's joule is drawn from the wall with its losses."""
    supply = assumed(machine, "wall", SUPPLIES[USED])
    drawn = supply.pue.value / supply.efficiency.value
    return Device(
        name="wall",
        title=f"Supplies and cooling: {drawn:.3g} J at the wall for each joule of a device, counted with the device",
        seconds={},
        drawn_per_joule=drawn,
        constants=fields_of(supply),
    )


DEVICE = DeviceKind("Supplies and cooling", build, lambda: {"": fields_of(SUPPLIES[USED])}, reads=("energy_level",))
