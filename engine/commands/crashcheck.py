"""`crashcheck`: explore the states after power losses, and judge the recovery from each.

It can also break the log protocol on purpose, to test whether the break is caught.
"""

import argparse
from functools import partial
from typing import Any

from ..core.figures import count, figure
from ..crashcheck import bugs, replay_line
from ..crashcheck.exploration import check
from ..crashcheck.report import CrashReport
from ..persistence.models import domain
from . import output, progress_bar
from .parser import FAILED, INTERRUPTED, NO_VERDICT, Subparsers, whole_number

DEFAULT_STATES = 40_000
MAX_SHOWN = 10


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("crashcheck", help="explore the crash states of the log protocol")
    states = partial(whole_number, what="states", most=100_000_000)
    parser.add_argument(
        "--states", type=states, default=DEFAULT_STATES, metavar="N", help=f"unique states to visit, about ({DEFAULT_STATES})"
    )
    parser.add_argument("--model", metavar="NAME", help="check only this persistence model; without it, all models that are safe")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--broken", metavar="BUG", help="a seeded bug, or FILE.py:FUNCTION from a medium to a broken one")
    choice.add_argument("--ladder", action="store_true", help="how many seeded bugs each depth of exploration catches")
    parser.add_argument(
        "--replay",
        metavar="LINE",
        help="check one crash state again; with --broken FILE.py:FUNCTION, on the medium of that broken protocol",
    )
    seed = partial(whole_number, what="seed", most=999_999_999, least=0)
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="of the small runs' values and of what is sampled (0)")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON; - for standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Explore states, replay one, or count caught bugs; return the exit status.

    Return 3 for an inconsistent state, 1 for a state without verdict, else 0.
    """
    models = (arguments.model,) if arguments.model else None
    for name in models or ():
        domain(name)
    if arguments.replay:
        return _replay(arguments)
    if arguments.ladder:
        ladder = bugs.checkout_module("crashcheck.ladder")
        rows = [row.as_json() for row in ladder.ladder(tuple(bugs.seeded().values()), progress_bar.draw)]
        progress_bar.wipe()
        output.write_json_or(arguments.json, rows, ladder.table(rows))
        return 0
    if arguments.broken:
        bug = bugs.broken_protocol(arguments.broken)
        report = bugs.hunt(bug, models, seed=arguments.seed, on_progress=progress_bar.draw)
        evidence = report.caught_by(bug.evidence)
        catch = {"caught": bool(evidence), "expected": bug.evidence or None, "caught_by": evidence or None}
        return _tell(arguments, report, {"broken": bug.name} | catch)
    return _tell(arguments, check(arguments.states, models, arguments.seed, progress_bar.draw), {})


def _tell(arguments: argparse.Namespace, report: CrashReport, bug_fields: dict[str, Any]) -> int:
    progress_bar.wipe()
    output.write_json_or(arguments.json, report.as_json() | bug_fields, report_text(report, bug_fields))
    if report.interrupted:
        return INTERRUPTED
    return FAILED if report.inconsistent else NO_VERDICT if report.no_verdict else 0


def report_text(report: CrashReport, bug_fields: dict[str, Any]) -> str:
    """Return the report as lines for people."""
    lines = [
        f"{count(report.unique_states, 'unique state')} of {report.raw_states} at {count(report.points, 'point')} "
        f"in {figure(report.seconds, 's')}: {report.inconsistent} inconsistent.",
        f"{count(len(report.configurations), 'configuration')} under {', '.join(sorted(report.models))}; power lost "
        f"up to {report.depth} "
        f"times in a row; {count(report.resumed, 'run')} resumed to the end; {count(report.damaged, 'damage')}; "
        f"{count(report.refused, 'honest refusal')}.",
        report.not_explored(),
    ]
    if "caught" in bug_fields:
        lines.append(_catch(report, bug_fields))
    if report.no_verdict:
        lines.append(
            f"{count(report.no_verdict, 'state has', 'states have')} no verdict: it is not known whether their runs "
            "or recoveries end. Replay them:"
        )
        lines += [f"{state.line}\n    {state.problem}" for state in report.no_verdict_states[:MAX_SHOWN]]
    if report.interrupted:
        lines.append("Interrupted; run the command again to check the rest: the order of states is always the same.")
    lines += [f"{failure.line}\n    {failure.problem}" for failure in report.failures[:MAX_SHOWN]]
    if len(report.failures) > MAX_SHOWN:
        lines.append(f"and {count(len(report.failures) - MAX_SHOWN, 'more line')} in --json FILE.")
    return "\n".join(lines) + "\n"


def _catch(report: CrashReport, bug_fields: dict[str, Any]) -> str:
    """Return a sentence: whether a bug was caught, and by which evidence."""
    if bug_fields["caught"]:
        return f"{bug_fields['broken']}: caught by {bug_fields['caught_by']}."
    other_evidence = ", ".join(dict.fromkeys(failure.evidence for failure in report.failures))
    instead = f" by {bug_fields['expected']}, where it should be, but by {other_evidence}" if other_evidence else ""
    return f"{bug_fields['broken']}: not caught{instead}."


def _replay(arguments: argparse.Namespace) -> int:
    name = arguments.broken or replay_line.read_line(arguments.replay).bug
    bug = bugs.broken_protocol(name) if name else bugs.BrokenProtocol("")
    with bug.install():
        verdict = replay_line.replay(arguments.replay, bug.wrap)
    ending = "refused, which is honest here" if verdict.refused else f"consistent, at batch {verdict.batch}"
    verdict_text = verdict.problem or (f"no verdict: {verdict.no_verdict}" if verdict.no_verdict else ending)
    verdict_fields = {"line": arguments.replay, "problem": verdict.problem, "batch": verdict.batch, "refused": verdict.refused}
    output.write_json_or(arguments.json, verdict_fields | {"no_verdict": verdict.no_verdict}, f"{verdict_text}\n")
    return FAILED if verdict.problem else NO_VERDICT if verdict.no_verdict else 0
