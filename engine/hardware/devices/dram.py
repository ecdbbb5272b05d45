"""DRAM: on the host as a cache, or on an expander as the volatile ideal that persistent memory is measured against."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.catalog import Catalogue, quantity
from ...core.constants import Constant
from ...core.work import RowReads, RowUpdates, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, NS, GiB
from ..device import Device, DeviceKind, assumed, fields_of, nodes, some

LINE = 64


@dataclass(frozen=True)
class Memory:
    """DDR4 on the host or on an expander."""

    channel: Constant = quantity("channel peak", "GB/s")
    efficiency: Constant = quantity("random-line efficiency", "of peak")
    latency: Constant = quantity("random latency", "ns")
    energy: Constant = quantity("access energy", "pJ/bit")
    background: Constant = quantity("background power", "W/GB", switch="dram_static_power_source", choices=("dies", "fleet"))
    price: Constant = quantity("price", "USD/GB")


MEMORY = Catalogue("dram", Memory)
USED = "ddr4-3200"


def build(machine: MachineKnobs) -> Device:
    """Build the DRAM; its bandwidth is linear in channels, its static power and price in capacity."""
    memory = assumed(machine, "dram", MEMORY[USED])
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


DEVICE = DeviceKind(
    "DRAM",
    build,
    lambda: {"": fields_of(MEMORY[USED])},
    reads=("dram_capacity_GiB", "dram_channels", "dram_static_power_source"),
    copies=nodes,
)
