"""Measure a drive without the page cache: random and long accesses in a scratch file."""

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
from .timing import Timing, timing_of

BLOCK_BYTES, LONG_BYTES = 4096, 2**20  # bytes of an access at random, and of a long one
SCRATCH_BYTES, MIN_FREE_BYTES = 2**30, 3 * 2**30  # bytes of the scratch file, and free bytes required
DEPTHS = (1, 4, 16, 64)
ACCESSES, ROUNDS = 2000, 3
DIRECT = getattr(os, "O_DIRECT", 0)


@dataclass(frozen=True)
class MeasuredDrive:
    """Constants of a drive by key, timings by access, and notes.

    There are no constants or timings if the drive could not be measured; a note then says why.
    """

    figures: dict[str, MeasuredFigure]
    timings: dict[str, Timing]
    notes: tuple[str, ...]


def measure_drive(folder: Path, threads: int, size: int = SCRATCH_BYTES, rounds: int = ROUNDS) -> MeasuredDrive:
    """Measure the drive of a folder, without the page cache.

    If that is impossible, the result has no constants, and a note says why.
    """
    if reason := _obstacle(folder):
        return MeasuredDrive({}, {}, (reason,))
    with _scratch_file(folder, size) as path:
        times = {name: [access() for _ in range(rounds)] for name, access in _accesses(path, size).items()}
    timings = {name: timing_of(seconds) for name, seconds in times.items()}
    return MeasuredDrive(_figures(timings, threads, folder), timings, ())


def _obstacle(folder: Path) -> str:
    """Return why the drive of a folder cannot be measured, "" where it can be."""
    file_system = os.statvfs(folder)
    if file_system.f_bavail * file_system.f_frsize < MIN_FREE_BYTES:
        return f"{folder} has less than {MIN_FREE_BYTES // 2**30} GiB free: its drive is not measured."
    if not DIRECT:
        return "This system has no direct I/O: the drive is not measured."
    path = folder / ".emberpool-direct"
    try:
        with _open_file(path, os.O_RDWR | os.O_CREAT | DIRECT) as file:
            os.pwrite(file, mmap.mmap(-1, BLOCK_BYTES), 0)
    except OSError as error:
        return f"Direct I/O is refused in {folder} ({error.strerror}): the drive is not measured."
    finally:
        path.unlink(missing_ok=True)
    return ""


@contextmanager
def _open_file(path: Path, flags: int) -> Iterator[int]:
    file = os.open(path, flags, 0o600)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def _scratch_file(folder: Path, size: int) -> Iterator[Path]:
    """Give a file of `size` incompressible bytes, and delete the file however the block ends."""
    path = folder / ".emberpool-scratch"
    try:
        block = mmap.mmap(-1, LONG_BYTES)
        block.write(np.random.default_rng(1).bytes(LONG_BYTES))
        with _open_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | DIRECT) as file:
            for offset in range(0, size, LONG_BYTES):
                os.pwrite(file, block, offset)
            os.fsync(file)
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _accesses(path: Path, size: int) -> dict[str, Callable[[], float]]:
    """Return by access a function that measures it once, in seconds of one access."""
    accesses: dict[str, Callable[[], float]] = {
        "long reads": lambda: _long_access_seconds(path, size, write=False),
        "long writes": lambda: _long_access_seconds(path, size, write=True),
        "flush": lambda: _flush_seconds(path),
        "held pages": lambda: _cached_page_seconds(path),
    }
    for depth in DEPTHS:
        accesses[f"reads at depth {depth}"] = lambda depth=depth: _random_access_seconds(path, size, depth, write=False)  # type: ignore[misc]
        accesses[f"writes at depth {depth}"] = lambda depth=depth: _random_access_seconds(path, size, depth, write=True)  # type: ignore[misc]
    return accesses


def _long_access_seconds(path: Path, size: int, write: bool) -> float:
    block = mmap.mmap(-1, LONG_BYTES)
    with _open_file(path, (os.O_WRONLY if write else os.O_RDONLY) | DIRECT) as file:
        start_time = perf_counter()
        for offset in range(0, size, LONG_BYTES):
            _ = os.pwrite(file, block, offset) if write else os.preadv(file, [block], offset)
        if write:
            os.fsync(file)
        return (perf_counter() - start_time) / (size / LONG_BYTES)


def long_accesses(path: Path, size: int) -> tuple[float, float]:
    """Return the seconds of writing and flushing a new file, and of reading it back.

    The file has `size` bytes; neither access uses the page cache.
    """
    num_blocks = size / LONG_BYTES
    return num_blocks * _long_access_seconds(path, size, write=True), num_blocks * _long_access_seconds(path, size, write=False)


def _random_access_seconds(path: Path, size: int, depth: int, write: bool) -> float:
    """Return the seconds between accesses of `depth` threads, each waiting for its own."""
    places = np.random.default_rng(depth).integers(0, size // BLOCK_BYTES, (depth, max(20, ACCESSES // depth))) * BLOCK_BYTES

    def work(row: list[int]) -> None:
        block = mmap.mmap(-1, BLOCK_BYTES)
        for offset in row:
            _ = os.pwrite(file, block, offset) if write else os.preadv(file, [block], offset)

    with _open_file(path, (os.O_WRONLY if write else os.O_RDONLY) | DIRECT) as file, ThreadPoolExecutor(depth) as pool:
        start_time = perf_counter()
        list(pool.map(work, places.tolist()))
        return (perf_counter() - start_time) / places.size


def _flush_seconds(path: Path, count: int = 20) -> float:
    """Return the median seconds of a small write with its flush."""
    block, times = mmap.mmap(-1, BLOCK_BYTES), []
    with _open_file(path, os.O_WRONLY | DIRECT) as file:
        for number in range(count):
            start_time = perf_counter()
            os.pwrite(file, block, number * BLOCK_BYTES)
            os.fsync(file)
            times.append(perf_counter() - start_time)
    return median(times)


def _cached_page_seconds(path: Path, count: int = 2000) -> float:
    """Return the seconds of reading a cached page: the software's part of an access."""
    block = mmap.mmap(-1, BLOCK_BYTES)
    with _open_file(path, os.O_RDONLY) as file:
        os.preadv(file, [block], 0)
        start_time = perf_counter()
        for _ in range(count):
            os.preadv(file, [block], 0)
        return (perf_counter() - start_time) / count


def _figures(timings: dict[str, Timing], threads: int, folder: Path) -> dict[str, MeasuredFigure]:
    """Return the drive's constants: latency of a lone read, best rates, depth of the best."""
    reads, writes = ([timings[f"{kind} at depth {depth}"].seconds for depth in DEPTHS] for kind in ("reads", "writes"))
    lone_read = max(timings["reads at depth 1"].seconds - timings["held pages"].seconds, 1e-6)
    file_system = os.statvfs(folder)

    def figure(constant: float, name: str, note: str) -> MeasuredFigure:
        margin = min(timings[name].spread + 0.02, 0.9)
        return MeasuredFigure(constant, constant * (1 - margin), constant * (1 + margin), note)

    best_depth = DEPTHS[int(np.argmin(reads))]
    capacity = file_system.f_blocks * file_system.f_frsize / GB
    return {
        "read-latency": figure(lone_read / US, "reads at depth 1", "4 KiB at random, one at a time, less the software's part"),
        "4-KiB-read-rate": figure(1 / min(reads), f"reads at depth {best_depth}", f"4 KiB at random, {best_depth} at a time"),
        "4-KiB-write-rate": figure(1 / min(writes), "writes at depth 64", "4 KiB at random, the best of 1 to 64 at a time"),
        "sequential-read": figure(LONG_BYTES / timings["long reads"].seconds / GB, "long reads", "1 MiB after 1 MiB"),
        "sequential-write": figure(
            LONG_BYTES / timings["long writes"].seconds / GB, "long writes", "1 MiB after 1 MiB, flushed at the end"
        ),
        "accesses-in-flight": MeasuredFigure(max(1.0, lone_read / min(reads)), 1.0, 64.0, "those that the best read rate takes"),
        "software-per-access": figure(timings["held pages"].seconds / US, "held pages", "4 KiB that memory holds"),
        "software-threads": MeasuredFigure(float(threads), float(threads), float(threads), "cores"),
        "capacity": MeasuredFigure(capacity, capacity, capacity, "of the file system"),
    }
