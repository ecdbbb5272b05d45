"""DRAM of an expander: the volatile ideal that persistent memory behind CXL is measured against."""

from ...scenario.machine import MachineKnobs
from ...units import GB, GiB
from ..device import Device, DeviceKind, assumed, assumed_value, fields_of
from .dram import JOULES, MEMORY, SECONDS, USED, full_joules, rates_of


def expander_latency(machine: MachineKnobs) -> float:
    """Return the nanoseconds that one random line takes, without the link."""
    return assumed_value(machine, "expander-dram", MEMORY[USED].latency)


def build(machine: MachineKnobs) -> Device:
    """Build the DRAM of all expanders; bandwidth is linear in channels, static power and price in capacity, which is settled."""
    memory, capacity = assumed(machine, "expander-dram", MEMORY[USED]), machine.expander_dram_GiB or 0.0
    rates, gigabytes = rates_of(machine, memory, machine.expander_dram_channels), capacity * GiB / GB
    static = gigabytes * memory.background.value
    return Device(
        name="expander-dram",
        title=f"Expander DRAM, {capacity:g} GiB on {machine.expander_dram_channels} channels",
        helps="more expander channels would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=static,
        full_watts=static + full_joules(rates),
        price=gigabytes * memory.price.value,
        constants=fields_of(memory),
    )


DEVICE = DeviceKind(
    "Expander DRAM",
    build,
    lambda: {"": fields_of(MEMORY[USED])},
    reads=("expander_dram_GiB", "expander_dram_channels", "dram_static_power_source"),
)
