"""`run`: run or estimate one scenario, in this process."""

import argparse
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from threadpoolctl import threadpool_limits

from ..analysis.objective import number_text, short_name
from ..analysis.verdict.report.bill import bill_content
from ..artefact import pack_artefact
from ..core.figures import count, figure
from ..embedding_tables.table_rows import table_rows
from ..errors import BadInput
from ..insight.running_costs import bill_of, price_note, price_unit
from ..results.csv_table import csv_text
from ..results.metrics import ERRORS, error_of
from ..results.perfetto import chrome_trace
from ..results.result import ENERGY_NOTES, Result
from ..results.samples_seen import samples_note
from ..run.progress import Progress
from ..scenario.keys import Fidelity
from ..schedule.machine import settle
from ..service.worker import compute_point
from ..store.result_rows import result_text
from ..systems.buildable import software_sentence
from . import output, progress_bar, scenario_arguments
from .parser import FAILED, Subparsers, add_outputs


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("run", help="run one scenario")
    scenario_arguments.add(parser)
    add_outputs(parser)
    parser.add_argument("--json", metavar="FILE", help="write the whole result here; - is standard output")
    parser.add_argument(
        "--artefact", metavar="FILE.zip", help="write result, link, tables, charts and versions in one zip, for `verify`"
    )
    parser.add_argument("--trace", metavar="FILE", help="write the timeline as Chrome trace JSON")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Run the chosen scenario and write its result to the targets; returns the exit status."""
    selection = scenario_arguments.selected_scenario(arguments)
    if selection.start.axes:
        raise BadInput("The link is a sweep over some knobs; use `sweep` for it, or remove its axis parameters.")
    fidelity: Fidelity = "estimate" if arguments.estimate else "full"
    with progress_bar.visible_bar(), threadpool_limits(1), immediate_interrupt():
        result = compute_point(selection.scenario, fidelity, selection.data_file, partial(draw_progress, progress_bar.PacedBar()))
    if arguments.csv:
        output.write(arguments.csv, csv_text([result], fidelity))
    if arguments.json:
        bill = bill_content(bill_of(result.scenario)) if result.ran else []
        content = json.loads(result_text(result)) | {"tables": table_rows(result, selection.table_names), "bill": bill}
        output.write(arguments.json, json.dumps(content, indent=1) + "\n")
    if arguments.trace:
        output.write(arguments.trace, chrome_trace(result))
    if arguments.artefact:
        output.write(arguments.artefact, pack_artefact(result, fidelity))
    output.write_for_people(summary(result), arguments.csv, arguments.json, arguments.trace, arguments.artefact)
    return 0 if result.ran else FAILED


def draw_progress(draw: progress_bar.PacedBar, progress: Progress) -> bool:
    """Draw a run's progress; return False, as the command never stops the run."""
    reads = progress.note.startswith(("reading", "sorting"))
    draw(
        progress.share,
        progress.note if reads else f"batch {count(progress.batches_done)} of {count(progress.total)} {progress.note}",
    )
    return False


def summary(result: Result) -> str:
    """Return a result as lines for people."""
    lines = [result.finding or result.outcome]
    if result.finding and result.outcome and result.outcome != result.finding:
        lines.append(result.outcome)
    lines += [f"Note: {warning}" for warning in result.notes]
    lines += [f"Note: {software_sentence(settle(result.scenario))}"] if result.ran else []
    rows_by_title = {
        short_name(name): (name, number)
        for name, number in result.results.items()
        if number is not None and name not in ERRORS.values()  # an error stands behind its result
    }
    width = max(map(len, rows_by_title), default=0)
    lines += [f"  {words:<{width}}  {_with_unit(result, name, number)}" for words, (name, number) in rows_by_title.items()]
    lines += filter(None, [samples_note(result)])
    lines += (
        [ENERGY_NOTES[result.scenario.machine.energy_level], *filter(None, [price_note(result.scenario)])] if result.ran else []
    )
    return "\n".join(lines) + "\n"


def _with_unit(result: Result, name: str, number: float) -> str:
    """Return a result's number with its unit, and money with its year."""
    return (
        figure(number, price_unit(result.scenario))
        if name.endswith("[USD]")
        else number_text(name, number, error_of(name, result.results))
    )


@contextmanager
def immediate_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process at once during a block that writes no file.

    Without this, Ctrl-C would wait until a kernel returns.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:  # ignored, or somebody else's
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
