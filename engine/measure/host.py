"""Measure this host: time operators and random memory reads, and fit constants of parts."""

import ctypes
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

from ..core.figures import count
from ..core.part_files.curves import LatencyPoints
from ..errors import BadInput
from ..hardware.concurrency import LINE
from ..units import GB, NS
from .drive import MeasuredDrive, measure_drive
from .fitted import MeasuredFigure, TimedOperator, fit_figures
from .machine_limits import cache_bytes, cores, cpu_name, free_bytes
from .memory import BY_ALL, BY_ONE, CHAIN, MEMORY_TIMES, memory_arrays, memory_kernels
from .numa_nodes import measure_nodes
from .operators import operators
from .power import measure_power
from .timing import Timing, busy_notes, cpu_times, time_kernels, timing_of

ROUNDS, QUICK_ROUNDS, PASSES, QUICK_PASSES = 7, 3, 3, 1
POWER_SIZE = 2048  # rows and columns of the matrices that keep all cores busy
GROUPS = {False: 24, True: 11}  # groups of operators, by whether the measurement is quick
MMAP_MAX, TRIM_THRESHOLD = -4, -1  # parameters of glibc's mallopt
KINDS: Mapping[str, tuple[str, ...]] = {
    "host": ("fp32-peak-a-core", "embedding-software-per-lookup", "EmbeddingBag-rate"),
    "host-software": (
        "GEMM-share-of-peak",
        "GEMM-extra-samples",
        "layer-launch",
        "lookup-of-a-table",
        "lookup-of-a-new-line",
        *(f"{name}-update-of-a-{amount}" for name in ("plain", "stateful") for amount in ("table", "lookup", "byte", "new-line")),
        "vector-products",
        "pair-of-vectors",
    ),
    "framework": ("training-loop",),
}
OnProgress = Callable[[float, str], None]  # takes the share that is done, and the activity


@dataclass(frozen=True)
class MeasuredHost:
    """A measured host.

    parts: constants by kind of part and key.
    timings: each operator's timing by name.
    description: the machine as text.
    notes: sentences on the measurement.
    curves: latency curves by kind of part.
    """

    parts: Mapping[str, Mapping[str, MeasuredFigure]]
    timings: Mapping[str, Timing]
    description: str
    notes: tuple[str, ...]
    curves: Mapping[str, LatencyPoints] = field(default_factory=dict)


def pytorch() -> Any:
    """Return PyTorch; raises BadInput where it is not installed."""
    try:
        torch = import_module("torch")
    except ImportError:
        raise BadInput(
            "PyTorch is not installed, but this command measures it; run `pip install -r requirements-measure.txt`."
        ) from None
    torch.sparse.check_sparse_tensor_invariants.disable()  # PyTorch warns unless this is set
    return torch


def keep_freed_memory() -> None:
    """Let the C library keep freed memory where the library can.

    Otherwise the system would provide new pages for each large tensor, and that time would count.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_MAX, 0)
        library.mallopt(TRIM_THRESHOLD, 2**31 - 1)
        import_module("torch").ones(2**27)  # reserve as much memory as operators take


def measure_host(
    quick: bool = False, on_progress: OnProgress = lambda share, activity: None, folder: Path | None = None
) -> MeasuredHost:
    """Measure this host, and the drive of a folder; raises BadInput without PyTorch."""
    torch = pytorch()
    keep_freed_memory()
    num_cores, passes = cores(), QUICK_PASSES if quick else PASSES
    start_times, process_start = cpu_times(), process_time()
    times: dict[str, list[float]] = {}
    kinds_and_amounts: dict[str, tuple[str, dict[str, float]]] = {}
    num_groups = passes * GROUPS[quick]
    for pass_number in range(passes):  # passes some time apart: a shared machine changes by the minute
        for group_number, group in enumerate(operators(torch, num_cores, quick)):
            for name, seconds in time_kernels({operator.name: operator.kernel for operator in group}, ROUNDS).items():
                times.setdefault(name, []).extend(seconds)
            kinds_and_amounts |= {operator.name: (operator.kind, operator.amounts) for operator in group}
            on_progress(min(0.95, (pass_number * GROUPS[quick] + group_number + 1) / num_groups), group[0].kind)
    timings = {name: timing_of(seconds) for name, seconds in times.items()}
    timed = [TimedOperator(*kinds_and_amounts[name], operator_timing) for name, operator_timing in timings.items()]
    host_constants = fit_figures(timed, num_cores)
    memory, random = _measure_memory(ROUNDS * passes)
    on_progress(0.96, "NUMA nodes and watts")
    nodes = measure_nodes(num_cores, QUICK_ROUNDS if quick else ROUNDS)
    power = measure_power(partial(torch.mm, *(torch.ones(POWER_SIZE, POWER_SIZE),) * 2), quick)
    on_progress(0.97, "drive")
    drive = measure_drive(folder, num_cores) if folder else MeasuredDrive({}, {}, ())
    on_progress(1.0, "drive")
    notes = tuple(busy_notes(start_times, cpu_times(), process_time() - process_start, timings | random | nodes.timings))
    parts = {kind: {key: host_constants[key] for key in keys} for kind, keys in KINDS.items()}
    parts["host"] |= {
        name: MeasuredFigure(float(count), float(count), float(count), "as this machine says")
        for name, count in (("physical-cores", num_cores), ("sockets", 1), ("DRAM-channels", 1))
    }
    parts["host"]["DRAM-lines-in-flight-a-thread"] = memory.pop("lines")
    parts["host"] |= power.figures
    machine = f"{cpu_name()}, {count(num_cores, 'core')}; PyTorch {torch.__version__}"
    optional_parts = {kind: constants for kind, constants in (("drive", drive.figures), ("expander", nodes.figures)) if constants}
    all_timings = timings | random | nodes.timings | drive.timings
    curves = {"expander": nodes.curve} if nodes.curve else {}
    notes += (*drive.notes, *nodes.notes, *power.notes)
    return MeasuredHost({**parts, "dram": memory, **optional_parts}, all_timings, machine, notes, curves)


def _measure_memory(rounds: int) -> tuple[dict[str, MeasuredFigure], dict[str, Timing]]:
    """Measure a waiting read and random rows; return the constants of one memory channel."""
    nbytes = int(min(MEMORY_TIMES * cache_bytes(), free_bytes() / 4))
    kernels = memory_kernels(memory_arrays(nbytes, cores()))
    times = time_kernels({name: kernel for name, (kernel, _) in kernels.items()}, rounds)
    timings = {name: timing_of(seconds) for name, seconds in times.items()}
    by_one, by_all = (kernels[name][1] / timings[name].seconds for name in (BY_ONE, BY_ALL))
    latency = timings[CHAIN].seconds / kernels[CHAIN][1]

    def figure(constant: float, name: str, note: str) -> MeasuredFigure:
        margin = min(timings[name].spread + 0.02, 0.9)
        return MeasuredFigure(constant, constant * (1 - margin), constant * (1 + margin), note)

    constants = {
        "channel-peak": figure(by_all / GB, BY_ALL, "random rows of 512 B by all cores at once, as one channel"),
        "random-line-efficiency": MeasuredFigure(1.0, 0.999, 1.0, "the channel's rate is that of random rows"),
        "random-latency": figure(latency / NS, CHAIN, "a chain of reads over the whole array"),
        "lines": figure(max(1.0, by_one * latency / LINE), BY_ONE, "random rows of 512 B by one core, by the latency"),
    }
    return constants, timings
