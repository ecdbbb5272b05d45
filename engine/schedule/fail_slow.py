"""A device that fails slowly: the same amounts, a fraction of the rate, a multiple of the latency."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..hardware.device import Device
from .machine import Machine

AMOUNTS = ("rows", "nbytes", "lookups", "samples")  # what takes longer the more there is of it


def slowed(device: Device, bandwidth: float, latency: float) -> Device:
    """Return the device at `bandwidth` of its rate and `latency` times its fixed times; joules by amounts stay."""
    costs = {kind: _slower(cost, bandwidth, latency) for kind, cost in device.seconds.items()}
    return replace(device, seconds=costs)


def _slower(cost: Callable[[Any], Any], bandwidth: float, latency: float) -> Callable[[Any], Any]:
    """What twice the amounts do not double is fixed time; where a maximum bends the line, the rest counts as rate."""

    def of(work: Any) -> Any:
        once = np.asarray(cost(work), dtype=np.float64)
        doubled = replace(work, **{name: 2 * getattr(work, name) for name in AMOUNTS if hasattr(work, name)})
        fixed = np.clip(2 * once - np.asarray(cost(doubled), dtype=np.float64), 0.0, once)
        return fixed * latency + (once - fixed) / bandwidth

    return of


def slow_devices(m: Machine) -> Mapping[str, Device]:
    """Return the devices that `faults.fail_slow_device` names, at their slow speed; none if the system has no such part."""
    faults = m.scenario.faults
    memory = {"hbm": "gpu", "servers": "remote"}.get(m.system.memory, m.system.memory)
    named = {"memory": (memory,), "link": ("cxl", "pcie", "network"), "gpu": ("gpu",)}[faults.fail_slow_device]
    used = [name for name in named if name in m.system.devices][:1]
    return {name: slowed(m.devices[name], faults.fail_slow_bandwidth, faults.fail_slow_latency) for name in used}
