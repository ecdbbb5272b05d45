"""A device: its rates, and functions to seconds, joules and stored bytes of work.

A scenario may replace a constant of a part: by the number of another source, which a knob chooses, or by a number in
`machine.assume`. The name in `machine.assume` has the device and the constant, as in `pmem.read-rate`. The number then applies
to whichever part the machine has.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..core.constants import REPLACED, Constant
from ..core.part_files.tables import Quantity
from ..core.work import Work
from ..errors import BadKnob, nearest_hint
from ..registry import all_variants
from ..scenario.machine import RECORDED, MachineKnobs
from .money.bill import BillItem, bill_price
from .money.quotes import quoted_prices

Cost = Callable[[Any, Any], Any]  # (rates, work) -> seconds, joules or bytes
NO_COSTS: Mapping[type, Cost] = MappingProxyType({})
Part = TypeVar("Part")
# Amounts that the copies of a device share evenly.
DIVISIBLE_AMOUNTS = ("rows", "nbytes", "lookups", "flags", "missed_lines", "written_back_lines", "clean_lines")
_ASSUMED_PARTS: dict[tuple[Any, ...], tuple[object, Any]] = {}  # each with the part that it was made of
_KNOWN_VALUES: dict[str, Mapping[str, float]] = {}  # values of constants by their text
MAX_KNOWN_VALUES = 4096
TIMED_AMOUNTS = ("rows", "nbytes", "lookups", "samples", "clean_lines")  # time grows with them


class Slowdown(NamedTuple):
    """The speed of a device that works too slowly because of a fault.

    bandwidth: the bandwidth over that of the healthy device.
    latency: the latency over that of the healthy device.
    """

    bandwidth: float = 1.0
    latency: float = 1.0


FULL_SPEED = Slowdown()


@dataclass(frozen=True)
class Device:
    """One powered device of a machine, or `copies` equal devices that share all work evenly.

    name: identifier, as in `pmem`.
    title: name for readers.
    seconds: for each kind of work, a function of `rates` and the work of one copy to its duration [s].
    joules: for each kind of work, a function of `rates` and the work of one copy to its energy [J], without power while busy.
    stored_bytes: for each kind of work, a function of `rates` and the work of one copy to the bytes that wear the media.
    rates: a NamedTuple; its floats may be arrays over many devices (`device_stacks.py`), its other fields decide what functions
        do.
    copies: number of equal devices.
    slowdown: speed while the device works too slowly because of a fault.
    joule_factor: joules at the meter for each joule of the device.
    idle_watts: power drawn during the whole run [W].
    busy_watts: additional power while the device works [W].
    full_watts: power at full work of a device with `joules` [W]; None for idle_watts + busy_watts.
    spare_watts: power of one that is bought with the others and does no work [W].
    bill: the parts that cost money.
    modules: number of modules.
    drawn_per_joule: joules at the meter for each joule of any device, for a device between the meter and the others.
    constants: the sourced numbers behind the rates.
    helps: clause of a sentence with the remedy for exposed work on the device.
    """

    name: str
    title: str
    seconds: Mapping[type, Cost]
    rates: Any = ()
    joules: Mapping[type, Cost] = field(default_factory=lambda: NO_COSTS)
    stored_bytes: Mapping[type, Cost] = field(default_factory=lambda: NO_COSTS)
    copies: int = 1
    slowdown: Slowdown = FULL_SPEED
    joule_factor: float = 1.0
    idle_watts: float = 0.0
    busy_watts: float = 0.0
    full_watts: float | None = None
    spare_watts: float = 0.0
    bill: tuple[BillItem, ...] = ()
    modules: int = 1
    drawn_per_joule: float = 1.0
    constants: tuple[Constant, ...] = ()
    helps: str = "a faster one would shorten it"

    @cached_property
    def price(self) -> float | None:
        """The USD of the device's bill; None without a price of a part."""
        return bill_price(self.bill)

    @cached_property
    def constant_values(self) -> Mapping[str, float]:
        """Values of the constants, and the years of prices, by name and unit.

        The names are as in `pmem.read-rate [GB/s]`. Devices with equal constants often have the very same mapping.
        """
        values: dict[str, float] = {}
        for constant in self.constants:
            values[f"{name_of(self.name, constant)} [{constant.unit}]"] = constant.value
            if constant.year:
                values[f"{name_of(self.name, constant)} [year]"] = constant.year
        if len(_KNOWN_VALUES) >= MAX_KNOWN_VALUES:
            _KNOWN_VALUES.clear()
        return _KNOWN_VALUES.setdefault(repr(values), values)


@dataclass(frozen=True)
class DeviceKind:
    """The contents of a device file: how to build the device, and constants by part.

    title: name for readers.
    build: function from the machine's knobs to one device.
    parts: function to the constants of each part, which is a choice of a knob, such as a media type; "" without a choice.
    knob_names: knobs of the machine that `build` reads, without `assume` and the knobs of other devices.
    copies: function to the number of such devices in a machine, which share all work evenly.
    spares: function to the number of devices that are bought with these and do no work.
    in_own_hosts: True for a device in hosts of its own, which is part of the machine only if the system uses it.
    kinds: kinds of catalogue parts that the device can be.
    """

    title: str
    build: Callable[[MachineKnobs], Device]
    parts: Callable[[], Mapping[str, tuple[Constant, ...]]]
    knob_names: tuple[str, ...] = ()
    copies: Callable[[MachineKnobs], int] = lambda machine: 1
    spares: Callable[[MachineKnobs], int] = lambda machine: 0
    in_own_hosts: bool = False
    kinds: tuple[str, ...] = ()

    @property
    def knobs(self) -> tuple[str, ...]:
        """The dotted paths of the knobs that `build` reads."""
        return tuple(f"machine.{name}" for name in self.knob_names)


def readers(path: str) -> tuple[str, ...]:
    """Return the names of the devices that read the machine's knob `path`."""
    return tuple(name for name, kind in all_variants("devices").items() if path in kind.knobs)


def seconds(device: Device, work: Work) -> NDArray[np.float64]:
    """Return the seconds of `work` on `device`, one value per batch; 0 without work.

    The copy with the most work decides.
    """
    return np.asarray(duration(device, slowest_share(work)), dtype=np.float64)


def duration(device: Device, work: Work) -> Any:
    """Return the seconds of work that all copies of a device share evenly.

    If the device is slowed down by a fault, the latency's factor applies to the fixed time, and the bandwidth's factor to the
    rest. The fixed time is the part that does not double when all amounts are doubled.
    """
    cost = device.seconds[type(work)]
    single = cost(device.rates, _of_one_copy(device, work))
    if device.slowdown == FULL_SPEED:
        return single
    single = np.asarray(single, dtype=np.float64)
    doubled = replace(work, **{name: 2 * getattr(work, name) for name in TIMED_AMOUNTS if hasattr(work, name)})
    double = np.asarray(cost(device.rates, _of_one_copy(device, doubled)), dtype=np.float64)
    fixed = np.clip(2 * single - double, 0.0, single)
    return fixed * device.slowdown.latency + (single - fixed) / device.slowdown.bandwidth


def energy(device: Device, work: Work) -> Any:
    """Return the joules of work by its amounts, without the power drawn while busy.

    Return 0 for a kind of work without a function in `device.joules`.
    """
    cost = device.joules.get(type(work))
    return device.joule_factor * (device.copies * cost(device.rates, _of_one_copy(device, work))) if cost else 0.0


def stored_bytes(device: Device, work: Work) -> Any:
    """Return the bytes of work that wear a memory's media; 0 for other devices."""
    cost = device.stored_bytes.get(type(work))
    return device.copies * cost(device.rates, _of_one_copy(device, work)) if cost else 0.0


def _of_one_copy(device: Device, work: Work) -> Work:
    """Return the share of work of each copy of a device."""
    if device.copies == 1:
        return work
    shares = {name: getattr(work, name) / device.copies for name in DIVISIBLE_AMOUNTS if hasattr(work, name)}
    shares |= {"samples": np.ceil(work.samples / device.copies)} if hasattr(work, "samples") else {}
    return replace(work, **shares)


def slowest_share(work: Work) -> Work:
    """Return the work as if every copy had as much as the busiest copy."""
    if isinstance(work.skew, float) and work.skew == 1:
        return work
    return replace(work, skew=1.0, **{name: getattr(work, name) * work.skew for name in DIVISIBLE_AMOUNTS if hasattr(work, name)})


def joules(device: Device, work: Work) -> NDArray[np.float64]:
    """Return the joules of `work` by its amounts, one value per batch.

    The power drawn while busy is not included.
    """
    return np.asarray(energy(device, work), dtype=np.float64) if type(work) in device.joules else np.zeros(1)


def is_positive(amount: Any) -> Any:
    """Return True where an amount is above 0.

    A latency is multiplied by this, as no work has no latency.
    """
    return np.asarray(amount, dtype=np.float64) > 0


def over_link(nbytes: Any, bit: Any) -> Any:
    """Return the joules of bytes on a link; both ends take `bit` picojoules per bit."""
    return nbytes * 8 * 2 * bit * 1e-12


def gpus_in_node(machine: MachineKnobs) -> int:
    """Return the number of GPUs in the fullest node."""
    return min(machine.num_gpus, machine.gpus_per_node)


def nodes(machine: MachineKnobs) -> int:
    """Return the number of nodes that hold the machine's GPUs."""
    return ceil(machine.num_gpus / machine.gpus_per_node)


def expanders(machine: MachineKnobs) -> int:
    """Return the number of expanders of a node; 1 while it is "auto"."""
    return machine.num_expanders or 1


def combine_copies(device: Device, copies: int, spares: int = 0) -> Device:
    """Return `copies` equal devices that split all work evenly, as one device.

    The device has the time of one copy, and the energy, power and price of all copies. `spares` are bought too: they do no work
    and draw `spare_watts` each.
    """
    if copies == 1 and not spares:
        return device
    spare_watts = device.spare_watts * spares if spares else 0
    return replace(
        device,
        title=f"{copies} x {device.title}" if copies > 1 else device.title,
        copies=copies,
        idle_watts=device.idle_watts * copies + spare_watts,
        busy_watts=device.busy_watts * copies,
        full_watts=None if device.full_watts is None else device.full_watts * copies + spare_watts,
        bill=tuple([replace(item, count=item.count * (copies + spares), spare=float(spares)) for item in device.bill]),
        modules=device.modules * copies,
    )


def apply_power_knobs(machine: MachineKnobs, device: Device, factor: float) -> Device:
    """Return a device with power and energy as the machine's knobs count them.

    With `machine.constant_power`, the device draws its full power during the whole run. `factor`: joules at the meter for each
    joule of the device. Times never change.
    """
    if machine.constant_power:
        full_watts = device.idle_watts + device.busy_watts if device.full_watts is None else device.full_watts
        device = replace(device, joules=NO_COSTS, idle_watts=full_watts, busy_watts=0.0)
    if factor == 1:
        return device
    return replace(device, joule_factor=factor, idle_watts=factor * device.idle_watts, busy_watts=factor * device.busy_watts)


def name_of(device: str, constant: Constant) -> str:
    """Return the name of a device's constant in `machine.assume`."""
    return f"{device}.{constant.name.replace(' ', '-')}"


def fields_of(part: object) -> tuple[Constant, ...]:
    """Return the constants of a part, a dataclass, in declaration order.

    A price that is not published is left out.
    """
    constants = [getattr(part, field) for field in getattr(part, "__dataclass_fields__", ())]
    return tuple([constant for constant in constants if constant is not None])


def assumed_part(machine: MachineKnobs, device: str, part: Part, kind: str = "", name: str = "") -> Part:
    """Return a part of `device` with the machine's sources, quotes and assumptions applied.

    kind, name: the part in the catalogue, for its prices.
    """
    shape: Any = type(part)
    quantities, switches = _declared(shape)
    quotes, sources = machine.quotes if kind else "", tuple([getattr(machine, switch) for switch in switches])
    key = (id(part), device, kind, name, machine.assume, quotes, machine.prices, sources)
    if (known := _ASSUMED_PARTS.get(key)) is not None and known[0] is part:
        return cast(Part, known[1])
    assumed = _assumed(machine, device, part, quoted_prices(machine, kind, name, filter(None, quantities.values())))
    if len(_ASSUMED_PARTS) >= MAX_KNOWN_VALUES:
        _ASSUMED_PARTS.clear()
    _ASSUMED_PARTS[key] = part, assumed
    return assumed


@lru_cache(maxsize=64)
def _declared(shape: Any) -> tuple[Mapping[str, Quantity | None], tuple[str, ...]]:
    """Return the quantities of a kind of part by field, and the knobs that choose among their sources."""
    fields = getattr(shape, "__dataclass_fields__", {})
    quantities: dict[str, Quantity | None] = {path: declared.metadata.get("quantity") for path, declared in fields.items()}
    return quantities, tuple(dict.fromkeys(one.switch for one in quantities.values() if one and one.switch))


def _assumed(machine: MachineKnobs, device: str, part: Part, quotes: Mapping[str, Constant]) -> Part:
    assumptions, replacements = dict(machine.assume), {}
    shape: Any = type(part)
    for path, quantity in _declared(shape)[0].items():
        constant: Constant | None = getattr(part, path)
        if quantity and quantity.key in quotes:
            constant = replacements[path] = quotes[quantity.key]
        if constant is None:
            if quantity and (assumed := f"{device}.{quantity.key}") in assumptions:
                replacements[path] = _own_price(quantity, assumptions[assumed])
            continue
        stated = _stated(machine, device, constant, assumptions)
        if stated is not constant:
            replacements[path] = stated
    return replace(part, **replacements) if replacements else part  # type: ignore[type-var]


def _own_price(undated: Quantity, price: float) -> Constant:
    """Return the price that a scenario assumes of a part without a published price."""
    return Constant(
        undated.name, price, undated.unit, price, price, "unsourced", "assumed by the scenario; no value is published"
    )


def assumed_value(machine: MachineKnobs, device: str, constant: Constant) -> float:
    """Return one constant of `device` with the machine's sources and assumptions applied."""
    name = name_of(device, constant)
    assumption: float | None = getattr(machine.assumptions, name.replace(".", ":"))
    return _stated(machine, device, constant, {} if assumption is None else {name: assumption}).value


def _stated(machine: MachineKnobs, device: str, constant: Constant, assumptions: Mapping[str, float]) -> Constant:
    """Return a constant by its source, the year of its price, and the assumption.

    An assumption beats every source; a price is of the year in `machine.prices`.
    """
    stated = constant.from_source(getattr(machine, constant.switch)) if constant.switch else constant
    if stated.year and (year := machine.prices) != RECORDED:
        stated = stated.in_year(int(year))
    return (
        stated.with_assumption(assumptions[name])
        if assumptions and (name := name_of(device, constant)) in assumptions
        else stated
    )


def check_assumptions(machine: MachineKnobs, built: Iterable[Device], names_of: Callable[[str], tuple[str, ...]]) -> None:
    """Raise BadKnob for an assumption about a constant that no device has.

    `built` are the machine's devices. `names_of` returns the names of the constants of one device, or of all devices for another
    name; it is only called if no device in `built` has the constant.
    """
    known_names = {name_of(device.name, constant) for device in built for constant in device.constants}
    for name in [name for name, _ in machine.assume if name not in known_names]:
        device, _, constant_name = name.partition(".")
        if successor := REPLACED.get(constant_name):
            successor_path = f"{device}.{successor}"
            raise BadKnob(f"machine.assume has the old name {name!r}; {successor_path}, a share of two rates, has replaced it.")
        if name not in names_of(device):
            raise BadKnob(
                f"machine.assume has the name {name!r}, which is not a constant of any device; {nearest_hint(name, names_of(''))}"
            )
