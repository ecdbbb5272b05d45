"""`validate`: every claim of the presets, run and compared with its published value."""

import argparse
from collections.abc import Sequence

from ..scenario.presets import preset, preset_names
from ..validation.validate import ClaimVerdict, Gap, gaps, validate
from . import output
from .parser import Subparsers

FAILED = 3


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("validate", help="compare with published values")
    parser.add_argument("names", nargs="*", metavar="NAME", help="presets; without any, all that make claims")
    parser.add_argument("--json", metavar="FILE", help="write the claims as JSON; - for standard output")
    parser.add_argument("--gaps", action="store_true", help="compare estimates with full runs instead, for every preset")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Run the claims; returns 3 if one fails."""
    output.check(arguments.json)
    for name in arguments.names:
        preset(name)  # raises for one that is not known, before the first of them is run
    if arguments.gaps:  # facts about the estimate, which fail nothing
        found = [gap for name in arguments.names or preset_names() for gap in gaps(name)]
        output.write_json_or(arguments.json, [gap.as_json() for gap in found], gap_table(found))
        return 0
    verdicts = validate(arguments.names)
    output.write_json_or(arguments.json, [verdict.as_json() for verdict in verdicts], table(verdicts))
    return FAILED if any(verdict.passed is False for verdict in verdicts) else 0


def gap_table(found: Sequence[Gap]) -> str:
    """Write the gaps for people: preset, system, result, estimate, full run, how much more the estimate says."""
    lines = [f"{'preset':17} {'system':7} {'batches':>7}  {'result':20} {'estimate':>9} {'full run':>9} {'gap':>9}"]
    for gap in found:
        row = f"{gap.preset:17} {gap.system:7} {gap.batches:>7}  {gap.metric:20} {gap.estimate:>9.4g} {gap.full:>9.4g}"
        lines.append(f"{row} {gap.percent:>+7.2f} %")
    return "\n".join(lines) + "\n"


def table(verdicts: Sequence[ClaimVerdict]) -> str:
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
