"""DRAM: on the host as a cache, or on an expander as the volatile ideal that persistent memory is measured against."""

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from ...core.catalog import Catalogue, quantity
from ...core.constants import Constant
from ...core.work import By, RowReads, RowUpdates, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, NS, GiB
from ..concurrency import BEND, LINE, RISE, WALL, access_seconds, loaded
from ..device import Device, DeviceKind, assumed, assumed_value, fields_of, nodes
from ..requesters import in_flight


@dataclass(frozen=True)
class Memory:
    """DDR4 on the host or on an expander."""

    channel: Constant = quantity("channel peak", "GB/s")
    efficiency: Constant = quantity("random-line efficiency", "of peak")
    latency: Constant = quantity("random latency", "ns")
    energy: Constant = quantity("access energy", "pJ/bit")
    background: Constant = quantity("background power", "W/GB", switch="dram_static_power_source", choices=("dies", "fleet"))
    price: Constant = quantity("price", "USD/GB")
    rise: Constant = RISE
    bend: Constant = BEND
    wall: Constant = WALL


MEMORY = Catalogue("dram", Memory)
USED = "ddr4-3200"


def dram_latency(machine: MachineKnobs) -> float:
    """Return the nanoseconds that one random line takes."""
    return assumed_value(machine, "dram", MEMORY[USED].latency)


def build(machine: MachineKnobs) -> Device:
    """Build the DRAM; its bandwidth is linear in channels, its static power and price in capacity."""
    memory = assumed(machine, "dram", MEMORY[USED])
    rate = machine.dram_channels * memory.channel.value * memory.efficiency.value * GB
    gigabytes = machine.dram_capacity_GiB * GiB / GB

    asked = {by: in_flight(machine, by, "dram", machine.dram_channels)(1) for by in get_args(By)}
    service = LINE * machine.dram_channels / rate

    def lines(work: Any) -> Any:
        return work.rows * LINE * np.ceil(work.row_bytes / LINE)

    def random(work: Any, times: int = 1) -> Any:
        """Lines at one channel, each passed so many times: the channel's rate, if enough of them are in flight."""
        accesses, most = lines(work) / LINE / machine.dram_channels, asked[work.by]
        latency = loaded(memory.latency.value, times * service / NS, accesses, most, memory.rise, memory.bend, memory.wall) * NS
        return access_seconds(accesses, times * service, latency, most)

    def price_of(nbytes: Any) -> Any:
        return nbytes * 8 * memory.energy.value * 1e-12

    return Device(
        name="dram",
        title=f"DRAM, {machine.dram_capacity_GiB:g} GiB on {machine.dram_channels} channels",
        helps="more DRAM channels would shorten it",
        seconds={
            RowReads: random,
            RowUpdates: lambda work: random(work, 2),
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
