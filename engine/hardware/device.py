"""A device: its rates, and the functions that turn them and amounts of work into seconds, joules and stored bytes.

A scenario may take another number for a constant of the catalogue: a source that its knob chooses, or what `machine.assume`
says by name. A name is the device and the constant, as in `pmem.read-rate`; it applies to whichever part the machine has.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.constants import REPLACED, Constant
from ..core.part_files.tables import Quantity
from ..core.work import Work
from ..errors import BadKnob, nearest
from ..scenario.machine import RECORDED, MachineKnobs

Cost = Callable[[Any, Any], Any]  # of a device's rates and work: seconds, joules or bytes
NO_COSTS: Mapping[type, Cost] = MappingProxyType({})
Part = TypeVar("Part")
# Amounts of which each of several folded devices has an even share.
SHARED = ("rows", "nbytes", "lookups", "flags", "fetched", "returned", "clean")
AMOUNTS = ("rows", "nbytes", "lookups", "samples", "clean")  # time grows with them


class Slowdown(NamedTuple):
    """A device's speed while it fails slowly: its `bandwidth` as a share, its `latency` as a multiple."""

    bandwidth: float = 1.0
    latency: float = 1.0


FULL_SPEED = Slowdown()


@dataclass(frozen=True)
class Device:
    """One powered device of a machine, or `copies` of it that share all work evenly.

    seconds, joules, stored: by kind of work, functions of `rates` and the work of one copy: its duration, its energy by amounts,
        the bytes that wear a memory's media.
    rates: a NamedTuple of numbers; floats may be columns of many devices (`columns.py`), all else decides what functions do.
    slowdown: its speed where it fails slowly.
    joule_factor: joules at the meter for each of its own.
    idle_watts, busy_watts: W drawn for the whole run, and more than that while it works.
    full_watts: W at full work of a device that pays by amounts; by default idle and busy watts.
    price: USD, None where a part of it has no published price.
    drawn_per_joule: joules at the meter for each joule of any device, where this one stands between them.
    constants: the sourced numbers that its rates come from.
    helps: a clause, what would shorten exposed work on it.
    """

    name: str
    title: str
    seconds: Mapping[type, Cost]
    rates: Any = ()
    joules: Mapping[type, Cost] = field(default_factory=lambda: NO_COSTS)
    stored: Mapping[type, Cost] = field(default_factory=lambda: NO_COSTS)
    copies: int = 1
    slowdown: Slowdown = FULL_SPEED
    joule_factor: float = 1.0
    idle_watts: float = 0.0
    busy_watts: float = 0.0
    full_watts: float | None = None
    price: float | None = 0.0
    modules: int = 1
    drawn_per_joule: float = 1.0
    constants: tuple[Constant, ...] = ()
    helps: str = "a faster one would shorten it"

    @cached_property
    def stated(self) -> Mapping[str, float]:
        """The values of its constants by name with the unit, as in `pmem.read-rate [GB/s]`, and the years of its prices."""
        found: dict[str, float] = {}
        for constant in self.constants:
            found[f"{name_of(self.name, constant)} [{constant.unit}]"] = constant.value
            if constant.year:
                found[f"{name_of(self.name, constant)} [year]"] = constant.year
        return found


@dataclass(frozen=True)
class DeviceKind:
    """What a device file exports: how to build the device for a machine, and its constants by part.

    A part is what a knob can choose, such as a media type; a device without a choice has the one part "". `build`
    makes one device; a machine has `copies` of it that share all work evenly. What stands `apart`, in hosts of its own,
    is no part of the machine unless its system uses it. `reads` are the machine's knobs that `build` reads, `assume` and
    those of other devices aside. `kinds` are the kinds of the catalogue's parts that it can be.
    """

    title: str
    build: Callable[[MachineKnobs], Device]
    parts: Callable[[], Mapping[str, tuple[Constant, ...]]]
    reads: tuple[str, ...] = ()
    copies: Callable[[MachineKnobs], int] = lambda machine: 1
    apart: bool = False
    kinds: tuple[str, ...] = ()

    @property
    def knobs(self) -> tuple[str, ...]:
        """The dotted paths of the knobs that it reads."""
        return tuple(f"machine.{name}" for name in self.reads)


def seconds(device: Device, work: Work) -> NDArray[np.float64]:
    """Return how long `device` takes for `work`, one value per batch; exactly 0 where there is nothing to do."""
    return np.asarray(duration(device, slowest(work)), dtype=np.float64)


def duration(device: Device, work: Work) -> Any:
    """Return the seconds of work that all parts of a device share evenly.

    Fixed time of a slow device is all that twice the amounts do not double; where a maximum bends the line, the rest is rate.
    """
    cost = device.seconds[type(work)]
    once = cost(device.rates, _of_one_copy(device, work))
    if device.slowdown == FULL_SPEED:
        return once
    once = np.asarray(once, dtype=np.float64)
    doubled = replace(work, **{name: 2 * getattr(work, name) for name in AMOUNTS if hasattr(work, name)})
    twice = np.asarray(cost(device.rates, _of_one_copy(device, doubled)), dtype=np.float64)
    fixed = np.clip(2 * once - twice, 0.0, once)
    return fixed * device.slowdown.latency + (once - fixed) / device.slowdown.bandwidth


def energy(device: Device, work: Work) -> Any:
    """Return the joules of work by its amounts, without the power drawn while busy."""
    cost = device.joules.get(type(work))
    return device.joule_factor * (device.copies * cost(device.rates, _of_one_copy(device, work))) if cost else 0.0


def stored_bytes(device: Device, work: Work) -> Any:
    """Return the bytes that work wears a memory's media with."""
    cost = device.stored.get(type(work))
    return device.copies * cost(device.rates, _of_one_copy(device, work)) if cost else 0.0


def _of_one_copy(device: Device, work: Work) -> Work:
    """Return the share of work that each copy of a device has."""
    if device.copies == 1:
        return work
    shares = {name: getattr(work, name) / device.copies for name in SHARED if hasattr(work, name)}
    shares |= {"samples": np.ceil(work.samples / device.copies)} if hasattr(work, "samples") else {}
    return replace(work, **shares)


def slowest(work: Work) -> Work:
    """Return the work as if every part had as much of it as the slowest."""
    if isinstance(work.skew, float) and work.skew == 1:
        return work
    return replace(work, skew=1.0, **{name: getattr(work, name) * work.skew for name in SHARED if hasattr(work, name)})


def joules(device: Device, work: Work) -> NDArray[np.float64]:
    """Return the energy that `work` costs by its amounts, without the power drawn while busy."""
    return np.asarray(energy(device, work), dtype=np.float64) if type(work) in device.joules else np.zeros(1)


def some(amount: Any) -> Any:
    """Return 1 where there is an amount and 0 where there is none: a latency is paid only once work exists."""
    return np.asarray(amount, dtype=np.float64) > 0


def over_link(nbytes: Any, bit: Any) -> Any:
    """Return the joules of bytes on a link, of which each bit costs so many picojoules at either end."""
    return nbytes * 8 * 2 * bit * 1e-12


def gpus_in_node(machine: MachineKnobs) -> int:
    """Return how many GPUs work in the fullest node."""
    return min(machine.num_gpus, machine.gpus_per_node)


def nodes(machine: MachineKnobs) -> int:
    """Return how many nodes hold the machine's GPUs."""
    return ceil(machine.num_gpus / machine.gpus_per_node)


def expanders(machine: MachineKnobs) -> int:
    """Return how many expanders a node has; one where their number is automatic and not chosen yet."""
    return machine.num_expanders or 1


def folded(device: Device, copies: int) -> Device:
    """Return `copies` of a device that split all work evenly, as one: its time, all their energy, power and price."""
    if copies == 1:
        return device
    return replace(
        device,
        title=f"{copies} x {device.title}",
        copies=copies,
        idle_watts=device.idle_watts * copies,
        busy_watts=device.busy_watts * copies,
        full_watts=None if device.full_watts is None else device.full_watts * copies,
        price=None if device.price is None else device.price * copies,
        modules=device.modules * copies,
    )


def counted(machine: MachineKnobs, device: Device, factor: float) -> Device:
    """Return a device with power and energy as the machine's knobs want them counted; times never change.

    `factor` is what each joule of a device costs at the meter.
    """
    if machine.constant_power:
        full = device.idle_watts + device.busy_watts if device.full_watts is None else device.full_watts
        device = replace(device, joules=NO_COSTS, idle_watts=full, busy_watts=0.0)
    if factor == 1:
        return device
    return replace(device, joule_factor=factor, idle_watts=factor * device.idle_watts, busy_watts=factor * device.busy_watts)


def name_of(device: str, constant: Constant) -> str:
    """Return the name by which `machine.assume` knows a constant."""
    return f"{device}.{constant.name.replace(' ', '-')}"


def fields_of(part: object) -> tuple[Constant, ...]:
    """Return the constants of a part, a dataclass of them, in declaration order, without a price that it lacks."""
    found = [getattr(part, field) for field in getattr(part, "__dataclass_fields__", ())]
    return tuple([constant for constant in found if constant is not None])


def assumed(machine: MachineKnobs, device: str, part: Part) -> Part:
    """Return a part of `device` as the machine's sources and assumptions have it."""
    assumptions, changed = dict(machine.assume), {}
    for path, declared in getattr(part, "__dataclass_fields__", {}).items():
        constant: Constant | None = getattr(part, path)
        if constant is None:
            if (name := f"{device}.{declared.metadata['quantity'].key}") in assumptions:
                changed[path] = _own_price(declared.metadata["quantity"], assumptions[name])
            continue
        stated = _stated(machine, device, constant, assumptions)
        if stated is not constant:
            changed[path] = stated
    return replace(part, **changed) if changed else part  # type: ignore[type-var]


def _own_price(missing: Quantity, value: float) -> Constant:
    """Return the price that a scenario assumes of a part for which none is published."""
    return Constant(missing.name, value, missing.unit, value, value, "unsourced", "assumed by the scenario; none is published")


def amount_price(price: Constant | None, amount: float = 1.0) -> float | None:
    """Return the USD of so many parts, or GB, of a price; None where none is published."""
    return None if price is None else amount * price.value


def assumed_value(machine: MachineKnobs, device: str, constant: Constant) -> float:
    """Return the value of one constant of `device` as the machine's sources and assumptions have it."""
    name = name_of(device, constant)
    assumption: float | None = getattr(machine.assumptions, name.replace(".", ":"))
    return _stated(machine, device, constant, {} if assumption is None else {name: assumption}).value


def _stated(machine: MachineKnobs, device: str, constant: Constant, assumptions: Mapping[str, float]) -> Constant:
    """An assumption beats every source, and a price is of the year that the machine asks for."""
    stated = constant.according_to(getattr(machine, constant.switch)) if constant.switch else constant
    if stated.year and (year := machine.prices) != RECORDED:
        stated = stated.in_year(int(year))
    return stated.assumed(assumptions[name]) if assumptions and (name := name_of(device, constant)) in assumptions else stated


def check_assumptions(machine: MachineKnobs, built: Iterable[Device], all_names: Callable[[], tuple[str, ...]]) -> None:
    """Raise BadKnob for an assumption about no constant of a device; all names are only asked for if those built lack one."""
    known = {name_of(device.name, constant) for device in built for constant in device.constants}
    for name in [name for name, _ in machine.assume if name not in known]:
        if new := REPLACED.get(name.partition(".")[2]):
            now = f"{name.partition('.')[0]}.{new}"
            raise BadKnob(f"machine.assume names {name!r}, which is gone; {now}, a share of two rates, says what it did.")
        if name not in all_names():
            raise BadKnob(f"machine.assume names {name!r}, which is no constant of any device; {nearest(name, all_names())}")
