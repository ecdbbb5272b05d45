"""Persistent memory: modules that bring capacity and bandwidth together, in the media's own line size."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, get_args

import numpy as np

from ...core.catalog import Catalogue, Quantity, quantity
from ...core.constants import Constant
from ...core.work import By, HomeWrites, Persist, RowLog, RowReads, RowUpdates, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, NS, US
from ..concurrency import BEND, LINE, RISE, WALL, access_seconds, loaded
from ..device import Cost, Device, DeviceKind, assumed, assumed_value, fields_of, nodes
from ..requesters import InFlight, in_flight

LEAST = 1e-3  # ns
CROWD = 12  # writers per module, the most that were measured


def _rate(name: str, unit: str = "GB/s") -> Any:
    """A constant of which sources contradict each other, for Optane and for the prototype that emulates it."""
    return quantity(name, unit, switch="pmem_bandwidth_source", choices=("paper", "measured", "random"))


@dataclass(frozen=True)
class ModuleConstants:
    """One module of a media type; rates in GB/s, each direction apart.

    Energy and wear count whole lines of the media, time whole accesses of the size that the rates were measured at. A module may
    have a cache before its media, write-back and LRU: rates, latencies, `line` and `cached_energy` are then those of hits.
    """

    module: Constant = quantity("module capacity", "GB")
    line: Constant = quantity("media line", "B")
    access: Constant = _rate("timed access", "B")
    read: Constant = _rate("read rate")
    update: Constant = _rate("in-place update rate")
    log: Constant = _rate("row log rate")
    stream: Constant = _rate("sequential write rate")
    latency: Constant = quantity("random read latency", "ns")
    persist: Constant = quantity("64 B persist", "ns", switch="pmem_write_latency_source", choices=("media", "visible"))
    raw: Constant = quantity("read-after-write stall", "ns", zero=True)
    idle: Constant = quantity("module idle power", "W")
    read_energy: Constant = quantity("read energy", "nJ/B")
    write_energy: Constant = quantity("write energy", "nJ/B")
    price: Constant = quantity("price", "USD/GB")
    writers: Constant = quantity("writers without loss", "writers")
    crowded: Constant = quantity("write share of 12 writers", "of the rate")
    queue: Constant = quantity(
        "accesses in flight",
        "accesses",
        zero=True,
        default=Constant("", 64, "", 32, 256, "unsourced", "as many as a module's controller queues; 0: the rates are effective"),
    )
    rise: Constant = RISE
    bend: Constant = BEND
    wall: Constant = WALL
    cache: Constant = quantity(
        "cache capacity", "GB", zero=True, default=Constant("", 0, "", 0, 0, "stated", "a part that says nothing of it has none")
    )
    cache_line: Constant = quantity("cache line", "B", default=Constant("", 4096, "", 64, 16384, "unsourced", "a page"))
    miss: Constant = quantity("cache miss", "us", default=Constant("", 40, "", 10, 100, "unsourced", "a page read from NAND"))
    misses: Constant = quantity(
        "misses in flight", "lines", default=Constant("", 40, "", 8, 256, "unsourced", "4 KiB each, 4 GB/s together")
    )
    flush: Constant = quantity(
        "line write-back", "us", default=Constant("", 80, "", 20, 200, "unsourced", "half as fast as a page is read")
    )
    cached_energy: Constant = quantity(
        "cache energy", "nJ/B", default=Constant("", 0.18, "", 0.16, 0.2, "unsourced", "DRAM at 20 to 25 pJ/bit")
    )


OF_CACHES = ("cache", "cache_line", "miss", "misses", "flush", "cached_energy")
ENDURANCE = Quantity("endurance", "full writes")  # how often the whole capacity can be written; what does not wear has none
MEDIA = Catalogue("media", ModuleConstants, aside=(ENDURANCE,))


def module_bytes(machine: MachineKnobs) -> float:
    """Return the capacity of one module in bytes."""
    return (machine.pmem_module_GB or assumed_value(machine, "pmem", MEDIA[machine.pmem].module)) * GB


def modules_for(machine: MachineKnobs, nbytes: float) -> int:
    """Return how many whole modules hold so many bytes; at least one."""
    return max(1, ceil(nbytes / module_bytes(machine) - 1e-9))


def modules(machine: MachineKnobs) -> int:
    """Return how many modules the machine's PMEM capacity takes; capacity must have been settled."""
    return modules_for(machine, (machine.pmem_capacity_GB or 0.0) * GB)


def told_modules(machine: MachineKnobs) -> str:
    """Return a node's settled modules in words: 4 × 128 GB."""
    return f"{modules(machine):,} × {module_bytes(machine) / GB:g} GB"


def read_rate(machine: MachineKnobs) -> float:
    """Return the bytes per second that a node's modules read together; capacity must have been settled."""
    return modules(machine) * assumed_value(machine, "pmem", MEDIA[machine.pmem].read) * GB


def pmem_latency(machine: MachineKnobs) -> float:
    """Return the nanoseconds that one random access takes."""
    return assumed_value(machine, "pmem", MEDIA[machine.pmem].latency)


def build(machine: MachineKnobs) -> Device:
    """Build the PMEM of `machine`: rates, static power and price are linear in modules."""
    media, count = assumed(machine, "pmem", MEDIA[machine.pmem]), modules(machine)
    share = _write_share(media, machine.pmem_writers_per_module)
    written = _written(media, share)
    flushed: dict[type, Cost] = {RowReads: lambda work: work.returned * media.cache_line.value}
    stored = flushed if media.cache.value else written
    return Device(
        name="pmem",
        title=f"PMEM, {count} x {module_bytes(machine) / GB:g} GB {machine.pmem}",
        helps="more PMEM modules would shorten it",
        seconds=_seconds(media, count, share, {by: in_flight(machine, by, "pmem", count) for by in get_args(By)}),
        joules=_joules(media, written),
        stored=stored,
        idle_watts=count * media.idle.value,
        full_watts=count * (media.idle.value + media.read.value * media.read_energy.value),
        modules=count,
        price=count * module_bytes(machine) / GB * media.price.value,
        constants=_constants(media),
    )


def _constants(media: ModuleConstants) -> tuple[Constant, ...]:
    """Return a medium's constants, those of a cache only where it has one."""
    return tuple(
        [one for one, name in zip(fields_of(media), vars(media), strict=True) if media.cache.value or name not in OF_CACHES]
    )


def _write_share(media: ModuleConstants, writers: int) -> float:
    """Return the share of its write rate that a module keeps with so many writers: writes miss its buffer and are amplified."""
    over = (writers - media.writers.value) / max(CROWD - media.writers.value, 1.0)
    return 1 - (1 - media.crowded.value) * min(max(over, 0.0), 1.0)


def _whole(size: Constant, work: Any) -> Any:
    """Return the bytes of the work's rows in whole units of `size`."""
    return work.rows * size.value * np.ceil(work.row_bytes / size.value)


def _written(media: ModuleConstants, share: float) -> dict[type, Cost]:
    """What the media or a cache before it stores: rows in place as whole lines, what is appended as it comes.

    Home writes count as the update.
    """
    return {
        RowUpdates: lambda work: _whole(media.line, work) / share,
        RowLog: lambda work: work.rows * work.entry_bytes / share,
        Stream: lambda work: work.nbytes / share if work.write else 0.0 * work.nbytes,
        Persist: lambda work: work.flags * media.line.value,
    }


def _seconds(media: ModuleConstants, count: int, share: float, asked: Mapping[By, InFlight]) -> dict[type, Cost]:
    """Return the times; rows are spread evenly over modules, each of which has a queue of its own."""

    def at(rate: Constant, nbytes: Any) -> Any:
        return nbytes / (rate.value * GB * count)

    def rows_at(rate: Constant, work: Any) -> Any:
        return at(rate, _whole(media.access, work))

    def random(rate: Constant, latency: Any, work: Any, stall: Any = 1.0, share: float = 1.0, returned: Any = 0.0) -> Any:
        """Accesses of a rate's size at one module: at that rate, if enough of them are in flight; a stall delays each.

        Those that miss a cache wait for their line too, and before it for the dirty one that it pushes out.
        """
        accesses = work.rows / count * np.ceil(work.row_bytes / media.access.value)
        lines = np.ceil(min(work.row_bytes, media.access.value) / LINE)
        service, most = media.access.value / (rate.value * GB * share), inf
        if media.queue.value:
            most = min(asked[work.by](lines), media.queue.value)
            latency = loaded(latency, service / NS, accesses, most, media.rise, media.bend, media.wall)
        if not media.cache.value:
            return access_seconds(accesses, service * stall, latency * NS * stall, most)
        filling = (work.fetched * media.miss.value + returned * media.flush.value) * US / count
        whole = np.minimum(work.fetched / count, 1) * media.miss.value * US
        through = access_seconds(accesses, service * stall, latency * NS * stall + filling / np.maximum(accesses, 1), most)
        return np.maximum(through, np.maximum(filling / max(1.0, min(most, media.misses.value)), whole))

    def read(work: RowReads) -> Any:
        stall = 1 + work.raw_share * media.raw.value / np.maximum(media.latency.value, LEAST)
        return random(media.read, media.latency.value, work, stall, returned=work.returned)

    both = media.latency.value + media.persist.value
    return {
        RowReads: read,
        RowUpdates: lambda work: random(media.update, both, work, share=share),
        RowLog: lambda work: random(media.log, both, work, share=share),
        HomeWrites: lambda work: rows_at(media.stream, work) / share,
        Stream: lambda work: at(media.stream, work.nbytes) / share if work.write else at(media.read, work.nbytes),
        Persist: lambda work: work.flags * media.persist.value * NS,
    }


def _joules(media: ModuleConstants, written: Mapping[type, Cost]) -> dict[type, Cost]:

    def energy(read: Any, work: Any) -> Any:
        write = written[type(work)](work) if type(work) in written else 0.0
        if media.cache.value:
            near, line = (read + write) * media.cached_energy.value, media.cache_line.value
            fetched, returned = (line * getattr(work, name, 0.0) for name in ("fetched", "returned"))
            return (near + fetched * media.read_energy.value + returned * media.write_energy.value) * 1e-9
        return (read * media.read_energy.value + write * media.write_energy.value) * 1e-9

    return {
        **dict.fromkeys((RowReads, RowUpdates, RowLog), lambda work: energy(_whole(media.line, work), work)),
        Stream: lambda work: energy(0.0 if work.write else work.nbytes, work),
        Persist: lambda work: energy(0.0, work),
    }


DEVICE = DeviceKind(
    "Persistent memory",
    build,
    lambda: {name: _constants(media) for name, media in MEDIA.items()},
    reads=(
        "pmem",
        "pmem_capacity_GB",
        "pmem_module_GB",
        "pmem_writers_per_module",
        "pmem_bandwidth_source",
        "pmem_write_latency_source",
    ),
    copies=nodes,
)
