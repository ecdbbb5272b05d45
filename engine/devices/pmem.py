"""Persistent memory: modules that bring capacity and bandwidth together, in the media's own line size."""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from engine.assumptions import assumed, fields_of
from engine.constants import Constant
from engine.device import Device, Kind, some
from engine.machine import Machine
from engine.units import GB, GiB
from engine.work import HomeWrites, Persist, RowLog, RowReads, RowUpdates, Stream

FAST20 = "Yang et al., FAST'20 (OptaneStudy data)"
TCXL = "Kwon et al., IEEE Micro 43(2), 2023"
FIT = "fitted to TrainingCXL RM1 and RM4 by scripts/calibrate_trainingcxl.py"


@dataclass(frozen=True)
class Media:
    """One module of a media type; rates in GB/s of media traffic, each direction apart."""

    module: Constant
    line: Constant
    read: Constant
    update: Constant
    log: Constant
    stream: Constant
    latency: Constant
    persist: Constant
    raw: Constant
    idle: Constant
    read_energy: Constant
    write_energy: Constant
    price: Constant


def _optane(gain: float, source: str) -> Media:
    """Measured Optane: random lines, update and log are read plus write under the 1:1 mix penalty of one half."""
    read, write = 6.6 * gain, 2.28 * gain
    mixed = 0.5 / (1 / read + 1 / write)
    return Media(
        module=Constant("module capacity", 128, "GB", 128, 512, "vendor", "Intel: 128, 256 or 512 GB modules"),
        line=Constant("media line", 256, "B", 256, 256, "measured", FAST20),
        read=Constant("read rate", read, "GB/s", 4.5 * gain, 8.5 * gain, "measured", source, "per module at its 15 W budget"),
        update=Constant("in-place update rate", mixed, "GB/s", 0.7 * mixed, 1.4 * mixed, "derived", source, "read, write, mix"),
        log=Constant("row log rate", mixed, "GB/s", 0.7 * mixed, 1.4 * mixed, "derived", source, "read, append, mix"),
        stream=Constant("sequential write rate", write, "GB/s", 1.63 * gain, 2.88 * gain, "measured", source),
        latency=Constant("random read latency", 305, "ns", 277, 407, "measured", FAST20),
        persist=Constant("64 B persist", 90, "ns", 82, 125, "measured", FAST20, "non-temporal store to the persistence domain"),
        raw=Constant("read-after-write stall", 300, "ns", 0, 1000, "unsourced", "no published constant"),
        idle=Constant("module idle power", 5.2, "W", 4, 6.5, "derived", FAST20),
        read_energy=Constant("read energy", 1.45, "nJ/B", 1.2, 2, "derived", FAST20, "media traffic"),
        write_energy=Constant("write energy", 4.73, "nJ/B", 4, 5.5, "derived", FAST20, "media traffic"),
        price=Constant("price", 6, "USD/GB", 4.5, 15.6, "secondary", "street prices, 2019"),
    )


def _battery_dram() -> Media:
    return Media(
        module=Constant("module capacity", 32, "GB", 8, 32, "vendor", "Micron NVDIMM-N 32 GB"),
        line=Constant("media line", 64, "B", 64, 64, "vendor", "JEDEC DDR4 burst"),
        read=Constant("read rate", 20.5, "GB/s", 16.6, 23, "derived", "DDR4-3200 channel at 80 %"),
        update=Constant("in-place update rate", 10.2, "GB/s", 8.3, 11.5, "derived", "read plus write on one channel"),
        log=Constant("row log rate", 10.2, "GB/s", 8.3, 11.5, "derived", "read plus write on one channel"),
        stream=Constant("sequential write rate", 20.5, "GB/s", 16.6, 23, "derived", "DDR4-3200 channel at 80 %"),
        latency=Constant("random read latency", 102, "ns", 81, 140, "measured", FAST20),
        persist=Constant("64 B persist", 60, "ns", 50, 116, "measured", FAST20, "as clwb to DRAM"),
        raw=Constant("read-after-write stall", 0, "ns", 0, 100, "unsourced", "DRAM has no such stall"),
        idle=Constant("module idle power", 5, "W", 3, 8, "secondary", "codecarbon, W per DIMM"),
        read_energy=Constant("read energy", 0.16, "nJ/B", 0.11, 0.31, "derived", "DRAMsim3, random 64 B with I/O"),
        write_energy=Constant("write energy", 0.16, "nJ/B", 0.11, 0.31, "derived", "DRAMsim3, random 64 B with I/O"),
        price=Constant("price", 20, "USD/GB", 11, 40, "unsourced", "DRAM, flash and battery"),
    )


def _cxl_flash() -> Media:
    djfs = "DJFS, FAST'25 (Samsung CMM-H prototype)"
    return Media(
        module=Constant("module capacity", 1000, "GB", 500, 2000, "unsourced", "one card"),
        line=Constant("media line", 64, "B", 64, 64, "measured", djfs, "cache hits; a miss reads a 4 KiB block"),
        read=Constant("read rate", 2, "GB/s", 1, 4, "measured", djfs),
        update=Constant("in-place update rate", 1, "GB/s", 0.5, 2, "derived", djfs, "read plus write"),
        log=Constant("row log rate", 1, "GB/s", 0.5, 2, "derived", djfs, "read plus write"),
        stream=Constant("sequential write rate", 2, "GB/s", 1, 4, "measured", djfs),
        latency=Constant("random read latency", 600, "ns", 600, 10000, "measured", djfs),
        persist=Constant("64 B persist", 600, "ns", 600, 10000, "measured", djfs),
        raw=Constant("read-after-write stall", 0, "ns", 0, 1000, "unsourced", "none known"),
        idle=Constant("module idle power", 4.6, "W", 4.6, 10, "measured", "SANDMAN, SOSP'25, Gen5 SSD"),
        read_energy=Constant("read energy", 2, "nJ/B", 1, 4, "derived", "SANDMAN: (18.5-4.6) W at 6.8 GB/s"),
        write_energy=Constant("write energy", 4, "nJ/B", 2, 8, "unsourced", "twice the read"),
        price=Constant("price", 1, "USD/GB", 0.5, 2.5, "unsourced", "between NAND and Optane SSD"),
    )


def _trainingcxl() -> Media:
    """The paper's emulated PMEM: effective rates of rows, unstated in the paper, so fitted and labelled."""
    return Media(
        module=Constant("module capacity", 16, "GB", 16, 16, "unsourced", "assumed: 64 GB of emulated PMEM, 4 controllers"),
        line=Constant("media line", 64, "B", 64, 256, "unsourced", "assumed: emulated on DRAM"),
        read=Constant("read rate", 11.3, "GB/s", 5, 20, "calibrated", FIT),
        update=Constant("in-place update rate", 1.476, "GB/s", 1, 2, "calibrated", FIT),
        log=Constant("row log rate", 7.456, "GB/s", 5, 9, "calibrated", FIT),
        stream=Constant(
            "sequential write rate", 200, "GB/s", 70, 1000, "calibrated", FIT, "never the limit: several controllers"
        ),
        latency=Constant("random read latency", 243, "ns", 243, 306, "stated", TCXL, "3 x DRAM's 81 ns"),
        persist=Constant("64 B persist", 567, "ns", 100, 714, "stated", TCXL, "7 x DRAM's 81 ns"),
        raw=Constant("read-after-write stall", 279, "ns", 0, 1000, "calibrated", FIT),
        idle=Constant("module idle power", 5, "W", 3, 8, "unsourced", "a DIMM's worth"),
        read_energy=Constant("read energy", 0.16, "nJ/B", 0.11, 2, "derived", "DRAMsim3: the emulated media is DRAM"),
        write_energy=Constant("write energy", 0.16, "nJ/B", 0.11, 5.5, "derived", "DRAMsim3: the emulated media is DRAM"),
        price=Constant("price", 6, "USD/GB", 4.5, 15.6, "unsourced", "as Optane"),
    )


MEDIA = {
    "optane-100": _optane(1.0, FAST20),
    "optane-200": _optane(1.15, FAST20 + "; +15 % for the 200 series (Tom's Hardware, 2020)"),
    "battery-dram": _battery_dram(),
    "cxl-flash": _cxl_flash(),
    "trainingcxl": _trainingcxl(),
}


def module_bytes(machine: Machine) -> float:
    """Return the capacity of one module in bytes."""
    return (machine.pmem_module_GB or assumed(machine, "pmem", MEDIA[machine.pmem]).module.value) * GB


def modules(machine: Machine) -> int:
    """Return how many modules the machine's PMEM capacity takes; capacity must have been settled."""
    capacity = (machine.pmem_capacity_GiB or 0.0) * GiB
    return max(1, ceil(capacity / module_bytes(machine) - 1e-9))


def build(machine: Machine) -> Device:
    """Build the PMEM of `machine`: rates, static power and price are linear in modules."""
    media, count = assumed(machine, "pmem", MEDIA[machine.pmem]), modules(machine)

    def media_bytes(work: Any) -> Any:
        return work.rows * media.line.value * np.ceil(work.row_bytes / media.line.value)

    def at(rate: Constant, nbytes: Any) -> Any:
        return nbytes / (rate.value * GB * count)

    def read(work: RowReads) -> Any:
        stall = 1 + work.raw_share * media.raw.value / media.latency.value
        return some(work.rows) * media.latency.value * 1e-9 + at(media.read, media_bytes(work)) * stall

    def energy(read: Any, write: Any) -> Any:
        return (read * media.read_energy.value + write * media.write_energy.value) * 1e-9

    return Device(
        name="pmem",
        title=f"PMEM, {count} x {module_bytes(machine) / GB:g} GB {machine.pmem}",
        helps="more PMEM modules would shorten it",
        seconds={
            RowReads: read,
            RowUpdates: lambda work: at(media.update, media_bytes(work)),
            RowLog: lambda work: at(media.log, media_bytes(work)),
            HomeWrites: lambda work: at(media.stream, media_bytes(work)),
            Stream: lambda work: at(media.stream if work.write else media.read, work.nbytes),
            Persist: lambda work: work.flags * media.persist.value * 1e-9,
        },
        joules={
            RowReads: lambda work: energy(media_bytes(work), 0),
            RowUpdates: lambda work: energy(media_bytes(work), media_bytes(work)),
            RowLog: lambda work: energy(media_bytes(work), work.rows * work.entry_bytes),
            Stream: lambda work: energy(0, work.nbytes) if work.write else energy(work.nbytes, 0),
        },
        idle_watts=count * media.idle.value,
        modules=count,
        price=count * module_bytes(machine) / GB * media.price.value,
        constants=fields_of(media),
    )


DEVICE = Kind(
    "Persistent memory",
    build,
    lambda: {name: fields_of(media) for name, media in MEDIA.items()},
    knobs=("machine.pmem", "machine.pmem_capacity_GiB", "machine.pmem_module_GB"),
)
