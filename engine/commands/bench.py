"""`bench`: our speed beside whichever peers are installed, as ratios measured in one run."""

import argparse
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from ..errors import BadInput, nearest
from . import output
from .parser import Subparsers

Row = dict[str, Any]
MEASURED = ("ours", "peer", "ratio", "passed", "equal_results")


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("bench", help="measure speed beside installed peers")
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks such as P4; without any, all")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON; - for standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Run the benchmarks, one after the other; returns the exit status."""
    found = benchmarks()
    for name in arguments.names:
        if name not in found:
            raise BadInput(f"benchmark {name!r} is not known; {nearest(name, tuple(found))}")
    rows = [measured(found[name]) for name in arguments.names or found]
    output.write_json_or(arguments.json, rows, table(rows))
    return 0


def benchmarks() -> dict[str, Any]:
    """Return the benchmarks of this checkout by name; raises BadInput where there are none."""
    if find_spec("benchmarks") is None:
        raise BadInput("The benchmarks live in a checkout's benchmarks folder; run this command at its top.")
    modules = (module.name for module in iter_modules(import_module("benchmarks").__path__) if module.name.startswith("p"))
    found = (import_module(f"benchmarks.{name}").BENCHMARK for name in sorted(modules))
    return {one.name: one for one in found}


def measured(benchmark: Any) -> Row:
    """Run one benchmark; without its peer, all that was measured is null."""
    row = {field: getattr(benchmark, field) for field in ("name", "title", "peer_name", "target", "stretch")}
    if benchmark.needs and find_spec(benchmark.needs) is None:
        return row | dict.fromkeys(MEASURED)
    ours, peer, equal = benchmark.run()
    ratio = peer / ours
    return row | dict(zip(MEASURED, (ours, peer, ratio, bool(equal and ratio >= benchmark.target), bool(equal)), strict=True))


def table(rows: Sequence[Row]) -> str:
    """Write the rows for people."""
    lines = [f"{'':8} {'benchmark':42} {'peer':20} {'ratio':>8} {'target':>8}  verdict"]
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}x"
        verdict = {True: "pass", False: "FAIL", None: "peer not installed: benchmarks/requirements.txt"}[row["passed"]]
        lines.append(f"{row['name']:8} {row['title']:42} {row['peer_name']:20} {ratio:>8} {row['target']:>7.3g}x  {verdict}")
    return "\n".join(lines) + "\n"
