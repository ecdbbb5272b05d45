"""DRAM: on the host as a cache, or on an expander as the volatile ideal that persistent memory is measured against."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.assumptions import assumed, fields_of
from engine.cluster import nodes
from engine.constants import Constant
from engine.device import Device, Kind, some
from engine.machine import Machine
from engine.units import GB, NS, GiB
from engine.work import RowReads, RowUpdates, Stream

LINE = 64


@dataclass(frozen=True)
class Memory:
    """DDR4 on the host or on an expander."""

    channel: Constant = Constant("channel peak", 25.6, "GB/s", 25.6, 25.6, "vendor", "JEDEC DDR4-3200")
    efficiency: Constant = Constant("random-line efficiency", 0.8, "of peak", 0.65, 0.9, "derived", "Yang et al., FAST'20")
    latency: Constant = Constant("random latency", 102, "ns", 81, 140, "measured", "Yang et al., FAST'20")
    energy: Constant = Constant("access energy", 20, "pJ/bit", 14, 39, "derived", "DRAMsim3 and XHarvest", "random 64 B with I/O")
    background: Constant = Constant(
        "background power", 0.06, "W/GB", 0.05, 0.284, "derived", "DRAMsim3", "dies; a fleet rule says 0.284"
    ).disputed(
        "dram_static_power_source",
        dies=(0.06, 0.05, 0.08, "derived", "DRAMsim3: 8 Gb dies in standby with refresh, no register or regulator"),
        fleet=(0.284, 0.1, 0.375, "secondary", "Boavizta's rule for a fleet of small and old modules"),
    )
    price: Constant = Constant("price", 11.13, "USD/GB", 5, 37, "stated", "BaM, ASPLOS'23, retail 2022")


def build(machine: Machine) -> Device:
    """Build the DRAM; its bandwidth is linear in channels, its static power and price in capacity."""
    memory = assumed(machine, "dram", Memory())
    rate = machine.dram_channels * memory.channel.value * memory.efficiency.value * GB
    gigabytes = machine.dram_capacity_GiB * GiB / GB

    def lines(work: Any) -> Any:
        return work.rows * LINE * np.ceil(work.row_bytes / LINE)

    def price_of(nbytes: Any) -> Any:
        return nbytes * 8 * memory.energy.value * 1e-12

    return Device(
        name="dram",
        title=f"DRAM, {machine.dram_capacity_GiB:g} GiB on {machine.dram_channels} channels",
        helps="more DRAM channels would shorten it",
        seconds={
            RowReads: lambda work: some(work.rows) * memory.latency.value * NS + lines(work) / rate,
            RowUpdates: lambda work: 2 * lines(work) / rate,
            Stream: lambda work: work.nbytes / rate,
        },
        joules={
            RowReads: lambda work: price_of(lines(work)),
            RowUpdates: lambda work: price_of(2 * lines(work)),
            Stream: lambda work: price_of(work.nbytes),
        },
        idle_watts=gigabytes * memory.background.value,
        full_watts=gigabytes * memory.background.value + price_of(rate),
        price=gigabytes * memory.price.value,
        constants=fields_of(memory),
    )


DEVICE = Kind(
    "DRAM",
    build,
    lambda: {"": fields_of(Memory())},
    knobs=("machine.dram_capacity_GiB", "machine.dram_channels", "machine.dram_static_power_source"),
    copies=nodes,
)
