"""Measuring a drive: blocks at random at several depths, and long reads and writes, past the page cache, in a scratch file."""

import mmap
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from ..units import GB, US
from .fitted import MeasuredFigure
from .timing import Timing, timing

BLOCK, LONG = 4096, 2**20  # bytes of an access at random, and of a long one
SIZE, LEAST_FREE = 2**30, 3 * 2**30  # bytes of the scratch file, and of the room that there must be
DEPTHS = (1, 4, 16, 64)
ACCESSES, ROUNDS = 2000, 3
DIRECT = getattr(os, "O_DIRECT", 0)


@dataclass(frozen=True)
class MeasuredDrive:
    """Constants of a drive by key, timings of its accesses, and notes; no constants where it could not be measured."""

    figures: dict[str, MeasuredFigure]
    timings: dict[str, Timing]
    notes: tuple[str, ...]


def measure_drive(folder: Path, threads: int, size: int = SIZE, rounds: int = ROUNDS) -> MeasuredDrive:
    """Measure the drive of a folder, past the page cache; a note says why where that cannot be."""
    if why := _impossible(folder):
        return MeasuredDrive({}, {}, (why,))
    with _scratch(folder, size) as path:
        times = {name: [one() for _ in range(rounds)] for name, one in _accesses(path, size).items()}
    timings = {name: timing(seconds) for name, seconds in times.items()}
    return MeasuredDrive(_figures(timings, threads, folder), timings, ())


def _impossible(folder: Path) -> str:
    """Return why the drive of a folder is not measured, "" where it can be."""
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize < LEAST_FREE:
        return f"{folder} has less than {LEAST_FREE // 2**30} GiB free: its drive is not measured."
    if not DIRECT:
        return "This system has no direct I/O: the drive is not measured."
    path = folder / ".emberpool-direct"
    try:
        with _opened(path, os.O_RDWR | os.O_CREAT | DIRECT) as file:
            os.pwrite(file, mmap.mmap(-1, BLOCK), 0)
    except OSError as error:
        return f"Direct I/O is refused in {folder} ({error.strerror}): the drive is not measured."
    finally:
        path.unlink(missing_ok=True)
    return ""


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    file = os.open(path, flags, 0o600)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def _scratch(folder: Path, size: int) -> Iterator[Path]:
    """Give a file of so many bytes that no drive can compress, and delete it however the block ends."""
    path = folder / ".emberpool-scratch"
    try:
        block = mmap.mmap(-1, LONG)
        block.write(np.random.default_rng(1).bytes(LONG))
        with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | DIRECT) as file:
            for at in range(0, size, LONG):
                os.pwrite(file, block, at)
            os.fsync(file)
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _accesses(path: Path, size: int) -> dict[str, Callable[[], float]]:
    """Return what measures each kind of access once, in seconds of one access."""
    found: dict[str, Callable[[], float]] = {
        "long reads": lambda: _in_turn(path, size, write=False),
        "long writes": lambda: _in_turn(path, size, write=True),
        "flush": lambda: _flushes(path),
        "held pages": lambda: _held_pages(path),
    }
    for depth in DEPTHS:
        found[f"reads at depth {depth}"] = lambda depth=depth: _at_random(path, size, depth, write=False)  # type: ignore[misc]
        found[f"writes at depth {depth}"] = lambda depth=depth: _at_random(path, size, depth, write=True)  # type: ignore[misc]
    return found


def _in_turn(path: Path, size: int, write: bool) -> float:
    block = mmap.mmap(-1, LONG)
    with _opened(path, (os.O_WRONLY if write else os.O_RDONLY) | DIRECT) as file:
        begun = perf_counter()
        for at in range(0, size, LONG):
            _ = os.pwrite(file, block, at) if write else os.preadv(file, [block], at)
        if write:
            os.fsync(file)
        return (perf_counter() - begun) / (size / LONG)


def long_accesses(path: Path, size: int) -> tuple[float, float]:
    """Return the seconds of writing a file of so many bytes anew with the flush, and of reading it, both past the page cache."""
    whole = size / LONG
    return whole * _in_turn(path, size, write=True), whole * _in_turn(path, size, write=False)


def _at_random(path: Path, size: int, depth: int, write: bool) -> float:
    """Return the seconds between accesses of so many threads, each of which waits for its own."""
    places = np.random.default_rng(depth).integers(0, size // BLOCK, (depth, max(20, ACCESSES // depth))) * BLOCK

    def work(row: list[int]) -> None:
        block = mmap.mmap(-1, BLOCK)
        for at in row:
            _ = os.pwrite(file, block, at) if write else os.preadv(file, [block], at)

    with _opened(path, (os.O_WRONLY if write else os.O_RDONLY) | DIRECT) as file, ThreadPoolExecutor(depth) as pool:
        begun = perf_counter()
        list(pool.map(work, places.tolist()))
        return (perf_counter() - begun) / places.size


def _flushes(path: Path, count: int = 20) -> float:
    """Return the median seconds of a small write with its flush."""
    block, times = mmap.mmap(-1, BLOCK), []
    with _opened(path, os.O_WRONLY | DIRECT) as file:
        for number in range(count):
            begun = perf_counter()
            os.pwrite(file, block, number * BLOCK)
            os.fsync(file)
            times.append(perf_counter() - begun)
    return median(times)


def _held_pages(path: Path, count: int = 2000) -> float:
    """Return the seconds of a read of a page that memory holds: the software's part of an access."""
    block = mmap.mmap(-1, BLOCK)
    with _opened(path, os.O_RDONLY) as file:
        os.preadv(file, [block], 0)
        begun = perf_counter()
        for _ in range(count):
            os.preadv(file, [block], 0)
        return (perf_counter() - begun) / count


def _figures(timings: dict[str, Timing], threads: int, folder: Path) -> dict[str, MeasuredFigure]:
    """Return the constants of the drive: what a lone read takes, the best rates, and the depth that reads need for theirs."""
    reads, writes = ([timings[f"{kind} at depth {depth}"].seconds for depth in DEPTHS] for kind in ("reads", "writes"))
    alone = max(timings["reads at depth 1"].seconds - timings["held pages"].seconds, 1e-6)
    room = os.statvfs(folder)

    def figure(value: float, name: str, note: str) -> MeasuredFigure:
        wide = min(timings[name].spread + 0.02, 0.9)
        return MeasuredFigure(value, value * (1 - wide), value * (1 + wide), note)

    best = DEPTHS[int(np.argmin(reads))]
    capacity = room.f_blocks * room.f_frsize / GB
    return {
        "read-latency": figure(alone / US, "reads at depth 1", "4 KiB at random, one at a time, less the software's part"),
        "4-KiB-read-rate": figure(1 / min(reads), f"reads at depth {best}", f"4 KiB at random, {best} at a time"),
        "4-KiB-write-rate": figure(1 / min(writes), "writes at depth 64", "4 KiB at random, the best of 1 to 64 at a time"),
        "sequential-read": figure(LONG / timings["long reads"].seconds / GB, "long reads", "1 MiB after 1 MiB"),
        "sequential-write": figure(
            LONG / timings["long writes"].seconds / GB, "long writes", "1 MiB after 1 MiB, flushed at the end"
        ),
        "accesses-in-flight": MeasuredFigure(max(1.0, alone / min(reads)), 1.0, 64.0, "those that the best read rate takes"),
        "software-per-access": figure(timings["held pages"].seconds / US, "held pages", "4 KiB that memory holds"),
        "software-threads": MeasuredFigure(float(threads), float(threads), float(threads), "cores"),
        "capacity": MeasuredFigure(capacity, capacity, capacity, "of the file system"),
    }
