"""Many GPUs and nodes as one: identical parts are folded, each doing its share, instead of being scheduled one by one."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np

from ..scenario.machine import MachineKnobs
from .device import Device

SHARED = ("rows", "nbytes", "lookups", "flags")


def gpus(machine: MachineKnobs) -> int:
    """Return how many GPUs the machine has over all nodes."""
    return machine.num_gpus


def gpus_in_node(machine: MachineKnobs) -> int:
    """Return how many GPUs work in the fullest node."""
    return min(machine.num_gpus, machine.gpus_per_node)


def nodes(machine: MachineKnobs) -> int:
    """Return how many nodes hold the machine's GPUs."""
    return ceil(machine.num_gpus / machine.gpus_per_node)


def folded(device: Device, copies: int) -> Device:
    """Return `copies` of a device that split all work evenly, as one: its time, all their energy, power and price."""
    if copies == 1:
        return device

    def each(costs: Mapping[type, Callable[[Any], Any]], times: int) -> dict[type, Callable[[Any], Any]]:
        return {kind: _split(cost, copies, times) for kind, cost in costs.items()}

    return replace(
        device,
        title=f"{copies} x {device.title}",
        seconds=each(device.seconds, 1),
        joules=each(device.joules, copies),
        stored=each(device.stored, copies),
        idle_watts=device.idle_watts * copies,
        busy_watts=device.busy_watts * copies,
        full_watts=None if device.full_watts is None else device.full_watts * copies,
        price=device.price * copies,
        modules=device.modules * copies,
    )


def _split(cost: Callable[[Any], Any], copies: int, times: int) -> Callable[[Any], Any]:
    def of(work: Any) -> Any:
        names = [name for name in SHARED if hasattr(work, name)]
        shares = {name: getattr(work, name) / copies for name in names}
        shares |= {"samples": np.ceil(work.samples / copies)} if hasattr(work, "samples") else {}
        return times * cost(replace(work, **shares))

    return of
