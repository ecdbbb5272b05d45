"""How joules are counted: by what devices do or at constant power, at the devices or at the wall."""

from dataclasses import replace

from ..scenario.machine import MachineKnobs
from .device import Cost, Device


def counted(machine: MachineKnobs, device: Device, factor: float) -> Device:
    """Return a device with power and energy as the machine's knobs want them counted; times never change.

    `factor` is what each joule of a device costs at the meter.
    """
    drawing = _always_working(device) if machine.constant_power else device
    return drawing if factor == 1 else _drawing(drawing, factor)


def within_host(dram: Device) -> Device:
    """Return DRAM that belongs to the host: the host's idle power was measured with its memory in it."""
    return replace(dram, idle_watts=0.0, full_watts=(dram.full_watts or 0.0) - dram.idle_watts)


def _always_working(device: Device) -> Device:
    """Return a device that draws its full power for the whole run, whatever it does."""
    idle_and_busy = device.idle_watts + device.busy_watts
    full = idle_and_busy if device.full_watts is None else device.full_watts
    return replace(device, joules={}, idle_watts=full, busy_watts=0.0)


def _drawing(device: Device, factor: float) -> Device:
    return replace(
        device,
        joules={kind: _times(factor, cost) for kind, cost in device.joules.items()},
        idle_watts=factor * device.idle_watts,
        busy_watts=factor * device.busy_watts,
    )


def _times(factor: float, cost: Cost) -> Cost:
    return lambda work: factor * cost(work)
