"""Expander DRAM: a CXL memory card on sale, or an ideal volatile expander.

Persistent memory behind CXL is compared with the ideal expander in system dram.
"""

from dataclasses import dataclass, replace

from ...core.catalog import Catalogue, latency_points
from ...core.constants import MIN_DIVISOR, Constant
from ...core.figures import count, exact
from ...core.part_files.tables import Quantity, optional_price, quantity
from ...scenario.machine import MachineKnobs
from ...units import GB, GiB
from ..device import Device, DeviceKind, assumed_part, assumed_value, expanders, fields_of
from ..money.bill import BillItem
from .dram import JOULES, MEMORY, SECONDS, Dimms, Memory, cheapest_dimms, dimms_on_bill, full_joules, rates_of

CHANNELS = 6


@dataclass(frozen=True)
class ExpanderCard:
    """Constants of one memory card: DRAM with its link to the host.

    The power and price of the link's controller are not included; they count with the CXL link.
    """

    capacity: Constant = quantity("capacity", "GB", choice=True)
    channels: Constant = quantity("channels", "channels", choice=True)
    rate: Constant = quantity("memory rate", "GB/s")
    latency: Constant = quantity("memory latency", "ns")
    link: Constant = quantity("link rate", "GB/s")
    way: Constant = quantity("link latency", "ns")
    power: Constant = quantity("memory power", "W")
    price: Constant | None = optional_price("USD/GB")


LINK_LANES = Quantity("link lanes", "lanes")  # host lanes of a card; USUAL_LANES if its file does not say
USUAL_LANES = 8
EXPANDERS = Catalogue("expander", ExpanderCard, extra_constants=(LINK_LANES,), curve=True)


def card(machine: MachineKnobs) -> ExpanderCard | None:
    """Return the card type of the machine's expanders; None if they are no product."""
    name = machine.expander
    return assumed_part(machine, "expander-dram", EXPANDERS[name], EXPANDERS.kind, name) if name else None


def card_lanes(name: str) -> int:
    """Return the number of PCIe lanes of a card, by the card's name."""
    stated_lanes = EXPANDERS.extra_constants(name).get(LINK_LANES.name)
    return round(stated_lanes.value) if stated_lanes else USUAL_LANES


def dram_controllers(machine: MachineKnobs) -> int:
    """Return the number of DRAM channels of all expanders; each has a controller."""
    if machine.expander_dram_channels is not None:
        return machine.expander_dram_channels
    chosen_card = card(machine)
    return expanders(machine) * round(chosen_card.channels.value) if chosen_card else CHANNELS


def expander_dimms(machine: MachineKnobs, gib: float) -> Dimms:
    """Return the DIMMs of expanders that are no product, for `gib` GiB."""
    return cheapest_dimms(machine, "expander-dram", MEMORY[machine.expander_dram], dram_controllers(machine), gib)


def expander_latency(machine: MachineKnobs) -> float:
    """Return the nanoseconds of one random line, without the CXL link."""
    part: ExpanderCard | Memory = EXPANDERS[machine.expander] if machine.expander else MEMORY[machine.expander_dram]
    return assumed_value(machine, "expander-dram", part.latency)


def build(machine: MachineKnobs) -> Device:
    """Return the DRAM of all expanders as one device; its capacity must be chosen.

    Bandwidth is linear in channels; idle power and price are linear in capacity.
    """
    grade_in_force, chosen_card = machine.expander_dram, card(machine)
    memory = assumed_part(machine, "expander-dram", MEMORY[grade_in_force], MEMORY.kind, grade_in_force)
    gigabytes, channels = (machine.expander_dram_GiB or 0.0) * GiB / GB, dram_controllers(machine)
    if chosen_card:
        channel_rate = max(MIN_DIVISOR, chosen_card.rate.value / chosen_card.channels.value / memory.efficiency.value)
        memory = replace(
            memory, latency=chosen_card.latency, channel=memory.channel.with_assumption(channel_rate), price=chosen_card.price
        )
    rates = rates_of(machine, memory, channels, latency_points("dram", machine.expander_dram))
    static = chosen_card.power.value / chosen_card.capacity.value if chosen_card else memory.background.value
    return Device(
        name="expander-dram",
        title=f"Expander DRAM, {exact(gigabytes * GB / GiB)} GiB on {count(channels, 'channel')}"
        + (f" of {machine.expander}" if chosen_card else ""),
        helps="more expander channels would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=gigabytes * static,
        full_watts=gigabytes * static + full_joules(rates),
        bill=(_bill_item(machine, memory, gigabytes),),
        constants=(*fields_of(chosen_card), *_grade_constants(memory)) if chosen_card else fields_of(memory),
    )


def _bill_item(machine: MachineKnobs, memory: Memory, gigabytes: float) -> BillItem:
    """Return the cards on the bill, or the DIMMs if there are no cards."""
    if machine.expander:
        count = expanders(machine)
        return BillItem(EXPANDERS.kind, machine.expander, count, memory.price, gigabytes / count)
    return dimms_on_bill(machine.expander_dram, memory, expander_dimms(machine, machine.expander_dram_GiB or 0.0))


def _grade_constants(memory: Memory) -> tuple[Constant, ...]:
    """Return the constants of a grade that a card does not state."""
    return memory.energy, memory.rise, memory.bend, memory.wall


DEVICE = DeviceKind(
    "Expander DRAM",
    build,
    lambda: {name: fields_of(part) for parts in (MEMORY, EXPANDERS) for name, part in parts.items()},
    knob_names=(
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
