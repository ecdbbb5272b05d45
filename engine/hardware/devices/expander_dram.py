"""DRAM of an expander: the volatile ideal that persistent memory behind CXL is measured against, or a card that is sold."""

from dataclasses import dataclass, replace

from ...core.catalog import Catalogue, latency_points
from ...core.constants import LEAST, Constant
from ...core.figures import exact
from ...core.part_files.tables import Quantity, optional_price, quantity
from ...scenario.machine import MachineKnobs
from ...units import GB, GiB
from ..device import Device, DeviceKind, amount_price, assumed, assumed_value, expanders, fields_of
from .dram import JOULES, MEMORY, SECONDS, Memory, full_joules, rates_of

CHANNELS = 6


@dataclass(frozen=True)
class ExpanderCard:
    """One card: DRAM with its link to the host; power and price are without the link's controller, which the link has."""

    capacity: Constant = quantity("capacity", "GB", choice=True)
    channels: Constant = quantity("channels", "channels", choice=True)
    rate: Constant = quantity("memory rate", "GB/s")
    latency: Constant = quantity("memory latency", "ns")
    link: Constant = quantity("link rate", "GB/s")
    way: Constant = quantity("link latency", "ns")
    power: Constant = quantity("memory power", "W")
    price: Constant | None = optional_price("USD/GB")


LINK_LANES = Quantity("link lanes", "lanes")  # that a card takes of a host; USUAL_LANES where its file does not say it
USUAL_LANES = 8
EXPANDERS = Catalogue("expander", ExpanderCard, aside=(LINK_LANES,), curve=True)


def card(machine: MachineKnobs) -> ExpanderCard | None:
    """Return the card of which the machine's expanders are, None where knobs describe them."""
    return assumed(machine, "expander-dram", EXPANDERS[machine.expander]) if machine.expander else None


def card_lanes(name: str) -> int:
    """Return the lanes that a card of a name takes of a host."""
    said = EXPANDERS.aside(name).get(LINK_LANES.name)
    return round(said.value) if said else USUAL_LANES


def dram_controllers(machine: MachineKnobs) -> int:
    """Return the DRAM channels of all expanders, each with a controller."""
    if machine.expander_dram_channels is not None:
        return machine.expander_dram_channels
    own = card(machine)
    return expanders(machine) * round(own.channels.value) if own else CHANNELS


def expander_latency(machine: MachineKnobs) -> float:
    """Return the nanoseconds that one random line takes, without the link."""
    part: ExpanderCard | Memory = EXPANDERS[machine.expander] if machine.expander else MEMORY[machine.expander_dram]
    return assumed_value(machine, "expander-dram", part.latency)


def build(machine: MachineKnobs) -> Device:
    """Build the DRAM of all expanders; bandwidth is linear in channels, static power and price in capacity, which is settled."""
    memory, own = assumed(machine, "expander-dram", MEMORY[machine.expander_dram]), card(machine)
    gigabytes, channels = (machine.expander_dram_GiB or 0.0) * GiB / GB, dram_controllers(machine)
    if own:
        each = max(LEAST, own.rate.value / own.channels.value / memory.efficiency.value)
        memory = replace(memory, latency=own.latency, channel=memory.channel.assumed(each), price=own.price)
    rates = rates_of(machine, memory, channels, latency_points("dram", machine.expander_dram))
    static = own.power.value / own.capacity.value if own else memory.background.value
    return Device(
        name="expander-dram",
        title=f"Expander DRAM, {exact(gigabytes * GB / GiB)} GiB on {channels} channels"
        + (f" of {machine.expander}" if own else ""),
        helps="more expander channels would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=gigabytes * static,
        full_watts=gigabytes * static + full_joules(rates),
        price=amount_price(memory.price, gigabytes),
        constants=(*fields_of(own), *_beside(memory)) if own else fields_of(memory),
    )


def _beside(memory: Memory) -> tuple[Constant, ...]:
    """Return the constants of a grade that a card does not state."""
    return memory.energy, memory.rise, memory.bend, memory.wall


DEVICE = DeviceKind(
    "Expander DRAM",
    build,
    lambda: {name: fields_of(one) for every in (MEMORY, EXPANDERS) for name, one in every.items()},
    reads=(
        "expander",
        "expander_dram",
        "num_expanders",
        "expander_dram_GiB",
        "expander_dram_channels",
        "dram_static_power_source",
        "prices",
    ),
    kinds=("expander",),
)
