"""Persistent memory: modules that each add capacity and bandwidth; rows are read in media lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from ...core import figures
from ...core.catalog import Catalogue, latency_points
from ...core.constants import Constant
from ...core.part_files.tables import Quantity, optional_price, quantity
from ...core.row_sizes import mean_bytes, mean_over_rows
from ...core.work import HomeWrites, Persist, Requester, RowLog, RowReads, RowUpdates, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, NS, US
from ..concurrency import BEND, LINE, RISE, WALL, LoadCurve, access_seconds, load_curve, loaded_latency
from ..device import Cost, Device, DeviceKind, assumed_part, assumed_value, nodes
from ..money.bill import BillItem
from ..requesters import InFlight, in_flight, most_accesses

NO_LINK = Constant("", 0, "", 0, 0, "stated", "a module that says nothing of it has no link of its own")
OTHER_RATES = ("paper", "measured", "random")  # choices of pmem_bandwidth_source beside the part's own rates
MIN_LATENCY_NS, MEASURED_WRITERS = 1e-3, 12  # ns; writers per module, the highest measured number


def _rate(name: str, unit: str = "GB/s") -> Any:
    """Return a constant of Optane and its emulating prototype for which sources disagree."""
    return quantity(name, unit, switch="pmem_bandwidth_source", choices=OTHER_RATES)


@dataclass(frozen=True)
class ModuleConstants:
    """Constants of one module of a media type; read and write rates [GB/s] are separate.

    Energy and wear count whole lines of the media; time counts whole accesses of the size with which the rates were measured. A
    module may have a write-back LRU cache before its media: then rates, latencies, `line` and `cached_energy` are those of cache
    hits. The `quantity` of each field has the constant's name and unit.
    """

    module: Constant = quantity("module capacity", "GB", choice=True)
    line: Constant = quantity("media line", "B")
    access: Constant = _rate("timed access", "B")
    read_rate: Constant = _rate("read rate")
    update_rate: Constant = _rate("in-place update rate")
    stream_rate: Constant = _rate("sequential write rate")
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
    extra_writes: Constant = quantity(
        "write beyond the dirty set", "writes more", zero=True, default=Constant("", 0, "", 0, 2, "unsourced", "as any write")
    )
    cached_energy: Constant = quantity(
        "cache energy", "nJ/B", default=Constant("", 0.18, "", 0.16, 0.2, "unsourced", "DRAM at 20 to 25 pJ/bit")
    )


OF_LINKS = ("lanes", "generation")
OF_CACHES = ("cache", "cache_line", "miss", "misses", "flush", "dirty_set", "extra_writes", "cached_energy")
ENDURANCE = Quantity("endurance", "full writes")  # full writes until worn out; a medium without wear has none
HOME_LANES = Quantity("home-write lanes", "lanes", True, "pmem_bandwidth_source", OTHER_RATES)  # 1: home writes never queue
HOST_LIST = "hosts"  # the only hosts that take a medium's modules; all, if its file does not say
MEDIA = Catalogue("media", ModuleConstants, extra_constants=(ENDURANCE, HOME_LANES), lists={HOST_LIST: ()}, curve=True)


def module_bytes(machine: MachineKnobs) -> float:
    """Return the capacity of one module in bytes."""
    return (machine.pmem_module_GB or assumed_value(machine, "pmem", MEDIA[machine.pmem].module)) * GB


def modules_for(machine: MachineKnobs, nbytes: float) -> int:
    """Return the number of whole modules that hold `nbytes`; at least one."""
    return max(1, ceil(nbytes / module_bytes(machine) - 1e-9))


def modules(machine: MachineKnobs) -> int:
    """Return the number of modules for a node's PMEM capacity, which must be chosen."""
    return modules_for(machine, (machine.pmem_capacity_GB or 0.0) * GB)


def modules_in_words(machine: MachineKnobs) -> str:
    """Return the number and size of a node's modules as text: "4 × 128 GB"."""
    return f"{figures.count(modules(machine))} × {figures.exact(module_bytes(machine) / GB)} GB"


def interleave_set(machine: MachineKnobs) -> int:
    """Return the number of modules over which a medium interleaves its lines."""
    return round(assumed_value(machine, "pmem", MEDIA[machine.pmem].interleave))


def module_rate(machine: MachineKnobs) -> float:
    """Return the bytes per second that one module reads."""
    return assumed_value(machine, "pmem", MEDIA[machine.pmem].read_rate) * GB


def own_link(machine: MachineKnobs) -> tuple[int, int, float] | None:
    """Return (lanes, generation, latency [ns]) of each module's own CXL link, or None."""
    media = assumed_part(machine, "pmem", MEDIA[machine.pmem])
    return (round(media.lanes.value), round(media.generation.value), media.way.value) if media.lanes.value else None


def read_rate(machine: MachineKnobs) -> float:
    """Return the bytes per second that a node's modules read; capacity must be chosen."""
    return modules(machine) * module_rate(machine)


def pmem_latency(machine: MachineKnobs) -> float:
    """Return the nanoseconds of one random access to a module."""
    return assumed_value(machine, "pmem", MEDIA[machine.pmem].latency)


class CacheRates(NamedTuple):
    """Rates of the cache before a module's media.

    line, energy: bytes of a cache line; energy of a hit [nJ/B].
    miss, flush, misses: time of a miss and of a write-back [us]; misses in flight.
    extra_writes: additional media writes for each write to a line outside the dirty set.
    """

    line: float
    miss: float
    flush: float
    misses: float
    energy: float
    extra_writes: float


class MediaRates(NamedTuple):
    """Rates of a node's modules; `modules` is their number.

    line, access: bytes of a media line, and of an access with which the rates were measured.
    read_rate, update_rate, stream_rate: rate of a module by kind of access [B/s].
    mix: factor on read and write rates where reads and writes alternate.
    latency, persist, stall: time of a random read, of a 64 B persist, and of a read just after a write [ns].
    read_energy, write_energy: energy [nJ/B]. share: share of its write rate that a module keeps with many writers.
    queue, queued: accesses in flight at a module; queued is False if the rates already include the wait.
    curve, requesters: rise of the latency with load; accesses in flight of each requester.
    cache: rates of the cache, None without a cache.
    """

    modules: float
    line: float
    access: float
    read_rate: float
    update_rate: float
    stream_rate: float
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
    requesters: Mapping[Requester, InFlight]
    cache: CacheRates | None


def _pieces(work: Any, size: Any) -> Any:
    """Return the mean number of units of `size` bytes in a row."""
    return mean_over_rows(work.row_bytes, lambda nbytes: np.ceil(nbytes / size))


def _rounded_bytes(size: Any, work: Any) -> Any:
    """Return the bytes of the work's rows in whole units of `size`."""
    return work.rows * size * _pieces(work, size)


def _accesses_seconds(media: MediaRates, service: Any, latency: Any, work: Any, stall: Any = 1.0, write_backs: Any = 0.0) -> Any:
    """Return the seconds of accesses at one module: `service` each, if enough are in flight.

    A stall delays each access. One that misses the cache also waits for its line, and before it for the evicted dirty line.
    """
    accesses = work.rows / media.modules * _pieces(work, media.access)
    lines = mean_over_rows(work.row_bytes, lambda size: np.ceil(np.minimum(size, media.access) / LINE))
    max_accesses = inf
    if media.queued:
        max_accesses = np.minimum(most_accesses(media.requesters[work.requester], lines), media.queue)
        latency = loaded_latency(latency, service / NS, accesses, max_accesses, media.curve)
    if media.cache is None:
        return access_seconds(accesses, service * stall, latency * NS * stall, max_accesses)
    filling = (work.missed_lines * media.cache.miss + write_backs * media.cache.flush) * US / media.modules
    miss_seconds = np.minimum(work.missed_lines / media.modules, 1) * media.cache.miss * US
    access_time = access_seconds(
        accesses, service * stall, latency * NS * stall + filling / np.maximum(accesses, 1), max_accesses
    )
    return np.maximum(
        access_time, np.maximum(filling / np.maximum(1.0, np.minimum(max_accesses, media.cache.misses)), miss_seconds)
    )


def read_seconds(media: MediaRates, work: RowReads) -> Any:
    """Return the seconds of row reads, spread evenly over modules.

    A read just after a write takes longer.
    """
    stall = 1 + work.raw_share * media.stall / np.maximum(media.latency, MIN_LATENCY_NS)
    return _accesses_seconds(media, media.access / media.read_rate, media.latency, work, stall, work.written_back_lines)


def update_seconds(media: MediaRates, work: RowUpdates) -> Any:
    """Return the seconds to read and persist each row in place.

    A write to a line outside the cache's dirty set takes longer.
    """
    service = media.access / (media.update_rate * media.share)
    if (cache := media.cache) is not None:
        accesses = np.maximum(work.rows * _pieces(work, media.access), 1)
        of_line = mean_over_rows(work.row_bytes, lambda size: np.ceil(np.minimum(size, cache.line) / media.access))
        slow = np.minimum(work.clean_lines * of_line, accesses)
        service = service + cache.extra_writes * slow / accesses * media.access / (media.stream_rate * media.share)
    return _accesses_seconds(media, service, media.latency + media.persist, work)


def log_seconds(media: MediaRates, work: RowLog) -> Any:
    """Return the seconds to log rows: each is read, and its log entry appended.

    Rows are read in whole accesses and appended in sequence, at the rates of mixed reads and writes.
    """
    append = mean_bytes(work.entry_bytes) / _pieces(work, media.access) / (media.stream_rate * media.share)
    service = (media.access / media.read_rate + append) / media.mix
    return _accesses_seconds(media, service, media.latency + media.persist, work)


def home_seconds(media: MediaRates, work: HomeWrites) -> Any:
    """Return the seconds to write updated rows to their tables, in sequence."""
    return _rounded_bytes(media.access, work) / (media.stream_rate * media.modules) / media.share


def stream_seconds(media: MediaRates, work: Stream) -> Any:
    """Return the seconds to read or write bytes in sequence."""
    rate = media.stream_rate if work.write else media.read_rate
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
# Bytes stored: rows in place as whole lines, appended bytes as they are; home writes count as the update.
STORED_BYTES: Mapping[type, Cost] = {
    RowUpdates: lambda media, work: _rounded_bytes(media.line, work) / media.share,
    RowLog: lambda media, work: work.rows * mean_bytes(work.entry_bytes) / media.share,
    Stream: lambda media, work: work.nbytes / media.share if work.write else 0.0 * work.nbytes,
    Persist: lambda media, work: work.flags * media.line,
}
STORED_BYTES_BEHIND_CACHE: Mapping[type, Cost] = {RowReads: lambda media, work: work.written_back_lines * media.cache.line}


def _energy(media: MediaRates, read_bytes: Any, work: Any) -> Any:
    """Return the joules of `read_bytes` and of the bytes that the work writes."""
    written_bytes = STORED_BYTES.get(type(work))
    write_bytes = written_bytes(media, work) if written_bytes else 0.0
    if media.cache:
        cache_joules, line = (read_bytes + write_bytes) * media.cache.energy, media.cache.line
        missed_bytes, written_back_bytes = (line * getattr(work, name, 0.0) for name in ("missed_lines", "written_back_lines"))
        return (cache_joules + missed_bytes * media.read_energy + written_back_bytes * media.write_energy) * 1e-9
    return (read_bytes * media.read_energy + write_bytes * media.write_energy) * 1e-9


def row_joules(media: MediaRates, work: RowReads | RowUpdates | RowLog) -> Any:
    """Return the joules of reading, updating or logging rows, in whole media lines."""
    return _energy(media, _rounded_bytes(media.line, work), work)


JOULES: Mapping[type, Cost] = {
    **dict.fromkeys((RowReads, RowUpdates, RowLog), row_joules),
    Stream: lambda media, work: _energy(media, 0.0 if work.write else work.nbytes, work),
    Persist: lambda media, work: _energy(media, 0.0, work),
}


def build(machine: MachineKnobs) -> Device:
    """Return a node's PMEM as a device; rates, idle power and price grow with modules."""
    media, count = assumed_part(machine, "pmem", MEDIA[machine.pmem], MEDIA.kind, machine.pmem), modules(machine)
    return Device(
        name="pmem",
        title=f"PMEM, {count} x {figures.exact(module_bytes(machine) / GB)} GB {machine.pmem}",
        helps="more PMEM modules would shorten it",
        rates=_rates(machine, media, count),
        seconds=SECONDS,
        joules=JOULES,
        stored_bytes=STORED_BYTES_BEHIND_CACHE if media.cache.value else STORED_BYTES,
        idle_watts=count * media.idle.value,
        full_watts=count * (media.idle.value + media.read_rate.value * media.read_energy.value),
        modules=count,
        bill=(BillItem(MEDIA.kind, machine.pmem, count, media.price, module_bytes(machine) / GB),),
        constants=_constants(media),
    )


def _rates(machine: MachineKnobs, media: ModuleConstants, count: int) -> MediaRates:
    """Return the numbers of so many modules."""
    cache_constants = (media.cache_line, media.miss, media.flush, media.misses, media.cached_energy, media.extra_writes)
    cache = CacheRates(*(constant.value for constant in cache_constants))
    return MediaRates(
        modules=float(count),
        line=media.line.value,
        access=media.access.value,
        **{name: getattr(media, name).value * GB for name in ("read_rate", "update_rate", "stream_rate")},
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
    """Return a medium's constants; those of a cache or own link only if present."""
    absent = (*OF_CACHES * (not media.cache.value), *OF_LINKS * (not media.lanes.value))
    return tuple([constant for name in vars(media) if name not in absent and (constant := getattr(media, name)) is not None])


def _write_share(media: ModuleConstants, writers: int) -> float:
    """Return the share of its write rate that a module keeps with so many writers.

    Writes of many writers miss the module's buffer and are amplified.
    """
    crowding = (writers - media.writers.value) / max(MEASURED_WRITERS - media.writers.value, 1.0)
    return 1 - (1 - media.crowded.value) * min(max(crowding, 0.0), 1.0)


DEVICE = DeviceKind(
    "Persistent memory",
    build,
    lambda: {name: _constants(media) for name, media in MEDIA.items()},
    knob_names=(
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
