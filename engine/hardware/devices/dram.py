"""Host DRAM: equal DIMMs in all memory channels of a host."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

from ...core import catalog
from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.figures import count, exact
from ...core.part_files.curves import LatencyPoints
from ...core.part_files.tables import optional_price, quantity
from ...core.row_sizes import granule_bytes
from ...core.work import Requester, RowReads, RowUpdates, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, NS, GiB
from ..concurrency import BEND, LINE, RISE, WALL, LoadCurve, access_seconds, load_curve, loaded_latency
from ..device import Cost, Device, DeviceKind, assumed_part, assumed_value, fields_of, nodes
from ..hosts import HOSTS, host_channels
from ..money.bill import BillItem
from ..requesters import InFlight, in_flight, most_accesses


@dataclass(frozen=True)
class Memory:
    """Constants of a grade of DIMMs, on a host or on an expander."""

    channel: Constant = quantity("channel peak", "GB/s")
    efficiency: Constant = quantity("random-line efficiency", "of peak")
    latency: Constant = quantity("random latency", "ns")
    energy: Constant = quantity("access energy", "pJ/bit")
    background: Constant = quantity("background power", "W/GB", switch="dram_static_power_source", choices=("dies", "fleet"))
    price: Constant | None = optional_price("USD/GB")
    rise: Constant = RISE
    bend: Constant = BEND
    wall: Constant = WALL


MEMORY = Catalogue("dram", Memory, curve=True)
HOST_MEMORY = Catalogue("dram", Memory, used_by=("host",), curve=True)  # by the host whose file names the grade
DIMMS_GiB = (16, 32, 64, 96, 128, 256)
PER_CHANNEL = 2  # DIMMs of a channel


class Dimms(NamedTuple):
    """Equal DIMMs in all memory channels: their number, and the GiB of each."""

    number: int
    gib: int


def like_dimms(channels: int, gib: float) -> Dimms:
    """Return the fewest equal DIMMs in `channels` channels that hold `gib` GiB.

    If no DIMMs hold so much, return the largest number of the largest DIMMs.
    """
    candidates = (
        Dimms(dimms_per_channel * channels, size) for dimms_per_channel in range(1, PER_CHANNEL + 1) for size in DIMMS_GiB
    )
    largest = Dimms(PER_CHANNEL * channels, DIMMS_GiB[-1])
    return next((dimms for dimms in candidates if dimms.number * dimms.gib >= gib * (1 - 1e-9)), largest)


def dimms_on_bill(name: str, price: Constant | None, channels: int, gib: float) -> BillItem:
    """Return the DIMMs of a grade on a bill, for `gib` GiB in `channels` channels."""
    dimms = like_dimms(channels, gib)
    return BillItem(MEMORY.kind, name, dimms.number, price, gib * GiB / GB / dimms.number, size=f"{dimms.gib} GiB")


def grade(machine: MachineKnobs) -> Memory:
    """Return the grade of a host's DIMMs."""
    return MEMORY[machine.host_dram] if machine.host_dram else HOST_MEMORY[machine.host]


def grade_name(machine: MachineKnobs) -> str:
    """Return the name of the grade of a host's DIMMs."""
    return machine.host_dram or str(catalog.part_content("host", machine.host)["dram"])


class DramRates(NamedTuple):
    """Rates of the DRAM channels of a node.

    channels: number of channels.
    rate: rate of all channels together [B/s].
    service: seconds that one channel works on a line.
    latency: latency of an access without load [ns].
    curve: how the latency rises with load.
    requesters: accesses in flight of each requester.
    bit: energy [pJ/bit].
    """

    channels: float
    rate: float
    service: float
    latency: float
    curve: LoadCurve
    requesters: Mapping[Requester, InFlight]
    bit: float


def _line_bytes(work: Any) -> Any:
    """Return the bytes of the work's rows in whole lines."""
    return work.rows * granule_bytes(work.row_bytes, LINE)


def _random(memory: DramRates, work: Any, times: int) -> Any:
    """Return the seconds of lines at one channel, each passed `times` times.

    The channel's rate holds if enough lines are in flight.
    """
    accesses, max_accesses = _line_bytes(work) / LINE / memory.channels, most_accesses(memory.requesters[work.requester], 1)
    latency = loaded_latency(memory.latency, times * memory.service / NS, accesses, max_accesses, memory.curve) * NS
    return access_seconds(accesses, times * memory.service, latency, max_accesses)


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


def rates_of(machine: MachineKnobs, memory: Memory, channels: int, latency_points: LatencyPoints | None) -> DramRates:
    """Return the rates of `channels` channels of a grade.

    `latency_points`: the measured latencies under load, None if not measured.
    """
    rate = channels * memory.channel.value * memory.efficiency.value * GB
    return DramRates(
        channels=float(channels),
        rate=rate,
        service=LINE * channels / rate,
        latency=memory.latency.value,
        curve=load_curve(memory, latency_points),
        requesters=in_flight(machine, "dram", channels),
        bit=memory.energy.value,
    )


def full_joules(rates: DramRates) -> Any:
    """Return the joules of one second at full rate."""
    return _joules(rates, rates.rate)


def build(machine: MachineKnobs) -> Device:
    """Return a host's DRAM as a device; its capacity must be chosen.

    Its idle power is linear in the number of DIMMs.
    """
    capacity = machine.host_dram_GiB or 0.0
    memory = assumed_part(machine, "dram", grade(machine), MEMORY.kind, grade_name(machine))
    channels = host_channels(machine)
    rates = rates_of(machine, memory, channels, catalog.latency_points("dram", grade_name(machine)))
    static = channels * ceil(capacity / channels / DIMMS_GiB[-1]) * assumed_value(machine, "host", HOSTS[machine.host].dimm)
    return Device(
        name="dram",
        title=f"Host DRAM, {exact(capacity)} GiB on {count(channels, 'channel')}",
        helps="more DRAM channels would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=static,
        full_watts=static + full_joules(rates),
        bill=(dimms_on_bill(grade_name(machine), memory.price, channels, capacity),),
        constants=fields_of(memory),
    )


DEVICE = DeviceKind(
    "Host DRAM",
    build,
    lambda: {name: fields_of(memory) for name, memory in MEMORY.items()},
    knob_names=("host", "host_dram", "host_dram_GiB", "host_dram_channels", "dram_static_power_source", "prices"),
    copies=nodes,
    kinds=("dram",),
)
