"""Host DRAM: equal DIMMs in all memory channels of a host."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf
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
from ...units import GB, NS
from ..concurrency import BEND, LINE, RISE, WALL, LoadCurve, access_seconds, load_curve, loaded_latency
from ..device import Cost, Device, DeviceKind, assumed_part, assumed_value, fields_of, nodes
from ..hosts import HOSTS, host_channels
from ..money.bill import BillItem
from ..requesters import InFlight, in_flight, most_accesses
from .chassis import CHASSIS, DEFAULT_CHASSIS
from .pmem import modules, own_link

AS_64 = Constant("", 1, "", 1, 1, "unsourced", "as a module of 64 GB")


@dataclass(frozen=True)
class Memory:
    """Constants of a grade of DIMMs, on a host or on an expander.

    price: USD of a GB of modules up to 64 GB; premium_96, premium_128, premium_256: that of larger ones over it.
    """

    channel: Constant = quantity("channel peak", "GB/s")
    efficiency: Constant = quantity("random-line efficiency", "of peak")
    latency: Constant = quantity("random latency", "ns")
    energy: Constant = quantity("access energy", "pJ/bit")
    background: Constant = quantity("background power", "W/GB", switch="dram_static_power_source", choices=("dies", "fleet"))
    price: Constant | None = optional_price("USD/GB")
    premium_96: Constant = quantity("premium of 96 GB modules", "times", default=AS_64)
    premium_128: Constant = quantity("premium of 128 GB modules", "times", default=AS_64)
    premium_256: Constant = quantity("premium of 256 GB modules", "times", default=AS_64)
    rise: Constant = RISE
    bend: Constant = BEND
    wall: Constant = WALL

    @property
    def premiums(self) -> Mapping[int, Constant]:
        """The premiums by the size of a module."""
        return {96: self.premium_96, 128: self.premium_128, 256: self.premium_256}


MEMORY = Catalogue("dram", Memory, curve=True)
HOST_MEMORY = Catalogue("dram", Memory, used_by=("host",), curve=True)  # by the host whose file names the grade
DIMMS_GiB = (16, 32, 64, 96, 128, 256)
PER_CHANNEL = 2  # DIMMs of a channel


class Dimms(NamedTuple):
    """Equal DIMMs in all memory channels: their number, and the GiB of each."""

    number: int
    gib: int

    @property
    def capacity(self) -> int:
        """The GiB of all DIMMs."""
        return self.number * self.gib


@lru_cache(maxsize=4096)
def like_dimms(channels: int, gib: float, premiums: tuple[tuple[int, float], ...] = (), slots: float = inf) -> Dimms:
    """Return the cheapest equal DIMMs in all channels that hold `gib` GiB.

    Of equally cheap ones these are the fewest. If none hold so much in the slots, return the fewest that would hold it, or the
    largest number of the largest DIMMs.

    premiums: the price of a GB of large DIMMs over that of small ones, by their GiB. slots: the DIMMs that have room.
    """
    sizes, counts = DIMMS_GiB, [channels * per_channel for per_channel in range(1, PER_CHANNEL + 1)]
    holding = [Dimms(number, size) for number in counts for size in sizes if number * size >= gib]
    times = dict(premiums)
    by_cost = sorted(holding, key=lambda dimms: (dimms.capacity * times.get(dimms.gib, 1.0), dimms.number))
    if fitting := [dimms for dimms in by_cost if dimms.number <= slots]:
        return fitting[0]
    return min(by_cost, key=lambda dimms: dimms.number, default=Dimms(counts[-1], sizes[-1]))


def cheapest_dimms(machine: MachineKnobs, device: str, memory: Memory, channels: int, gib: float, slots: float = inf) -> Dimms:
    """Return the DIMMs of a grade that a device takes for `gib` GiB."""
    premiums = [(size, assumed_value(machine, device, premium)) for size, premium in memory.premiums.items()]
    return like_dimms(channels, gib, tuple(premiums), slots)


def slotted_modules(machine: MachineKnobs) -> int:
    """Return the number of a node's PMEM modules in DIMM slots, which have no links."""
    return 0 if machine.pmem_capacity_GB is None or own_link(machine) else modules(machine)


def dimm_slots(machine: MachineKnobs) -> float:
    """Return the slots of a host's chassis for DIMMs of DRAM."""
    chassis = CHASSIS[machine.chassis or DEFAULT_CHASSIS]
    return assumed_value(machine, "chassis", chassis.slots) - slotted_modules(machine)


def host_dimms(machine: MachineKnobs, gib: float) -> Dimms:
    """Return the DIMMs of one host for `gib` GiB, in slots that PMEM leaves free."""
    return cheapest_dimms(machine, "dram", grade(machine), host_channels(machine), gib, dimm_slots(machine))


def dimms_on_bill(name: str, memory: Memory, dimms: Dimms) -> BillItem:
    """Return DIMMs of a grade on a bill.

    A DIMM of 64 GiB is sold as one of 64 GB. A GB of a large DIMM costs as much as `premium` GB of small ones, whose price the
    file has.
    """
    premium = memory.premiums.get(dimms.gib, AS_64).value
    return BillItem(MEMORY.kind, name, dimms.number, memory.price, dimms.gib * premium, size=f"{dimms.gib} GiB")


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
    channels, dimms = host_channels(machine), host_dimms(machine, capacity)
    rates = rates_of(machine, memory, channels, catalog.latency_points("dram", grade_name(machine)))
    static = dimms.number * assumed_value(machine, "host", HOSTS[machine.host].dimm)
    return Device(
        name="dram",
        title=f"Host DRAM, {exact(capacity)} GiB on {count(channels, 'channel')}",
        helps="more DRAM channels would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=static,
        full_watts=static + full_joules(rates),
        bill=(dimms_on_bill(grade_name(machine), memory, dimms),),
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
