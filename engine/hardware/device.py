"""A device turns amounts of work into seconds and joules; this is the only place where rates become time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.constants import Constant
from ..core.work import Work
from ..scenario.machine import MachineKnobs

Cost = Callable[[Any], Any]


@dataclass(frozen=True)
class Device:
    """One powered device of a machine.

    `seconds` and `joules` map a kind of work to its duration and to its energy per amount, `stored` to the bytes
    that wear the media of a memory; `idle_watts` are drawn for the whole run, `busy_watts` more than that while the
    device works; `price` is in USD. `helps` says, as a clause, what would shorten exposed work on it. `full_watts`
    are drawn at full work by a device that pays by amounts; by default idle and busy watts. `drawn_per_joule` is what
    every device's joule costs where this one stands between them and the meter.
    """

    name: str
    title: str
    seconds: Mapping[type, Cost]
    joules: Mapping[type, Cost] = field(default_factory=dict)
    stored: Mapping[type, Cost] = field(default_factory=dict)
    idle_watts: float = 0.0
    busy_watts: float = 0.0
    full_watts: float | None = None
    price: float = 0.0
    modules: int = 1
    drawn_per_joule: float = 1.0
    constants: tuple[Constant, ...] = ()
    helps: str = "a faster one would shorten it"


@dataclass(frozen=True)
class DeviceKind:
    """What a device file exports: how to build the device for a machine, and its constants by part.

    A part is what a knob can choose, such as a media type; a device without a choice has the one part "". `build`
    makes one device; a machine has `copies` of it that share all work evenly. What stands `apart`, in hosts of its own,
    is no part of the machine unless its system uses it. `knobs` are the dotted paths that `build` reads,
    `machine.assume` aside.
    """

    title: str
    build: Callable[[MachineKnobs], Device]
    parts: Callable[[], Mapping[str, tuple[Constant, ...]]]
    knobs: tuple[str, ...] = ()
    copies: Callable[[MachineKnobs], int] = lambda machine: 1
    apart: bool = False


def seconds(device: Device, work: Work) -> NDArray[np.float64]:
    """Return how long `device` takes for `work`, one value per batch; exactly 0 where there is nothing to do."""
    return np.asarray(device.seconds[type(work)](work), dtype=np.float64)


def joules(device: Device, work: Work) -> NDArray[np.float64]:
    """Return the energy that `work` costs by its amounts, without the power drawn while busy."""
    price = device.joules.get(type(work))
    return np.zeros(1) if price is None else np.asarray(price(work), dtype=np.float64)


def stored(device: Device, work: Work) -> NDArray[np.float64]:
    """Return the bytes that the media of `device` stores for `work`."""
    count = device.stored.get(type(work))
    return np.zeros(1) if count is None else np.asarray(count(work), dtype=np.float64)


def some(amount: Any) -> Any:
    """Return 1 where there is an amount and 0 where there is none: a latency is paid only once work exists."""
    return np.asarray(amount, dtype=np.float64) > 0
