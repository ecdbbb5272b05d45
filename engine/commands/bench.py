"""`bench`: Emberpool's speed compared with installed peers, as ratios measured in one run."""

import argparse
import os
import platform
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from importlib.util import find_spec
from pkgutil import iter_modules
from time import perf_counter
from typing import Any

from threadpoolctl import threadpool_info

from ..core.arithmetic import total
from ..errors import BadInput, nearest_hint
from . import output
from .parser import Subparsers

Row = dict[str, Any]
MEASURED_FIELDS = ("ours", "peer", "ratio", "passed", "equal_results", "busy", "environment")
MIN_PROCESSOR_SHARE = 0.8  # below it, another process has taken the processor from a row: its seconds say little
MAX_LOAD = 1.0  # processes that wait for a processor before the first row
PACKAGES = ("numpy", "numba", "torch", "libcachesim", "simpy")


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("bench", help="measure speed beside installed peers")
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks such as P4; without any, all")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON; - for standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Run the benchmarks, one after the other; returns the exit status."""
    known_benchmarks = benchmarks()
    for name in arguments.names:
        if name not in known_benchmarks:
            raise BadInput(f"benchmark {name!r} is not known; {nearest_hint(name, tuple(known_benchmarks))}")
    is_loaded = os.getloadavg()[0] > MAX_LOAD
    rows = [benchmark_row(known_benchmarks[name], is_loaded) for name in arguments.names or known_benchmarks]
    output.write_json_or(arguments.json, rows, table(rows))
    return 0


def benchmarks() -> dict[str, Any]:
    """Return the benchmarks of this checkout by name; raises BadInput where there are none."""
    if find_spec("benchmarks") is None:
        raise BadInput(
            "The benchmarks are only in a checkout's folder benchmarks; run this command from the checkout's top folder."
        )
    modules = (module.name for module in iter_modules(import_module("benchmarks").__path__) if module.name.startswith("p"))
    files = [import_module(f"benchmarks.{name}") for name in sorted(modules)]
    declared = [benchmark for file in files for benchmark in getattr(file, "BENCHMARKS", ()) or (file.BENCHMARK,)]
    return {benchmark.name: benchmark for benchmark in declared}


def benchmark_row(benchmark: Any, is_loaded: bool = False) -> Row:
    """Run one benchmark and return its row.

    Without its peer, measured fields are null. A row is `busy` if other processes loaded the computer before the benchmark, or
    used much of the processor during the benchmark.
    """
    row = {field: getattr(benchmark, field) for field in ("name", "title", "peer_name", "target", "stretch")}
    if benchmark.needs and find_spec(benchmark.needs) is None:
        return row | dict.fromkeys(MEASURED_FIELDS)
    wall, processor = perf_counter(), _processor_seconds()
    own_figure, peer_figure, equal = benchmark.run()
    share = (_processor_seconds() - processor) / (perf_counter() - wall)
    ratio = peer_figure / own_figure
    is_busy = is_loaded or (benchmark.clock == "processor" and share < MIN_PROCESSOR_SHARE)
    passed = bool(equal and ratio >= benchmark.target)
    return row | dict(
        zip(MEASURED_FIELDS, (own_figure, peer_figure, ratio, passed, bool(equal), bool(is_busy), environment()), strict=True)
    )


def _processor_seconds() -> float:
    """Return the processor seconds of this process and of the processes that it started and that have ended."""
    return total(os.times()[:4])


def environment() -> str:
    """Return a text on Python, packages and the kernels of loaded BLAS libraries.

    The libraries of peers are included.
    """
    kernels = {f"{pool['prefix']} {pool.get('architecture', '')}".strip() for pool in threadpool_info()}
    return ", ".join([f"Python {platform.python_version()}", *filter(None, map(_version, PACKAGES)), *sorted(kernels)])


def _version(package: str) -> str:
    try:
        return f"{package} {package_version(package)}"
    except PackageNotFoundError:
        return ""


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a table for people, each with its verdict."""
    lines = [f"{'':11} {'benchmark':42} {'peer':20} {'ratio':>8} {'target':>8}  verdict"]
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}x"
        lines.append(
            f"{row['name']:11} {row['title']:42} {row['peer_name']:20} {ratio:>8} {row['target']:>7.3g}x  {verdict(row)}"
        )
    measured = [row["environment"] for row in rows if row["environment"]]
    return "\n".join([*lines, *(f"Measured with {text}." for text in measured[-1:])]) + "\n"


def verdict(row: Row) -> str:
    """Return a row's verdict: whether results are equal, and whether the target is met."""
    if row["passed"] is None:
        return "peer not installed: benchmarks/requirements.txt"
    equal, met = "equal" if row["equal_results"] else "DIFFERENT", "met" if row["ratio"] >= row["target"] else "missed"
    return f"{equal}, {'not measured: busy' if row['busy'] else met}"
