"""SSDs: rows are read and written as 4 KiB blocks, through a software path that costs time per access."""

from dataclasses import dataclass
from math import inf
from typing import Any

from ...core.catalog import Catalogue, quantity
from ...core.constants import Constant
from ...core.work import HomeWrites, Persist, RowLog, RowReads, RowUpdates, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, US
from ..concurrency import access_seconds
from ..device import Device, DeviceKind, assumed, fields_of, nodes, some

BLOCK = 4096


@dataclass(frozen=True)
class Drive:
    """One drive, and the software that reaches it."""

    latency: Constant = quantity("read latency", "us")
    read_iops: Constant = quantity("4 KiB read rate", "1/s")
    write_iops: Constant = quantity("4 KiB write rate", "1/s")
    read: Constant = quantity("sequential read", "GB/s")
    write: Constant = quantity("sequential write", "GB/s")
    idle: Constant = quantity("idle power", "W")
    active: Constant = quantity("active power", "W")
    capacity: Constant = quantity("capacity", "GB")
    price: Constant = quantity("price", "USD/GB")
    software: Constant = quantity("software per access", "us", switch="ssd_software", choices=("mmap", "spdk"))
    threads: Constant = quantity("software threads", "threads")
    depth: Constant = quantity(
        "accesses in flight",
        "accesses",
        zero=True,
        default=Constant("", 256, "", 32, 1024, "unsourced", "an asynchronous queue; 0: the rates are effective"),
    )


DRIVES = Catalogue("drive", Drive)


def build(machine: MachineKnobs) -> Device:
    """Build the drives, striped: rates and power are linear in their number."""
    drive, count = assumed(machine, "ssd", DRIVES[machine.ssd]), machine.num_ssds

    def pace(iops: Constant, rate: Constant) -> float:
        fastest = max(1 / (iops.value * count), BLOCK / (rate.value * GB * count))
        return max(fastest, drive.software.value * US / drive.threads.value)

    reading, writing = pace(drive.read_iops, drive.read), pace(drive.write_iops, drive.write)
    waiting = _in_flight(drive, machine)

    def stream(nbytes: Any, rate: Constant) -> Any:
        return some(nbytes) * drive.latency.value * US + nbytes / (rate.value * GB * count)

    def read(rows: Any) -> Any:
        return access_seconds(rows, reading, (drive.latency.value + drive.software.value) * US, waiting)

    def home(work: Any) -> Any:
        return work.rows * writing

    swing = count * (drive.active.value - drive.idle.value)
    return Device(
        name="ssd",
        title=f"SSD, {count} x {machine.ssd}",
        helps="more drives, or a larger row cache, would shorten it",
        seconds={
            RowReads: lambda work: read(work.rows),
            RowUpdates: lambda work: read(work.rows) + home(work),
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


def _in_flight(drive: Drive, machine: MachineKnobs) -> float:
    """Return how many reads wait at most: a page fault holds its thread until the block is there, a queue does not."""
    if not drive.depth.value:
        return inf
    return drive.threads.value if machine.ssd_software == "mmap" else machine.num_ssds * drive.depth.value


DEVICE = DeviceKind(
    "SSD",
    build,
    lambda: {name: fields_of(drive) for name, drive in DRIVES.items()},
    reads=("ssd", "num_ssds", "ssd_software"),
    copies=nodes,
)
