"""A device that fails slowly: lower bandwidth, higher latency, same amounts of work."""

from collections.abc import Mapping
from dataclasses import replace

from ..hardware.device import Device, Slowdown
from .machine import Machine


def slow_devices(m: Machine) -> Mapping[str, Device]:
    """Return by name the slowed device that `faults.fail_slow_device` selects.

    The mapping is empty if the system lacks the device.
    """
    faults = m.scenario.faults
    memory = {"hbm": "gpu", "servers": "remote"}.get(m.system.memory, m.system.memory)
    candidates = {"memory": (memory,), "link": ("cxl", "pcie", "network"), "gpu": ("gpu",)}[faults.fail_slow_device]
    present_names = [name for name in candidates if name in m.system.devices][:1]
    slowdown = Slowdown(faults.fail_slow_bandwidth, faults.fail_slow_latency)
    return {name: replace(m.devices[name], slowdown=slowdown) for name in present_names}
