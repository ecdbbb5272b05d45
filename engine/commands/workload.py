"""`workload`: the generator's figures beside those of real click logs."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from ..validation.workload_figures import Figure, acceptance
from . import output
from .parser import Subparsers

FAILED = 3


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("workload", help="compare the generator with real click logs")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON; - for standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Compute the figures; returns 3 if one lies outside its tolerance."""
    output.check(arguments.json)
    figures = list(acceptance())
    rows = [asdict(figure) | {"passed": figure.passed} for figure in figures]
    output.write_json_or(arguments.json, rows, table(figures))
    return 0 if all(figure.passed for figure in figures) else FAILED


def table(figures: Sequence[Figure]) -> str:
    """Write the figures for people, under the name of their group; all are percentages."""
    lines = []
    for group, members in groupby(figures, lambda figure: figure.group):
        lines.append(f"{group} [%]")
        for one in members:
            verdict = "pass" if one.passed else "FAIL"
            lines.append(f"  {one.name:20} ours {one.ours:8.2f}   published {one.published:14} {verdict}")
    missed = sum(not figure.passed for figure in figures)
    lines.append(f"{len(figures)} figures, {missed} outside their tolerance.")
    return "\n".join(lines) + "\n"
