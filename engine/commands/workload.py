"""`workload`: compare the generator's figures with published ones of real click logs.

`fit`, `count` and `describe` read a data file.
"""

import argparse
import json
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..core import figures
from ..core.figures import count
from ..errors import BadFile
from ..insight.fitting import reports
from ..insight.fitting.counting import MOST_SAMPLES
from ..insight.fitting.fit import fit_file, lookups_of
from ..insight.fitting.histories.fit import window_of
from ..insight.fitting.histories.report import as_json
from ..insight.fitting.tally import tallies
from ..paths import user_path
from ..scenario.presets import DEFAULT
from ..sweep import links
from ..validation.workload_figures import Figure, acceptance_figures
from ..workload.readers.layouts import ANCHORS
from . import output, progress_bar, scenario_arguments
from .parser import FAILED, Subparsers, amount

if TYPE_CHECKING:
    from ..insight.fitting.description import FileDescription

FILE_HELP = "any format that --data takes, or a trace: of dlrm_datasets, or libCacheSim's"


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("workload", help="compare the generator with real click logs")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON; - for standard output")
    parser.set_defaults(call=call)
    parts = parser.add_subparsers(title="more", metavar="fit | count | describe", required=False)
    fit = parts.add_parser("fit", help="fit the generator to a data file, or to a trace of lookups")
    fit.add_argument("file", type=user_path, metavar="FILE", help=FILE_HELP)
    scenario_arguments.add_start(fit)
    fit.add_argument("--toml", metavar="FILE", help="write the fitted scenario for --scenario; - for standard output")
    fit.add_argument("--json", metavar="FILE", help="write tables and hit rates as JSON; - for standard output")
    samples = partial(amount, noun="samples", minimum=1, maximum=10**10)
    fit.add_argument(
        "--samples", type=samples, default=MOST_SAMPLES, metavar="N", help=f"to count at most ({figures.count(MOST_SAMPLES)})"
    )
    fit.add_argument(
        "--rows", choices=("fitted", "seen"), default="fitted", help="of tables: those expected in the long run, or those seen"
    )
    histories = fit.add_argument_group("histories of users", "replace what the file's format or mapping states of them")
    histories.add_argument("--user", metavar="COLUMN", help="column of the users whose events make histories")
    histories.add_argument("--history", metavar="COLUMN,...", help="columns of ids of the events, or of lists of them")
    histories.add_argument("--anchors", choices=ANCHORS, help="what a sample is: each event in a row's lists, or the row")
    histories.add_argument("--bags", action="store_true", help="read one lookup a sample of each column, no histories")
    fit.set_defaults(call=call_fit)
    count = parts.add_parser("count", help="count every lookup of a data file or trace exactly, table by table")
    count.add_argument("file", type=user_path, metavar="FILE", help=FILE_HELP)
    count.add_argument("--json", metavar="FILE", help="write the counts as JSON; - for standard output")
    count.set_defaults(call=call_count)
    describe = parts.add_parser("describe", help="say what a file holds: records, columns with a guess of each, a mapping")
    describe.add_argument("file", type=user_path, metavar="FILE", help=FILE_HELP)
    describe.add_argument("--json", metavar="FILE", help="write the description as JSON; - for standard output")
    describe.set_defaults(call=call_describe)


def call(arguments: argparse.Namespace) -> int:
    """Compute the figures; returns 3 if one lies outside its tolerance."""
    figures = list(acceptance_figures())
    rows = [figure.as_json() for figure in figures]
    output.write_json_or(arguments.json, rows, table(figures))
    return 0 if all(figure.passed for figure in figures) else FAILED


def call_fit(arguments: argparse.Namespace) -> int:
    """Fit the generator to a file; print the fit and the scenario's link; return 0."""
    selection = scenario_arguments.selected_scenario(arguments)
    watch = progress_bar.PacedBar()
    with progress_bar.visible_bar():
        file = lookups_of(arguments.file, watch, not arguments.bags, statement_of(arguments))
        window = window_of(selection.scenario)
        generator_fit = fit_file(file, int(arguments.samples), arguments.rows == "fitted", watch, window)
    scenario = generator_fit.scenario(selection.scenario)
    if arguments.toml:
        output.write(arguments.toml, reports.scenario_toml(generator_fit, selection.scenario, selection.start.preset or DEFAULT))
    if arguments.json:
        content: dict[str, Any] = {
            "tables": reports.fit_rows(generator_fit),
            "hits": reports.hit_rate_rows(generator_fit),
            "warnings": list(reports.fit_warnings(generator_fit)),
        }
        if generator_fit.histories:
            content["histories"] = as_json(generator_fit.histories, generator_fit.titles)
        output.write(arguments.json, json.dumps(content | {"link": links.link(scenario)}, indent=1) + "\n")
    output.write_for_people(reports.fit_report(generator_fit) + f"Link: {links.link(scenario)}\n", arguments.toml, arguments.json)
    return 0


def statement_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the keys of a mapping that the arguments state; raises BadFile."""
    history = [column.strip() for column in (arguments.history or "").split(",") if column.strip()]
    for option in ("user", "history"):
        if getattr(arguments, option) is not None and not getattr(arguments, option).strip(" ,"):
            raise BadFile(f"--{option} names no column; write the name of a column, or leave --{option} out.")
    stated = {"user": arguments.user, "history": history, "anchors": arguments.anchors}
    if arguments.bags and any(stated.values()):
        option = next(key for key, words in stated.items() if words)
        raise BadFile(f"--bags reads no histories, so --{option} has no effect; leave out one of them.")
    return {key: words for key, words in stated.items() if words}


def call_count(arguments: argparse.Namespace) -> int:
    """Count a file's lookups and print the popularity of its rows; returns 0."""
    watch = progress_bar.PacedBar()
    with progress_bar.visible_bar():
        file = lookups_of(arguments.file, watch)
        table_counts = list(tallies(file, watch))
    output.write_json_or(arguments.json, reports.count_rows(table_counts), reports.count_report(file, table_counts))
    return 0


def call_describe(arguments: argparse.Namespace) -> int:
    """Print a file's description, and a mapping that makes the file readable; return 0."""
    from ..insight.fitting import description as descriptions  # late: Arrow takes a third of a second

    watch = progress_bar.PacedBar()
    with progress_bar.visible_bar():
        description = descriptions.describe(arguments.file, watch)
    output.write_json_or(arguments.json, descriptions.as_json(description), description_report(description))
    return 0


def description_report(description: "FileDescription") -> str:
    """Return a description as text lines for people."""
    lines = [f"{description.name}: {description.format}, {figures.count(description.records, 'record')}.", ""]
    width = max(len(column.name) for column in description.columns)
    lines.append(f" {'column':{width}}  guess        distinct      missing  first values")
    for column in description.columns:
        distinct = "many" if column.distinct is None else figures.count(column.distinct)
        values = ", ".join(column.examples)[:60]
        lines.append(f" {column.name:{width}}  {column.guess:8} {distinct:>12} {column.missing_cells:12,}  {values}")
    lines += ["", *description.notes] if description.notes else []
    if not description.is_known:
        lines += ["", f"Save these lines as {description.name}.toml, and correct wrong guesses:", "", description.mapping]
    return "\n".join(lines).rstrip() + "\n"


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as text lines for people, below the titles of their groups.

    All figures are percentages.
    """
    lines = []
    for group, members in groupby(figures, lambda figure: figure.group):
        lines.append(f"{group} [%]")
        for figure in members:
            verdict = "pass" if figure.passed else "FAIL"
            lines.append(f"  {figure.name:20} ours {figure.simulated_value:8.2f}   published {figure.published:14} {verdict}")
    missed = sum(not figure.passed for figure in figures)
    lines.append(f"{count(len(figures), 'figure')}, {missed} outside their tolerance.")
    return "\n".join(lines) + "\n"
