"""`search`: the Pareto front of a box of knobs, found by estimates of some of its points and confirmed by full runs."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TypeVar

from ..analysis.choice import COST, cheapest
from ..analysis.objective import Constraint, Objective, constraint, objective
from ..analysis.over_weeks import WEEKS, number
from ..analysis.pareto import finding, knee
from ..analysis.search import SearchedPoints, search
from ..core.figures import count, percent
from ..errors import BadInput, CannotRun
from ..estimates import estimates
from ..hardware.prices import with_year
from ..insight.running_costs import swept_dollars
from ..results import csv_table
from ..results.result import Result
from ..scenario.scenario import Scenario, values
from ..scenario.sequences import sequence_note_of_points
from ..store import kept
from ..sweep.axes import Axis
from . import output, progress_bar, scenario_arguments, sweep_arguments
from .parser import INTERRUPTED, Subparsers, add_outputs, add_store, points
from .sweep import computed

EVALUATIONS = 500
Asked = TypeVar("Asked", Objective, Constraint)


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("search", help="find the Pareto front of some knobs' ranges without computing every point")
    scenario_arguments.add(parser)
    sweep_arguments.add_axes(parser)
    parser.add_argument(
        "--objective",
        action="append",
        default=[],
        metavar="RESULT",
        help=f"what to improve; repeatable ({sweep_arguments.USUAL})",
    )
    parser.add_argument("--evaluations", type=points, default=EVALUATIONS, metavar="N", help=f"estimates at most ({EVALUATIONS})")
    parser.add_argument("--confirm", type=points, metavar="K", help="run K points of the front in full, beside their estimates")
    add_store(parser)
    add_outputs(parser, csv_required=True)
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Search, confirm, write the front and say what it shows; returns the exit status."""
    chosen = scenario_arguments.chosen(arguments)
    axes = sweep_arguments.axes(arguments, chosen)
    questions = chosen.start.questions
    wanted = tuple(map(objective, arguments.objective or (questions.pareto or sweep_arguments.USUAL).split(",")))
    if lacking := _lacking(chosen.scenario, wanted):
        name = lacking[0].name
        raise BadInput(f"No estimate has {name}; search by what estimates have, and bound it with --where and --confirm K.")
    asked = [constraint(text) for text in (*questions.where, *arguments.where)]
    late = _lacking(chosen.scenario, asked)
    bounds = [one for one in asked if one not in late]
    if late and not arguments.confirm:
        raise BadInput(f"No estimate has {late[0].name}, so {late[0]} needs full runs; add --confirm K.")
    found = _searched(arguments, chosen, axes, wanted, bounds)
    if found.interrupted:
        arguments.confirm = None
    full = _confirmed(arguments, chosen.data, found.front)
    names = [*(one.name for one in wanted), *(one.name for one in bounds)]
    shown = [one for one in found.front if _keeps(full.get(one.scenario), late)]
    lines = [csv_table.row(one, "estimate", _answers(one, full.get(one.scenario), names)) for one in shown]
    output.write(arguments.csv, csv_table.csv_lines(csv_table.header(lines), lines))
    _say(found, axes, full, wanted)
    output.note(sequence_note_of_points([one.scenario for one in found.results]))
    return INTERRUPTED if found.interrupted else 0


def _lacking(base: Scenario, asked: Sequence[Asked]) -> list[Asked]:
    """Return what only full runs can tell."""
    result = estimates([base])[0]
    known = (*WEEKS, COST)  # another part may have a price where this one has none
    return [one for one in asked if result.ran and one.name not in known and number(result, one.name) is None]


def _searched(
    arguments: argparse.Namespace,
    chosen: scenario_arguments.Chosen,
    axes: Sequence[Axis],
    wanted: Sequence[Objective],
    bounds: Sequence[Constraint],
) -> SearchedPoints:
    def watch(done: int) -> None:
        progress_bar.draw(done / arguments.evaluations, f"{count(done)} of {count(arguments.evaluations, 'estimate')}")

    with progress_bar.shown():
        found = search(chosen.start.scenario, axes, wanted, bounds, arguments.evaluations, tuple(chosen.settings.items()), watch)
    if not found.front:
        if any(one.ran for one in found.results):
            sentence = cheapest(found.columns, bounds, wanted[0].name).sentence
            unit = swept_dollars(chosen.start.scenario, [axis.path for axis in axes], chosen.settings.items())
            raise CannotRun(with_year(sentence, unit))
        raise CannotRun(found.results[0].outcome)
    return found


def _confirmed(arguments: argparse.Namespace, data: Path | None, front: Sequence[Result]) -> dict[Scenario, Result]:
    """Run about `confirm` points in full, spread over the front from its first."""
    if not arguments.confirm:
        return {}
    asked = [one.scenario for one in front[:: max(-(-len(front) // arguments.confirm), 1)]]
    computed(arguments, asked, "full", data)
    found = zip(asked, kept.outcomes(arguments.store, asked, "full"), strict=True)
    return {scenario: result for scenario, (_, result) in found if result is not None}


def _keeps(full: Result | None, late: Sequence[Constraint]) -> bool:
    """Whether a full run keeps the bounds that only it can; what was not run in full is shown without that claim."""
    return full is None or all(bool(one.holds({one.name: [number(full, one.name)]})[0]) for one in late)


def _answers(quick: Result, full: Result | None, asked: Sequence[str]) -> Mapping[str, csv_table.Cell]:
    """Return numbers over weeks; what a full run gave for each result asked for, and the estimate's gap in percent of it."""
    cells: dict[str, csv_table.Cell] = {name: number(quick, name) for name in asked if name in WEEKS}
    if full is None:
        return cells
    for name in asked:
        if name in full.results:
            cells[f"{name}, full run"] = number(full, name)
            cells[f"{name}, gap of the estimate [%]"] = _gap(quick, full, name)
    return {**cells, "full run": full.outcome}


def _say(found: SearchedPoints, axes: Sequence[Axis], full: Mapping[Scenario, Result], wanted: Sequence[Objective]) -> None:
    best = knee(found.columns, found.wanted, found.rank)
    place = {axis.path: values(found.results[best].scenario)[axis.path] for axis in axes} if best is not None else {}
    stopped = "Interrupted; run it again for the whole search. " if found.interrupted else ""
    said = with_year(finding(found.columns, wanted, found.rank), swept_dollars(found.results[0].scenario, place))
    print(f"{stopped}{count(len(found.results), 'estimate')}. {said}{sweep_arguments.position_text(place)}", file=sys.stderr)
    quick = {one.scenario: one for one in found.front}
    for one in [one for one in wanted if full and one.name not in WEEKS]:
        gaps = [_gap(quick[scenario], result, one.name) for scenario, result in full.items()]
        most = max(inf if gap is None else abs(gap) for gap in gaps)
        print(f"{len(full)} full runs: {one.name} of the estimate is at most {percent(most / 100)} off.", file=sys.stderr)


def _gap(quick: Result, full: Result, name: str) -> float | None:
    real, guess = number(full, name), number(quick, name)
    return 100 * (guess - real) / real if real and guess is not None else None
