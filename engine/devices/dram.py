"""DRAM: on the host as a cache, or on an expander as the volatile ideal that persistent memory is measured against."""

from typing import Any

import numpy as np

from engine.constants import Constant
from engine.device import Device, Kind, some
from engine.groups import Machine
from engine.units import GB, NS, GiB
from engine.work import RowReads, RowUpdates, Stream

CHANNEL = Constant("channel peak", 25.6, "GB/s", 25.6, 25.6, "vendor", "JEDEC DDR4-3200")
EFFICIENCY = Constant("random-line efficiency", 0.8, "of peak", 0.65, 0.9, "derived", "Yang et al., FAST'20")
LATENCY = Constant("random latency", 102, "ns", 81, 140, "measured", "Yang et al., FAST'20")
ENERGY = Constant("access energy", 20, "pJ/bit", 14, 39, "derived", "DRAMsim3 and XHarvest", "random 64 B with I/O")
BACKGROUND = Constant("background power", 0.06, "W/GB", 0.05, 0.284, "derived", "DRAMsim3", "Boavizta's fleet rule says 0.284")
PRICE = Constant("price", 11.13, "USD/GB", 5, 37, "stated", "BaM, ASPLOS'23, retail 2022")
LINE = 64


def build(machine: Machine) -> Device:
    """Build the DRAM; its bandwidth is linear in channels, its static power and price in capacity."""
    rate = machine.dram_channels * CHANNEL.value * EFFICIENCY.value * GB
    gigabytes = machine.dram_capacity_GiB * GiB / GB

    def lines(work: Any) -> Any:
        return work.rows * LINE * np.ceil(work.row_bytes / LINE)

    def price_of(nbytes: Any) -> Any:
        return nbytes * 8 * ENERGY.value * 1e-12

    return Device(
        name="dram",
        title=f"DRAM, {machine.dram_capacity_GiB:g} GiB on {machine.dram_channels} channels",
        helps="more DRAM channels would shorten it",
        seconds={
            RowReads: lambda work: some(work.rows) * LATENCY.value * NS + lines(work) / rate,
            RowUpdates: lambda work: 2 * lines(work) / rate,
            Stream: lambda work: work.nbytes / rate,
        },
        joules={
            RowReads: lambda work: price_of(lines(work)),
            RowUpdates: lambda work: price_of(2 * lines(work)),
            Stream: lambda work: price_of(work.nbytes),
        },
        idle_watts=gigabytes * BACKGROUND.value,
        price=gigabytes * PRICE.value,
        constants=(CHANNEL, EFFICIENCY, LATENCY, ENERGY, BACKGROUND, PRICE),
    )


DEVICE = Kind("DRAM", build, lambda: (CHANNEL, EFFICIENCY, LATENCY, ENERGY, BACKGROUND, PRICE))
