"""Memory of NUMA nodes that have no cores: latency, rates, and latency under load.

Under Linux, CXL expanders are such nodes.
"""

import ctypes
import mmap
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from errno import ENOSYS
from itertools import cycle
from pathlib import Path
from platform import machine
from statistics import median
from threading import Barrier, Event
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import catalog
from ..core.arithmetic import total
from ..core.figures import figure, percent
from ..core.part_files.curves import LatencyPoints
from ..hardware.concurrency import LINE
from ..units import GB, NS
from .fitted import MeasuredFigure
from .machine_limits import cache_bytes, free_bytes
from .memory import (
    BY_ALL,
    BY_ONE,
    CHAIN,
    MEMORY_TIMES,
    READS,
    ROW_BYTES,
    MemoryArrays,
    follow_chain,
    memory_arrays,
    memory_kernels,
    sum_rows,
)
from .part_files import NEAREST
from .timing import Timing, time_kernels, timing_of

NODES = Path("/sys/devices/system/node")
MBIND, MOVE_PAGES = {"x86_64": 237, "aarch64": 235}, {"x86_64": 279, "aarch64": 239}  # system calls by processor
BIND_POLICY, MOST_NODES, WORD = 2, 1024, 64  # MPOL_BIND; bits of a mask of nodes, and of one of its words
PAGES = 64  # number of pages whose node is checked
FREE_MEMORY_SHARE, LEAST_CACHES = 0.25, 2.0  # share of a node's free memory to use; the smallest array over the last cache
CHUNKS = 10  # chunks of a reader's rows; after each the reader checks for the chain's end
MIN_RISE = 1.001  # least ratio of successive points of a curve
LEAST_NS = 1.0  # least latency of a link


class MemoryNode(NamedTuple):
    """A NUMA node with memory and without cores.

    number: the node's number. nbytes: bytes of its memory. free_bytes: the free bytes of its memory.
    """

    number: int
    nbytes: float
    free_bytes: float


@dataclass(frozen=True)
class MeasuredNodes:
    """The measured expander, and notes on all nodes.

    figures: the expander's constants by key; empty if no node could be measured.
    curve: its latency under load.
    timings: all timings by name.
    notes: a sentence or several for each node.
    """

    figures: dict[str, MeasuredFigure]
    curve: LatencyPoints | None
    timings: dict[str, Timing]
    notes: tuple[str, ...]


class NodeFigures(NamedTuple):
    """The figures of one node.

    latency: seconds of a read without other load.
    best_rate: the best rate [B/s].
    points: rates [B/s] of all cores, and latencies [s] of a chain read at the same time.
    timings: all timings by name.
    """

    latency: float
    best_rate: float
    points: list[tuple[float, float]]
    timings: dict[str, Timing]


def memory_nodes() -> list[MemoryNode]:
    """Return the NUMA nodes that have memory and no cores, by number."""
    nodes = []
    for folder in NODES.glob("node[0-9]*"):
        with suppress(OSError, ValueError, KeyError):
            lines = (folder / "meminfo").read_text(encoding="ascii").splitlines()
            sizes = {line.split()[2].rstrip(":"): 1024.0 * int(line.split()[3]) for line in lines if line.endswith("kB")}
            if sizes["MemTotal"] > 0 and not (folder / "cpulist").read_text(encoding="ascii").strip():
                nodes.append(MemoryNode(int(folder.name[len("node") :]), sizes["MemTotal"], sizes["MemFree"]))
    return sorted(nodes)


def measure_nodes(cores: int, rounds: int) -> MeasuredNodes:
    """Measure each node without cores; the first measured node becomes the expander part.

    Notes describe the other nodes.
    """
    notes: list[str] = []
    part = MeasuredNodes({}, None, {}, ())
    for node in memory_nodes():
        try:
            arrays, doubt = node_arrays(node, cores)
            timed = measured_node(arrays, rounds)
        except OSError as error:
            notes.append(f"NUMA node {node.number} has memory and no cores, but it is not measured: {error.strerror}.")
            continue
        role = "measured as an expander" if not part.figures else "not written as a part, which is that of the node above"
        notes += [
            f"NUMA node {node.number} has {figure(node.nbytes / GB, 'GB')} and no cores; {role}: {_summary(timed)}.",
            *doubt,
        ]
        if not part.figures:
            timings = {f"node {node.number}: {name}": node_timing for name, node_timing in timed.timings.items()}
            part = MeasuredNodes(node_constants(node, timed), latency_curve(node, timed), timings, ())
    return MeasuredNodes(part.figures, part.curve, part.timings, tuple(notes))


def node_arrays(node: MemoryNode, cores: int) -> tuple[MemoryArrays, tuple[str, ...]]:
    """Return arrays in a node's memory, and sentences that doubt whether they lie there.

    Raises OSError with the reason.
    """
    nbytes = int(min(MEMORY_TIMES * cache_bytes(), FREE_MEMORY_SHARE / 2 * min(node.free_bytes, free_bytes())))
    if nbytes < LEAST_CACHES * cache_bytes():
        raise OSError(0, "too little of its memory, or of the host's, is free for arrays that no cache holds")
    arrays = memory_arrays(nbytes, cores, placement=lambda array: bound_copy(array, node.number))
    try:
        places = {place for array in (arrays.chain, arrays.table) for place in page_nodes(array)}
    except OSError as error:
        return arrays, (f"The location of its arrays could not be checked ({error.strerror}).",)
    if places != {node.number}:
        raise OSError(0, "the system put its arrays elsewhere")
    return arrays, ()


def bound_copy(array: NDArray[Any], node: int) -> NDArray[Any]:
    """Return a copy of an array with its pages on a node.

    Raises OSError if refused.
    """
    memory = mmap.mmap(-1, array.nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    copy = np.frombuffer(memory, dtype=array.dtype).reshape(array.shape)
    bind(copy, node)
    with suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)  # as NumPy asks for its own large arrays
    copy[:] = array
    return copy


def bind(array: NDArray[Any], node: int) -> None:
    """Bind the untouched pages of an array to a node; raises OSError if refused."""
    mask = (ctypes.c_ulong * (MOST_NODES // WORD))()
    mask[node // WORD] = 1 << node % WORD
    address, length = ctypes.c_void_p(array.ctypes.data), ctypes.c_ulong(array.nbytes)
    _system_call("binding memory to it", MBIND, address, length, BIND_POLICY, mask, ctypes.c_ulong(MOST_NODES + 1), 0)


def page_nodes(array: NDArray[Any]) -> set[int]:
    """Return the numbers of the nodes that hold an array's pages; raises OSError if unknown.

    PAGES pages, spread over the array, are checked.
    """
    count, page = min(PAGES, -(-array.nbytes // mmap.PAGESIZE)), mmap.PAGESIZE
    offsets = (array.nbytes // count * number // page * page for number in range(count))
    pages = (ctypes.c_void_p * count)(*(array.ctypes.data // page * page + offset for offset in offsets))
    status = (ctypes.c_int * count)()
    _system_call("asking where pages lie", MOVE_PAGES, 0, ctypes.c_ulong(count), pages, None, status, 0)
    return set(status)


def _system_call(purpose: str, numbers: dict[str, int], *arguments: Any) -> None:
    """Call the system by this processor's call number; raises OSError that names the purpose."""
    number = numbers.get(machine())
    if number is None:
        raise OSError(ENOSYS, f"{purpose} is not known on {machine()}")
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(ctypes.c_long(number), *arguments):
        code = ctypes.get_errno()
        raise OSError(code, f"{purpose} is refused ({os.strerror(code)})")


def reader_counts(cores: int) -> list[int]:
    """Return numbers of cores that read rows while a chain is read: 1, 2, 4, ...

    The last is all cores but one, as the chain takes one core.
    """
    return sorted({*(2**power for power in range(cores.bit_length()) if 2**power < cores), cores - 1} - {0})


def measured_node(arrays: MemoryArrays, rounds: int) -> NodeFigures:
    """Measure a chain, rows, and a chain while rows are read.

    Each round measures all three in turn.
    """
    kernels = memory_kernels(arrays)
    seconds: dict[str, list[float]] = {key: [] for key in kernels}
    waits: dict[int, list[float]] = {readers: [] for readers in reader_counts(len(arrays.rows))}
    rates: dict[int, list[float]] = {readers: [] for readers in waits}
    starts = np.random.default_rng(1).integers(0, len(arrays.chain) // 8, (rounds, len(waits))) * 8
    for number in range(rounds):
        for key, times in time_kernels({key: kernel for key, (kernel, _) in kernels.items()}, 1).items():
            seconds[key] += times
        for start, readers in zip(starts[number], waits, strict=True):
            wait, rate = beside_readers(arrays, readers, int(start))
            waits[readers].append(wait)
            rates[readers].append(rate)
    lone_timings = {key: timing_of(times) for key, times in seconds.items()}
    latency = lone_timings[CHAIN].seconds / kernels[CHAIN][1]
    points = [(LINE / latency, latency)] + [(median(rates[readers]), median(waits[readers])) for readers in waits]
    best_rate = max(*(kernels[key][1] / lone_timings[key].seconds for key in (BY_ONE, BY_ALL)), *(rate for rate, _ in points))
    loaded_timings = {f"chain beside {readers}": timing_of(times) for readers, times in waits.items()}
    return NodeFigures(latency, best_rate, points, lone_timings | loaded_timings)


def beside_readers(arrays: MemoryArrays, readers: int, start: int) -> tuple[float, float]:
    """Return seconds of a chain's read while cores read rows, and bytes/s of all reads.

    readers: the number of cores that read rows. start: the position where the chain begins.
    """
    ready, chain_ended = Barrier(readers + 1), Event()

    def read_rows(rows: NDArray[np.int64]) -> float:
        chunks = np.array_split(rows, CHUNKS)
        ready.wait()
        nbytes, start_time = 0, perf_counter()
        for chunk in cycle(chunks):
            sum_rows(arrays.table, chunk)
            nbytes += ROW_BYTES * len(chunk)
            if chain_ended.is_set():
                break
        return nbytes / (perf_counter() - start_time)

    with ThreadPoolExecutor(readers) as pool:
        try:
            work = [pool.submit(read_rows, rows) for rows in arrays.rows[:readers]]
            ready.wait()
            start_time = perf_counter()
            follow_chain(arrays.chain, start, READS)
            wait = (perf_counter() - start_time) / READS
        except BaseException:
            ready.abort()
            raise
        finally:
            chain_ended.set()
        return wait, total(reader.result() for reader in work) + LINE / wait


def latency_curve(node: MemoryNode, timed: NodeFigures) -> LatencyPoints | None:
    """Return a node's latencies [ns] at loads, as shares of its best rate.

    Return None where fewer than two loads rise.
    """
    points = rising_curve([(rate / timed.best_rate, wait / NS) for rate, wait in timed.points])
    if len(points) < 2:
        return None
    source = f"measured {date.today().isoformat()}: a chain of reads on NUMA node {node.number} beside cores that read rows"
    return LatencyPoints(tuple(load for load, _ in points), tuple(wait for _, wait in points), "measured", source)


def rising_curve(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points whose load and reads in flight exceed the previous point's."""
    rising_points = [points[0]]
    for load, wait in points[1:]:
        if load > MIN_RISE * rising_points[-1][0] and load * wait > MIN_RISE * rising_points[-1][0] * rising_points[-1][1]:
            rising_points.append((load, wait))
    return rising_points


def node_constants(node: MemoryNode, timed: NodeFigures) -> dict[str, MeasuredFigure]:
    """Return an expander's constants by key.

    Link and memory can only be measured together. The memory's latency is taken from the catalogue's part, and the link has the
    rest.
    """
    nearest = catalog.part_content("expander", NEAREST["expander"])
    catalogue_latency = float(nearest["memory-latency"]["value"])
    memory = min(catalogue_latency, max(timed.latency / NS - LEAST_NS, LEAST_NS))
    latency_margin, rate_margin = (min(timed.timings[name].spread + 0.02, 0.9) for name in (CHAIN, BY_ALL))
    link = max(timed.latency / NS - memory, LEAST_NS)
    total_latency = figure(timed.latency / NS, "ns")
    capacity, rate = node.nbytes / GB, timed.best_rate / GB
    watts = [capacity / nearest["capacity"]["value"] * nearest["memory-power"][key] for key in ("value", "low", "high")]
    rate_note = "random rows of 512 B by cores at once: the slower of link and memory"
    rates = MeasuredFigure(rate, rate * (1 - rate_margin), rate * (1 + rate_margin), rate_note)
    part = f"of {total_latency} in all, less {figure(memory, 'ns')} for the memory; never below {figure(LEAST_NS, 'ns')}"
    clip_note = f"{NEAREST['expander']}'s is more than the {total_latency} of memory and link together"
    clipped = (
        {"memory-latency": MeasuredFigure(memory, memory, memory, clip_note, "unsourced")} if memory < catalogue_latency else {}
    )
    return {
        "capacity": MeasuredFigure(capacity, capacity, capacity, f"MemTotal of NUMA node {node.number}"),
        "memory-rate": rates,
        "link-rate": rates,
        "link-latency": MeasuredFigure(link, link * (1 - latency_margin), link * (1 + latency_margin), part, "derived"),
        "memory-power": MeasuredFigure(watts[0], watts[1], watts[2], f"as much a GB as {NEAREST['expander']}", "unsourced"),
        **clipped,
    }


def _summary(timed: NodeFigures) -> str:
    """Return a node's rate, its latency, and how far that rises beside readers, in words."""
    points = rising_curve(timed.points)
    text = f"{figure(timed.best_rate / GB, 'GB/s')} of random rows, {figure(timed.latency / NS, 'ns')} alone"
    if len(points) < 2:
        return text
    rate, wait = points[-1]
    return f"{text} and {figure(wait / NS, 'ns')} at {percent(rate / timed.best_rate)} of that rate"
