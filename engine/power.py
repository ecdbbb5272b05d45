"""How joules are counted: at the devices, or at the wall with what supplies and cooling draw for them."""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from engine.device import Cost, Device

Devices = Mapping[str, Device]


def at_their_level(devices: Devices) -> Devices:
    """Return the devices with the power and energy that is drawn for them; unchanged where nothing stands before them."""
    factor = prod(device.drawn_per_joule for device in devices.values())
    return devices if factor == 1 else {name: _drawing(device, factor) for name, device in devices.items()}


def _drawing(device: Device, factor: float) -> Device:
    return replace(
        device,
        joules={kind: _times(factor, cost) for kind, cost in device.joules.items()},
        idle_watts=factor * device.idle_watts,
        busy_watts=factor * device.busy_watts,
    )


def _times(factor: float, cost: Cost) -> Cost:
    return lambda work: factor * cost(work)
