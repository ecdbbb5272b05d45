"""SSDs: drives that read and write each row as one block of 4 KiB.

Each access takes the time of its software path in addition.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.part_files.tables import optional_price, quantity
from ...core.row_sizes import mean_bytes
from ...core.work import HomeWrites, Persist, RowLog, RowReads, RowUpdates, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, US
from ..concurrency import access_seconds
from ..device import Cost, Device, DeviceKind, assumed_part, assumed_value, fields_of, is_positive, nodes
from ..money.bill import BillItem

BLOCK = 4096


@dataclass(frozen=True)
class Drive:
    """Constants of one drive, and of the software that accesses it."""

    latency: Constant = quantity("read latency", "us")
    read_iops: Constant = quantity("4 KiB read rate", "1/s")
    write_iops: Constant = quantity("4 KiB write rate", "1/s")
    sequential_read_rate: Constant = quantity("sequential read", "GB/s")
    sequential_write_rate: Constant = quantity("sequential write", "GB/s")
    idle: Constant = quantity("idle power", "W")
    active: Constant = quantity("active power", "W")
    capacity: Constant = quantity("capacity", "GB", choice=True)
    price: Constant | None = optional_price("USD/GB")
    software: Constant = quantity("software per access", "us", switch="ssd_software", choices=("mmap", "spdk"))
    threads: Constant = quantity("software threads", "threads")
    depth: Constant = quantity(
        "accesses in flight",
        "accesses",
        zero=True,
        default=Constant("", 256, "", 32, 1024, "unsourced", "an asynchronous queue; 0: the rates are effective"),
    )


DRIVES = Catalogue("drive", Drive)


def drive_bytes(machine: MachineKnobs) -> float:
    """Return the capacity of one drive in bytes."""
    return assumed_value(machine, "ssd", DRIVES[machine.ssd].capacity) * GB


class DriveRates(NamedTuple):
    """Rates of all drives together, over which blocks are striped.

    block_read_seconds, block_write_seconds: seconds that the drives work on a block.
    latency: latency of a drive [us].
    answer: latency of a drive and its software path [us].
    in_flight: number of reads in flight.
    sequential_read_rate, sequential_write_rate: sequential rates [B/s].
    """

    block_read_seconds: float
    block_write_seconds: float
    latency: float
    answer: float
    in_flight: float
    sequential_read_rate: float
    sequential_write_rate: float


def _read_seconds(drives: DriveRates, rows: Any) -> Any:
    """Return the seconds of blocks read at random."""
    return access_seconds(rows, drives.block_read_seconds, drives.answer * US, drives.in_flight)


def _stream_seconds(drives: DriveRates, nbytes: Any, rate: Any) -> Any:
    """Return the seconds of bytes in sequence."""
    return is_positive(nbytes) * drives.latency * US + nbytes / rate


def home_seconds(drives: DriveRates, work: HomeWrites | RowUpdates) -> Any:
    """Return the seconds to write rows at random, a block each."""
    return work.rows * drives.block_write_seconds


SECONDS: Mapping[type, Cost] = {
    RowReads: lambda drives, work: _read_seconds(drives, work.rows),
    RowUpdates: lambda drives, work: _read_seconds(drives, work.rows) + home_seconds(drives, work),
    RowLog: lambda drives, work: _stream_seconds(drives, work.rows * mean_bytes(work.entry_bytes), drives.sequential_write_rate),
    HomeWrites: home_seconds,
    Stream: lambda drives, work: _stream_seconds(
        drives, work.nbytes, drives.sequential_write_rate if work.write else drives.sequential_read_rate
    ),
    Persist: lambda drives, work: work.flags * drives.answer * US,
}


def build(machine: MachineKnobs) -> Device:
    """Return the striped drives as a device; their number must be chosen.

    Rates and power are linear in the number of drives.
    """
    drive, count = assumed_part(machine, "ssd", DRIVES[machine.ssd], DRIVES.kind, machine.ssd), machine.num_ssds or 1

    def pace(iops: Constant, rate: Constant) -> float:
        fastest = max(1 / (iops.value * count), BLOCK / (rate.value * GB * count))
        return max(fastest, drive.software.value * US / drive.threads.value)

    rates = DriveRates(
        block_read_seconds=pace(drive.read_iops, drive.sequential_read_rate),
        block_write_seconds=pace(drive.write_iops, drive.sequential_write_rate),
        latency=drive.latency.value,
        answer=drive.latency.value + drive.software.value,
        in_flight=_in_flight(drive, machine),
        sequential_read_rate=drive.sequential_read_rate.value * GB * count,
        sequential_write_rate=drive.sequential_write_rate.value * GB * count,
    )
    return Device(
        name="ssd",
        title=f"SSD, {count} x {machine.ssd}",
        helps="more drives, or a larger row cache, would shorten it",
        rates=rates,
        seconds=SECONDS,
        idle_watts=count * drive.idle.value,
        busy_watts=count * (drive.active.value - drive.idle.value),
        bill=(BillItem(DRIVES.kind, machine.ssd, count, drive.price, drive.capacity.value),),
        constants=fields_of(drive),
    )


def _in_flight(drive: Drive, machine: MachineKnobs) -> float:
    """Return the number of reads in flight.

    A page fault holds its thread until the block has arrived; a queue holds no thread.
    """
    if not drive.depth.value:
        return inf
    return drive.threads.value if machine.ssd_software == "mmap" else (machine.num_ssds or 1) * drive.depth.value


DEVICE = DeviceKind(
    "SSD",
    build,
    lambda: {name: fields_of(drive) for name, drive in DRIVES.items()},
    knob_names=("ssd", "num_ssds", "ssd_software", "prices"),
    copies=nodes,
    kinds=("drive",),
)
