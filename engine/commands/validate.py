"""`validate`: every claim of the presets, run and compared with its published value."""

import argparse
import json
from collections.abc import Sequence

from engine.commands import output
from engine.commands.parser import Subparsers
from engine.errors import BadKnob, nearest
from engine.presets import preset_names
from engine.validate import Verdict, validate

FAILED = 3


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("validate", help="compare with published values")
    parser.add_argument("names", nargs="*", metavar="NAME", help="presets; without any, all that make claims")
    parser.add_argument("--json", metavar="FILE", help="write the claims as JSON; - for standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Run the claims; returns 3 if one fails."""
    output.check(arguments.json)
    for name in arguments.names:
        if name not in preset_names():
            raise BadKnob(f"preset {name!r} is not known; {nearest(name, preset_names())}")
    verdicts = validate(arguments.names)
    if arguments.json:
        output.write(arguments.json, json.dumps([verdict.as_json() for verdict in verdicts], indent=1) + "\n")
    else:
        output.write(output.STANDARD, table(verdicts))
    return FAILED if any(verdict.passed is False for verdict in verdicts) else 0


def table(verdicts: Sequence[Verdict]) -> str:
    """Write the verdicts for people: published, ours, error, verdict, kind."""
    width = max((len(verdict.claim.title) for verdict in verdicts), default=0)
    lines = [f"{'preset':17} {'claim':{width}} {'published':>9} {'ours':>9} {'error':>8}  verdict"]
    for verdict in verdicts:
        published = "" if verdict.claim.published is None else f"{verdict.claim.published:.4g}"
        error = "" if verdict.error_percent is None else f"{verdict.error_percent:+.1f} %"
        passed = {True: "pass", False: "FAIL", None: "prediction"}[verdict.passed]
        row = f"{verdict.preset:17} {verdict.claim.title:{width}} {published:>9} {verdict.ours:>9.4g} {error:>8}"
        lines.append(f"{row}  {passed} ({verdict.claim.kind})")
    return "\n".join(lines) + "\n"
