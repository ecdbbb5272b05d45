"""SSDs: rows are read and written as 4 KiB blocks, through a software path that costs time per access."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.assumptions import assumed, fields_of
from engine.cluster import nodes
from engine.constants import Constant
from engine.device import Device, Kind, some
from engine.machine import Machine
from engine.units import GB, US
from engine.work import HomeWrites, Persist, RowLog, RowReads, RowUpdates, Stream

BLOCK = 4096
BAM = "BaM, ASPLOS'23"
TCXL = "Kwon et al., IEEE Micro 43(2), 2023, relative to DRAM"
SOFTWARE = Constant(
    "software per access", 5, "us", 3, 10, "stated", "OptimStore's model of a storage stack", "io_uring"
).disputed(
    "ssd_software",
    mmap=(10, 3, 10, "stated", "XHarvest: through the operating system, as a page fault goes"),
    spdk=(0.072, 0.072, 0.1, "measured", "SPDK, 2021: 13.85 million accesses a second and core, polled without the kernel"),
)
THREADS = Constant("software threads", 8, "threads", 1, 64, "unsourced", "accesses whose software overlaps")


@dataclass(frozen=True)
class Drive:
    """One drive."""

    latency: Constant
    read_iops: Constant
    write_iops: Constant
    read: Constant
    write: Constant
    idle: Constant
    active: Constant
    capacity: Constant
    price: Constant
    software: Constant = SOFTWARE
    threads: Constant = THREADS


DRIVES = {
    "p5800x": Drive(
        Constant("read latency", 6, "us", 5, 11, "secondary", "Intel brief, quoted"),
        Constant("4 KiB read rate", 1.5e6, "1/s", 1.4e6, 1.6e6, "stated", BAM),
        Constant("4 KiB write rate", 1.5e6, "1/s", 1.1e6, 1.5e6, "stated", BAM),
        Constant("sequential read", 7.2, "GB/s", 6.4, 7.2, "unsourced", "data sheet, recalled"),
        Constant("sequential write", 6.2, "GB/s", 5, 6.2, "unsourced", "data sheet, recalled"),
        Constant("idle power", 4, "W", 3, 6, "unsourced", "recalled"),
        Constant("active power", 18, "W", 14, 21, "unsourced", "recalled"),
        Constant("capacity", 1600, "GB", 400, 1600, "vendor", "P5800X"),
        Constant("price", 2.54, "USD/GB", 2.5, 2.6, "stated", BAM, "2022"),
    ),
    "pm9a3": Drive(
        Constant("read latency", 80, "us", 70, 100, "derived", "NAND TLC drives, AnandTech"),
        Constant("4 KiB read rate", 9e5, "1/s", 9e5, 1.1e6, "vendor", "PM9A3 launch, heise"),
        Constant("4 KiB write rate", 1.9e5, "1/s", 1.8e5, 2e5, "vendor", "PM9A3 launch, heise"),
        Constant("sequential read", 6.8, "GB/s", 6.5, 6.9, "vendor", "PM9A3 launch, heise"),
        Constant("sequential write", 3.5, "GB/s", 3.2, 4.1, "vendor", "PM9A3 launch, heise"),
        Constant("idle power", 4, "W", 3.5, 5, "unsourced", "recalled"),
        Constant("active power", 12, "W", 11, 14, "unsourced", "recalled"),
        Constant("capacity", 3840, "GB", 960, 7680, "vendor", "PM9A3"),
        Constant("price", 0.51, "USD/GB", 0.5, 0.55, "stated", BAM, "NAND, 2022"),
    ),
    "trainingcxl": Drive(
        Constant("read latency", 13.4, "us", 13.4, 16.8, "stated", TCXL, "165 x 81 ns"),
        Constant("4 KiB read rate", 1.25e5, "1/s", 1e5, 2e5, "derived", TCXL, "0.02 x 25.6 GB/s in blocks"),
        Constant("4 KiB write rate", 1.25e5, "1/s", 1e5, 2e5, "derived", TCXL, "0.02 x 25.6 GB/s in blocks"),
        Constant("sequential read", 0.512, "GB/s", 0.3, 2.1, "stated", TCXL, "0.02 x one 25.6 GB/s channel"),
        Constant("sequential write", 0.512, "GB/s", 0.3, 2.1, "stated", TCXL, "0.02 x one 25.6 GB/s channel"),
        Constant("idle power", 5, "W", 3, 6, "unsourced", "a drive's worth"),
        Constant("active power", 12, "W", 10, 18, "unsourced", "a drive's worth"),
        Constant("capacity", 1000, "GB", 500, 2000, "unsourced", "not stated"),
        Constant("price", 0.51, "USD/GB", 0.5, 0.55, "stated", BAM, "NAND, 2022"),
    ),
}


def build(machine: Machine) -> Device:
    """Build the drives, striped: rates and power are linear in their number."""
    drive, count = assumed(machine, "ssd", DRIVES[machine.ssd]), machine.num_ssds

    def blocks(rows: Any, iops: Constant, rate: Constant) -> Any:
        pace = np.maximum(1 / (iops.value * count), BLOCK / (rate.value * GB * count))
        return rows * np.maximum(pace, drive.software.value * US / drive.threads.value)

    def stream(nbytes: Any, rate: Constant) -> Any:
        return some(nbytes) * drive.latency.value * US + nbytes / (rate.value * GB * count)

    def read(rows: Any) -> Any:
        return some(rows) * drive.latency.value * US + blocks(rows, drive.read_iops, drive.read)

    def home(work: Any) -> Any:
        return blocks(work.rows, drive.write_iops, drive.write)

    swing = count * (drive.active.value - drive.idle.value)
    return Device(
        name="ssd",
        title=f"SSD, {count} x {machine.ssd}",
        helps="more drives, or a larger row cache, would shorten it",
        seconds={
            RowReads: lambda work: read(work.rows),
            RowUpdates: lambda work: read(work.rows) + blocks(work.rows, drive.write_iops, drive.write),
            RowLog: lambda work: stream(work.rows * work.entry_bytes, drive.write),
            HomeWrites: home,
            Stream: lambda work: stream(work.nbytes, drive.write if work.write else drive.read),
            Persist: lambda work: work.flags * (drive.latency.value + drive.software.value) * US,
        },
        joules={HomeWrites: lambda work: swing * home(work)},
        idle_watts=count * drive.idle.value,
        busy_watts=swing,
        price=count * drive.capacity.value * drive.price.value,
        constants=fields_of(drive),
    )


DEVICE = Kind(
    "SSD",
    build,
    lambda: {name: fields_of(drive) for name, drive in DRIVES.items()},
    knobs=("machine.ssd", "machine.num_ssds", "machine.ssd_software"),
    copies=nodes,
)
