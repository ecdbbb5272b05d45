"""`decide`: find the cheapest machine that trains the model and meets a requirement."""

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..analysis.verdict.allowed import SEARCHED_KINDS, narrow_parts
from ..analysis.verdict.decide import SystemRow, Verdict, verdicts
from ..analysis.verdict.outlook.outlook import NO_OUTLOOK, Outlook, outlook
from ..analysis.verdict.question import VerdictQuestion
from ..analysis.verdict.report.asked import link_of, read_question
from ..analysis.verdict.report.content import verdict_content, verdict_table
from ..analysis.verdict.report.gpus import gpu_lines
from ..analysis.verdict.report.rent import rent_sentence
from ..analysis.verdict.report.sentences import (
    draw_share_sentence,
    full_use_sentence,
    headline,
    inputs_sentence,
    machine_words,
    notes,
    popularity_words,
    reason_sentence,
    tipping_words,
    unavailable_sentence,
    unstruck_words,
)
from ..analysis.verdict.report.software import (
    loop_sentence,
    model_choice_sentence,
    other_software_sentence,
    software_state,
    unwritten_sentence,
)
from ..analysis.verdict.requirement import OBJECTIVES
from ..analysis.verdict.space import KNOBS, RESET_KNOBS
from ..analysis.verdict.stacks import FRAMEWORK, SoftwareChoice
from ..core.figures import count, figure
from ..errors import BadInput
from ..hardware.money.owned import owned_parts_text, read_owned
from ..hardware.software import LAYERS
from ..insight.quantities import POWER, THROUGHPUT, number
from ..insight.running_costs import assumptions
from ..results import csv_table
from ..scenario.knobs import parse
from ..scenario.presets import DEFAULT
from ..scenario.scenario import KNOBS as ALL_KNOBS
from ..scenario.sequences import sequence_note_of_points
from ..systems.kernels.in_force import kernel_words
from . import output, progress_bar, scenario_arguments
from .parser import FAILED, Subparsers

OWNED_PARTS = "machine.owned_parts"


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser(
        "decide", help="which machine to buy: every system on machines that can be built, the best first"
    )
    scenario_arguments.add(parser)
    parser.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="throughput=N, step-ms=X, as=SYSTEM, days=D:SAMPLES, budget=USD or weeks=N; can be repeated",
    )
    parser.add_argument("--lose", metavar="MOST", help="what a failure may lose: nothing, batches=N or minutes=N")
    parser.add_argument("--objective", choices=OBJECTIVES, help="what is to be least (cost: USD a billion samples that count)")
    parser.add_argument("--parts", metavar="WORDS", help="on-sale (default), announced, discontinued, all, names, or gpu=NAME")
    parser.add_argument(
        "--software", metavar="NAME", help="exists (default), any (also software that would have to be written), a name, or ms=N"
    )
    parser.add_argument("--precision", choices=LAYERS, help="of the layers (default: as in that software's published runs)")
    parser.add_argument(
        "--own",
        action="append",
        default=[],
        metavar="COUNTxTITLE",
        help="parts or whole servers that are owned already, such as '2x8 x A100 80 GB server'; can be repeated",
    )
    parser.add_argument("--prices", metavar="YEAR", help="whose prices count (those of the scenario, else 2026)")
    parser.add_argument("--map", action="store_true", help="find who wins over size of tables and lookups too")
    parser.add_argument("--quick", action="store_true", help="rows alone, without draws of constants and tipping points")
    parser.add_argument("--json", metavar="FILE", help="write all rows, the space and the verdict as JSON; - for standard output")
    parser.add_argument("--csv", metavar="FILE", help="write a row per system as CSV; - for standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Write the verdict; returns 0, or 3 where nothing meets the requirement."""
    selection = _with_owned_parts(scenario_arguments.selected_scenario(arguments), arguments.own)
    question, base = _question(arguments, selection), selection.start.preset or DEFAULT
    verdict = _decided(question)
    if not verdict.is_complete:
        output.note(
            f"Interrupted after {verdict.num_searched} of {count(len(verdict.space), 'stack')}: the others were "
            "searched only roughly."
        )
    verdict_outlook = _outlook(arguments, verdict)
    if arguments.json:
        output.write(arguments.json, json.dumps(verdict_content(verdict, base, verdict_outlook), indent=1) + "\n")
    if arguments.csv:
        rows = verdict_table(verdict, base)
        output.write(arguments.csv, csv_table.rows_text(list(rows[0]), (list(row.values()) for row in rows)))
    output.write_for_people(_text(verdict, base, verdict_outlook), arguments.json, arguments.csv)
    output.note(_ignored(selection.settings))
    output.note(sequence_note_of_points([question.scenario]))
    return 0 if verdict.best_row else FAILED


def _decided(question: VerdictQuestion) -> Verdict:
    """Return the verdict; after an interruption, the verdict on the systems that were searched until then."""
    waiting = verdicts(question)
    verdict, paced = next(waiting), progress_bar.PacedBar()
    with progress_bar.visible_bar(), suppress(KeyboardInterrupt):
        for verdict in waiting:
            paced(verdict.num_searched / len(verdict.space), f"{verdict.num_searched} of {count(len(verdict.space), 'stack')}")
    return verdict


def _outlook(arguments: argparse.Namespace, verdict: Verdict) -> Outlook:
    """Return the verdict's outlook; NO_OUTLOOK without a verdict, with --quick, or after an interruption."""
    if not verdict.is_complete or verdict.best_row is None or (arguments.quick and not arguments.map):
        return NO_OUTLOOK
    try:
        with progress_bar.visible_bar():
            return outlook(verdict, arguments.map, progress_bar.PacedBar())
    except KeyboardInterrupt:
        output.note("Interrupted: draws, tipping points and the map are missing.")
        return NO_OUTLOOK


def _with_owned_parts(
    selection: scenario_arguments.ScenarioSelection, owned: Sequence[str]
) -> scenario_arguments.ScenarioSelection:
    """Return a selection that owns what the arguments of --own name; raises BadInput."""
    if not owned:
        return selection
    if OWNED_PARTS in selection.settings or selection.scenario.machine.owned_parts:
        raise BadInput(f"own={owned[0][:60]!r} and {OWNED_PARTS} both say what is owned; write all of it with --own.")
    text = parse(ALL_KNOBS[OWNED_PARTS], owned_parts_text(map(read_owned, owned)))
    return replace(selection, settings={**selection.settings, OWNED_PARTS: text})


def _question(arguments: argparse.Namespace, selection: scenario_arguments.ScenarioSelection) -> VerdictQuestion:
    """Return the question of a link, as changed by arguments."""
    linked = selection.start.questions
    parts = arguments.parts or linked.parts
    questions = replace(
        linked,
        require=tuple(arguments.require) or linked.require,
        lose=arguments.lose or linked.lose,
        objective=arguments.objective or linked.objective,
        parts=narrow_parts(parts, selection.settings),
        prices=arguments.prices or linked.prices,
        software=arguments.software or linked.software,
        precision=arguments.precision or linked.precision,
    )
    return read_question(selection.scenario, questions)


def _ignored(settings: Mapping[str, Any]) -> str:
    """Return a sentence about settings that a verdict searches itself and ignores; "" without any."""
    parts = {f"machine.{knob}" for knob in SEARCHED_KINDS}
    searched = {*RESET_KNOBS, *KNOBS} - parts
    ignored_paths = [path for path in settings if path in searched]
    verb = "is" if len(ignored_paths) == 1 else "are"
    sentences = (
        [f"{' and '.join(ignored_paths)} {verb} searched by a verdict: what was set is not kept."] if ignored_paths else []
    )
    if FRAMEWORK in settings:
        sentences.append(f"{FRAMEWORK} is decided by the software; write --software {settings[FRAMEWORK]} for this loop.")
    return " ".join(sentences)


def _text(verdict: Verdict, base: str, verdict_outlook: Outlook) -> str:
    """Return sentence, reason, table, outlook and notes for people."""
    sure, best_row = draw_share_sentence(verdict, verdict_outlook.bands) if verdict_outlook.bands else "", verdict.best_row
    model_choice, loop = (model_choice_sentence(best_row), loop_sentence(best_row)) if best_row else ("", "")
    others = (other_software_sentence(verdict, verdict_outlook.bands), unwritten_sentence(verdict))
    lines = [
        *filter(None, (model_choice, headline(verdict), full_use_sentence(verdict), loop, reason_sentence(verdict), sure)),
        *filter(None, (*others, unstruck_words(verdict), rent_sentence(best_row) if best_row else "")),
        "",
        HEAD,
        *(_line(row, verdict.question.software) for row in verdict.rows),
        *(["", UNWRITTEN_HEAD] if verdict.unwritten else []),
        *(_line(row, verdict.question.software) for row in verdict.unwritten),
        "",
    ]
    lines += [
        *filter(None, [popularity_words(verdict, verdict_outlook.cases)]),
        *tipping_words(verdict_outlook.tipping),
        *(["By GPU:", *gpu_lines(verdict_outlook.gpus), ""] if verdict_outlook.gpus else []),
        *notes(verdict),
    ]
    lines += [inputs_sentence(verdict.question), assumptions(verdict.priced_scenario), f"Link: {link_of(verdict.question, base)}"]
    return "\n".join(lines) + "\n"


NUMBERS = f"{'USD/10^9 samples':>17}{'USD/month':>11}{'USD':>12}{'samples/s':>15}{'meter W':>8}"
HEAD = f"{'system':18}{'software':26}{'rows are held in':24}{NUMBERS}  machine, or what limits it"
UNWRITTEN_HEAD = "Software for these would have to be written:"


def _line(row: SystemRow, choice: SoftwareChoice) -> str:
    head = f"{row.system:18}{row.stack.software or software_state(row, choice):26}{row.family:24}"
    if row.result is None:
        return f"{head}{'-':>17}{'-':>11}{'-':>12}{'-':>15}{'-':>8}  {row.reason}"
    capital = row.capital
    numbers = (
        f"{figure(row.cost.total) if row.cost else '-':>17}",
        f"{figure(row.month.total) if row.month else '-':>11}",
        "-".rjust(12) if capital is None else f"{figure(capital):>12}",
        f"{figure(number(THROUGHPUT, row.result)):>15}{figure(number(POWER, row.result)):>8}",
    )
    kernels = kernel_words(row.scenario) if row.scenario else ""
    machine = f"{machine_words(row)}{f'; kernels {kernels}' if kernels else ''}"
    return f"{head}{''.join(numbers)}  {' '.join(filter(None, (row.reason or machine, unavailable_sentence(row))))}"
