"""Persistent memory: modules that bring capacity and bandwidth together, in the media's own line size."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from ...core import figures
from ...core.catalog import Catalogue, latency_points
from ...core.constants import Constant
from ...core.part_files.tables import Quantity, optional_price, quantity
from ...core.row_sizes import mean_bytes, over_rows
from ...core.work import By, HomeWrites, Persist, RowLog, RowReads, RowUpdates, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, NS, US
from ..concurrency import BEND, LINE, RISE, WALL, LoadCurve, access_seconds, load_curve, loaded
from ..device import Cost, Device, DeviceKind, amount_price, assumed, assumed_value, nodes
from ..requesters import InFlight, in_flight, most_accesses

LEAST = 1e-3  # ns
NO_LINK = Constant("", 0, "", 0, 0, "stated", "a module that says nothing of it has no link of its own")
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

    module: Constant = quantity("module capacity", "GB", choice=True)
    line: Constant = quantity("media line", "B")
    access: Constant = _rate("timed access", "B")
    read: Constant = _rate("read rate")
    update: Constant = _rate("in-place update rate")
    stream: Constant = _rate("sequential write rate")
    mix: Constant = _rate("read-write mix", "of the rate")
    latency: Constant = quantity("random read latency", "ns")
    persist: Constant = quantity("64 B persist", "ns", switch="pmem_write_latency_source", choices=("media", "visible"))
    raw: Constant = quantity("read-after-write stall", "ns", zero=True)
    idle: Constant = quantity("module idle power", "W")
    read_energy: Constant = quantity("read energy", "nJ/B")
    write_energy: Constant = quantity("write energy", "nJ/B")
    price: Constant | None = optional_price("USD/GB")
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
    interleave: Constant = quantity(
        "interleave set",
        "modules",
        default=Constant("", 1, "", 1, 1, "unsourced", "each module stands behind a link of its own"),
        choice=True,
    )
    lanes: Constant = quantity("link lanes", "lanes", zero=True, default=NO_LINK, choice=True)
    way: Constant = quantity(
        "link latency",
        "ns",
        default=Constant("", 250, "", 100, 400, "unsourced", "the usual link, where a part says nothing"),
    )
    generation: Constant = quantity("link generation", "generation", zero=True, default=NO_LINK, choice=True)
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
    dirty_set: Constant = quantity(
        "dirty set",
        "GB",
        zero=True,
        default=Constant("", 0, "", 0, 0, "stated", "a part that says nothing writes all at one rate"),
    )
    beyond: Constant = quantity(
        "write beyond the dirty set", "writes more", zero=True, default=Constant("", 0, "", 0, 2, "unsourced", "as any write")
    )
    cached_energy: Constant = quantity(
        "cache energy", "nJ/B", default=Constant("", 0.18, "", 0.16, 0.2, "unsourced", "DRAM at 20 to 25 pJ/bit")
    )


OF_LINKS = ("lanes", "generation")
OF_CACHES = ("cache", "cache_line", "miss", "misses", "flush", "dirty_set", "beyond", "cached_energy")
ENDURANCE = Quantity("endurance", "full writes")  # how often the whole capacity can be written; what does not wear has none
BESIDE = "hosts"  # beside which alone the modules of a medium can stand; any, where its file does not say it
MEDIA = Catalogue("media", ModuleConstants, aside=(ENDURANCE,), lists={BESIDE: ()}, curve=True)


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
    return f"{figures.count(modules(machine))} × {figures.exact(module_bytes(machine) / GB)} GB"


def interleave_set(machine: MachineKnobs) -> int:
    """Return how many modules of a medium are interleaved."""
    return round(assumed_value(machine, "pmem", MEDIA[machine.pmem].interleave))


def module_rate(machine: MachineKnobs) -> float:
    """Return the bytes per second that one module reads."""
    return assumed_value(machine, "pmem", MEDIA[machine.pmem].read) * GB


def own_link(machine: MachineKnobs) -> tuple[int, int, float] | None:
    """Return lanes, generation and ns of the link that each module of a medium has, None where it has none."""
    media = assumed(machine, "pmem", MEDIA[machine.pmem])
    return (round(media.lanes.value), round(media.generation.value), media.way.value) if media.lanes.value else None


def read_rate(machine: MachineKnobs) -> float:
    """Return the bytes per second that a node's modules read together; capacity must have been settled."""
    return modules(machine) * module_rate(machine)


def pmem_latency(machine: MachineKnobs) -> float:
    """Return the nanoseconds that one random access takes."""
    return assumed_value(machine, "pmem", MEDIA[machine.pmem].latency)


class CacheRates(NamedTuple):
    """Numbers of a module's cache: bytes of a line, us of a miss and a write-back, lines under way, nJ a byte.

    A write to a line that is not among those written last takes `beyond` writes more.
    """

    line: float
    miss: float
    flush: float
    misses: float
    energy: float
    beyond: float


class MediaRates(NamedTuple):
    """Numbers of a node's modules: bytes, bytes a second of one by kind of access, ns, nJ a byte.

    `mix` of both rates is left where reads and writes alternate; `share` of its write rate is kept by a module; `queued` is
    False where rates are effective; `cache` is None without one.
    """

    modules: float
    line: float
    access: float
    read: float
    update: float
    stream: float
    mix: float
    latency: float
    persist: float
    stall: float
    read_energy: float
    write_energy: float
    share: float
    queue: float
    queued: bool
    curve: LoadCurve
    requesters: Mapping[By, InFlight]
    cache: CacheRates | None


def _pieces(work: Any, size: Any) -> Any:
    """Return how many units of `size` a row takes, in the mean."""
    return over_rows(work.row_bytes, lambda nbytes: np.ceil(nbytes / size))


def _whole(size: Any, work: Any) -> Any:
    """Return the bytes of the work's rows in whole units of `size`."""
    return work.rows * size * _pieces(work, size)


def _accesses_seconds(media: MediaRates, service: Any, latency: Any, work: Any, stall: Any = 1.0, returned: Any = 0.0) -> Any:
    """Return the seconds of accesses at one module: `service` each, if enough of them are in flight; a stall delays each.

    Those that miss a cache wait for their line too, and before it for the dirty one that it pushes out.
    """
    accesses = work.rows / media.modules * _pieces(work, media.access)
    lines = over_rows(work.row_bytes, lambda size: np.ceil(np.minimum(size, media.access) / LINE))
    most = inf
    if media.queued:
        most = np.minimum(most_accesses(media.requesters[work.by], lines), media.queue)
        latency = loaded(latency, service / NS, accesses, most, media.curve)
    if media.cache is None:
        return access_seconds(accesses, service * stall, latency * NS * stall, most)
    filling = (work.fetched * media.cache.miss + returned * media.cache.flush) * US / media.modules
    whole = np.minimum(work.fetched / media.modules, 1) * media.cache.miss * US
    through = access_seconds(accesses, service * stall, latency * NS * stall + filling / np.maximum(accesses, 1), most)
    return np.maximum(through, np.maximum(filling / np.maximum(1.0, np.minimum(most, media.cache.misses)), whole))


def read_seconds(media: MediaRates, work: RowReads) -> Any:
    """Return the seconds of row reads, spread evenly over modules; a read just after a write stalls."""
    stall = 1 + work.raw_share * media.stall / np.maximum(media.latency, LEAST)
    return _accesses_seconds(media, media.access / media.read, media.latency, work, stall, returned=work.returned)


def update_seconds(media: MediaRates, work: RowUpdates) -> Any:
    """Return the seconds of updates in place: each is read and persisted; a line not written lately is slow to be written."""
    service = media.access / (media.update * media.share)
    if (cache := media.cache) is not None:
        accesses = np.maximum(work.rows * _pieces(work, media.access), 1)
        of_line = over_rows(work.row_bytes, lambda size: np.ceil(np.minimum(size, cache.line) / media.access))
        slow = np.minimum(work.clean * of_line, accesses)
        service = service + cache.beyond * slow / accesses * media.access / (media.stream * media.share)
    return _accesses_seconds(media, service, media.latency + media.persist, work)


def log_seconds(media: MediaRates, work: RowLog) -> Any:
    """Return the seconds of a row log's entries: rows are read in whole accesses and appended in sequence, in mixed traffic."""
    append = mean_bytes(work.entry_bytes) / _pieces(work, media.access) / (media.stream * media.share)
    service = (media.access / media.read + append) / media.mix
    return _accesses_seconds(media, service, media.latency + media.persist, work)


def home_seconds(media: MediaRates, work: HomeWrites) -> Any:
    """Return the seconds of home writes, in sequence."""
    return _whole(media.access, work) / (media.stream * media.modules) / media.share


def stream_seconds(media: MediaRates, work: Stream) -> Any:
    """Return the seconds of bytes in sequence."""
    rate = media.stream if work.write else media.read
    seconds = work.nbytes / (rate * media.modules)
    return seconds / media.share if work.write else seconds


SECONDS: Mapping[type, Cost] = {
    RowReads: read_seconds,
    RowUpdates: update_seconds,
    RowLog: log_seconds,
    HomeWrites: home_seconds,
    Stream: stream_seconds,
    Persist: lambda media, work: work.flags * media.persist * NS,
}
# Bytes that the media or a cache before it stores: rows in place as whole lines, what is appended as it comes. Home writes
# count as the update.
WRITTEN: Mapping[type, Cost] = {
    RowUpdates: lambda media, work: _whole(media.line, work) / media.share,
    RowLog: lambda media, work: work.rows * mean_bytes(work.entry_bytes) / media.share,
    Stream: lambda media, work: work.nbytes / media.share if work.write else 0.0 * work.nbytes,
    Persist: lambda media, work: work.flags * media.line,
}
WRITTEN_BACK: Mapping[type, Cost] = {RowReads: lambda media, work: work.returned * media.cache.line}


def _energy(media: MediaRates, read: Any, work: Any) -> Any:
    """Return the joules of bytes read, and of those that the work writes."""
    written = WRITTEN.get(type(work))
    write = written(media, work) if written else 0.0
    if media.cache:
        near, line = (read + write) * media.cache.energy, media.cache.line
        fetched, returned = (line * getattr(work, name, 0.0) for name in ("fetched", "returned"))
        return (near + fetched * media.read_energy + returned * media.write_energy) * 1e-9
    return (read * media.read_energy + write * media.write_energy) * 1e-9


def row_joules(media: MediaRates, work: RowReads | RowUpdates | RowLog) -> Any:
    """Return the joules of rows: they are read in whole lines."""
    return _energy(media, _whole(media.line, work), work)


JOULES: Mapping[type, Cost] = {
    **dict.fromkeys((RowReads, RowUpdates, RowLog), row_joules),
    Stream: lambda media, work: _energy(media, 0.0 if work.write else work.nbytes, work),
    Persist: lambda media, work: _energy(media, 0.0, work),
}


def build(machine: MachineKnobs) -> Device:
    """Build the PMEM of `machine`: rates, static power and price are linear in modules."""
    media, count = assumed(machine, "pmem", MEDIA[machine.pmem]), modules(machine)
    return Device(
        name="pmem",
        title=f"PMEM, {count} x {figures.exact(module_bytes(machine) / GB)} GB {machine.pmem}",
        helps="more PMEM modules would shorten it",
        rates=_rates(machine, media, count),
        seconds=SECONDS,
        joules=JOULES,
        stored=WRITTEN_BACK if media.cache.value else WRITTEN,
        idle_watts=count * media.idle.value,
        full_watts=count * (media.idle.value + media.read.value * media.read_energy.value),
        modules=count,
        price=amount_price(media.price, count * module_bytes(machine) / GB),
        constants=_constants(media),
    )


def _rates(machine: MachineKnobs, media: ModuleConstants, count: int) -> MediaRates:
    """Return the numbers of so many modules."""
    cached = (media.cache_line, media.miss, media.flush, media.misses, media.cached_energy, media.beyond)
    cache = CacheRates(*(constant.value for constant in cached))
    return MediaRates(
        modules=float(count),
        line=media.line.value,
        access=media.access.value,
        **{name: getattr(media, name).value * GB for name in ("read", "update", "stream")},
        mix=media.mix.value,
        latency=media.latency.value,
        persist=media.persist.value,
        stall=media.raw.value,
        read_energy=media.read_energy.value,
        write_energy=media.write_energy.value,
        share=_write_share(media, machine.pmem_writers_per_module),
        queue=float(media.queue.value),
        queued=bool(media.queue.value),
        curve=load_curve(media, latency_points("media", machine.pmem)),
        requesters=in_flight(machine, "pmem", count),
        cache=cache if media.cache.value else None,
    )


def _constants(media: ModuleConstants) -> tuple[Constant, ...]:
    """Return a medium's constants, those of a cache or a link of its own only where it has one."""
    absent = (*OF_CACHES * (not media.cache.value), *OF_LINKS * (not media.lanes.value))
    return tuple([one for name in vars(media) if name not in absent and (one := getattr(media, name)) is not None])


def _write_share(media: ModuleConstants, writers: int) -> float:
    """Return the share of its write rate that a module keeps with so many writers: writes miss its buffer and are amplified."""
    over = (writers - media.writers.value) / max(CROWD - media.writers.value, 1.0)
    return 1 - (1 - media.crowded.value) * min(max(over, 0.0), 1.0)


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
        "prices",
    ),
    copies=nodes,
    kinds=("media",),
)
