"""`bench`: Emberpool's speed beside that of installed peers, as ratios measured in one run."""

import argparse
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from ..errors import BadInput, nearest_hint
from . import output
from .parser import Subparsers

Row = dict[str, Any]
MEASURED_FIELDS = ("ours", "peer", "ratio", "passed", "equal_results")


def add(commands: Subparsers) -> None:
    """Declare the command."""
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
    rows = [benchmark_row(known_benchmarks[name]) for name in arguments.names or known_benchmarks]
    output.write_json_or(arguments.json, rows, table(rows))
    return 0


def benchmarks() -> dict[str, Any]:
    """Return the benchmarks of this checkout by name; raises BadInput where there are none."""
    if find_spec("benchmarks") is None:
        raise BadInput(
            "The benchmarks are only in a checkout's folder benchmarks; run this command from the checkout's top folder."
        )
    modules = (module.name for module in iter_modules(import_module("benchmarks").__path__) if module.name.startswith("p"))
    declared = (import_module(f"benchmarks.{name}").BENCHMARK for name in sorted(modules))
    return {benchmark.name: benchmark for benchmark in declared}


def benchmark_row(benchmark: Any) -> Row:
    """Run one benchmark and return its row.

    Without its peer, measured fields are null.
    """
    row = {field: getattr(benchmark, field) for field in ("name", "title", "peer_name", "target", "stretch")}
    if benchmark.needs and find_spec(benchmark.needs) is None:
        return row | dict.fromkeys(MEASURED_FIELDS)
    own_figure, peer_figure, equal = benchmark.run()
    ratio = peer_figure / own_figure
    return row | dict(
        zip(
            MEASURED_FIELDS, (own_figure, peer_figure, ratio, bool(equal and ratio >= benchmark.target), bool(equal)), strict=True
        )
    )


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a table for people."""
    lines = [f"{'':8} {'benchmark':42} {'peer':20} {'ratio':>8} {'target':>8}  verdict"]
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}x"
        verdict = {True: "pass", False: "FAIL", None: "peer not installed: benchmarks/requirements.txt"}[row["passed"]]
        lines.append(f"{row['name']:8} {row['title']:42} {row['peer_name']:20} {ratio:>8} {row['target']:>7.3g}x  {verdict}")
    return "\n".join(lines) + "\n"
