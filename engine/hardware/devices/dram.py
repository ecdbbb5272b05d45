"""DRAM: on the host as a cache, or on an expander as the volatile ideal that persistent memory is measured against."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.catalog import Catalogue, optional_price, quantity
from ...core.constants import Constant
from ...core.work import By, RowReads, RowUpdates, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, NS, GiB
from ..concurrency import BEND, LINE, RISE, WALL, LoadCurve, access_seconds, loaded
from ..device import Cost, Device, DeviceKind, amount_price, assumed, assumed_value, fields_of, nodes
from ..requesters import InFlight, in_flight, most_accesses


@dataclass(frozen=True)
class Memory:
    """DDR4 on the host or on an expander."""

    channel: Constant = quantity("channel peak", "GB/s")
    efficiency: Constant = quantity("random-line efficiency", "of peak")
    latency: Constant = quantity("random latency", "ns")
    energy: Constant = quantity("access energy", "pJ/bit")
    background: Constant = quantity("background power", "W/GB", switch="dram_static_power_source", choices=("dies", "fleet"))
    price: Constant | None = optional_price("USD/GB")
    rise: Constant = RISE
    bend: Constant = BEND
    wall: Constant = WALL


MEMORY = Catalogue("dram", Memory)
USED = "ddr4-3200"


def dram_latency(machine: MachineKnobs) -> float:
    """Return the nanoseconds that one random line takes."""
    return assumed_value(machine, "dram", MEMORY[USED].latency)


class DramRates(NamedTuple):
    """Numbers of a node's channels: bytes a second of all, seconds a line at one, ns of an idle access, pJ a bit."""

    channels: float
    rate: float
    service: float
    latency: float
    curve: LoadCurve
    requesters: Mapping[By, InFlight]
    bit: float


def _line_bytes(work: Any) -> Any:
    return work.rows * LINE * np.ceil(work.row_bytes / LINE)


def _random(memory: DramRates, work: Any, times: int) -> Any:
    """Return the seconds of lines at one channel, each passed so many times: its rate, if enough of them are in flight."""
    accesses, most = _line_bytes(work) / LINE / memory.channels, most_accesses(memory.requesters[work.by], 1)
    latency = loaded(memory.latency, times * memory.service / NS, accesses, most, memory.curve) * NS
    return access_seconds(accesses, times * memory.service, latency, most)


def _joules(memory: DramRates, nbytes: Any) -> Any:
    return nbytes * 8 * memory.bit * 1e-12


SECONDS: Mapping[type, Cost] = {
    RowReads: lambda memory, work: _random(memory, work, 1),
    RowUpdates: lambda memory, work: _random(memory, work, 2),
    Stream: lambda memory, work: work.nbytes / memory.rate,
}
JOULES: Mapping[type, Cost] = {
    RowReads: lambda memory, work: _joules(memory, _line_bytes(work)),
    RowUpdates: lambda memory, work: _joules(memory, 2 * _line_bytes(work)),
    Stream: lambda memory, work: _joules(memory, work.nbytes),
}


def build(machine: MachineKnobs) -> Device:
    """Build the DRAM; its bandwidth is linear in channels, its static power and price in capacity."""
    memory = assumed(machine, "dram", MEMORY[USED])
    rate = machine.dram_channels * memory.channel.value * memory.efficiency.value * GB
    gigabytes = machine.dram_capacity_GiB * GiB / GB
    rates = DramRates(
        channels=float(machine.dram_channels),
        rate=rate,
        service=LINE * machine.dram_channels / rate,
        latency=memory.latency.value,
        curve=LoadCurve(memory.rise.value, memory.bend.value, memory.wall.value),
        requesters=in_flight(machine, "dram", machine.dram_channels),
        bit=memory.energy.value,
    )
    return Device(
        name="dram",
        title=f"DRAM, {machine.dram_capacity_GiB:g} GiB on {machine.dram_channels} channels",
        helps="more DRAM channels would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=gigabytes * memory.background.value,
        full_watts=gigabytes * memory.background.value + _joules(rates, rate),
        price=amount_price(memory.price, gigabytes),
        constants=fields_of(memory),
    )


DEVICE = DeviceKind(
    "DRAM",
    build,
    lambda: {name: fields_of(memory) for name, memory in MEMORY.items()},
    reads=("dram_capacity_GiB", "dram_channels", "dram_static_power_source", "prices"),
    copies=nodes,
    kinds=("dram",),
)
