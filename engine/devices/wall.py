"""The wall: what power supplies and cooling draw beside the devices, counted at energy level "wall" alone."""

from dataclasses import dataclass

from engine.assumptions import assumed, fields_of
from engine.constants import Constant
from engine.device import Device, Kind
from engine.machine import Machine


@dataclass(frozen=True)
class Supply:
    """What stands between the devices and the electricity meter."""

    efficiency: Constant = Constant("psu efficiency", 0.93, "of input", 0.9, 0.96, "unsourced", "power supplies at half load")
    pue: Constant = Constant("pue", 1.3, "x", 1.1, 1.6, "unsourced", "power usage effectiveness: cooling and distribution")


def build(machine: Machine) -> Device:
    """Build the supply; it does no work, but every device's joule is drawn from the wall with its losses."""
    supply = assumed(machine, "wall", Supply())
    drawn = supply.pue.value / supply.efficiency.value
    return Device(
        name="wall",
        title=f"Supplies and cooling: {drawn:.3g} J at the wall for each joule of a device, counted with the device",
        seconds={},
        drawn_per_joule=drawn,
        constants=fields_of(supply),
    )


DEVICE = Kind("Supplies and cooling", build, lambda: {"": fields_of(Supply())}, knobs=("machine.energy_level",))
