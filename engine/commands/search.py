"""`search`: find the Pareto front of a range of machines by estimates.

The command can confirm the front by full runs.
"""

import argparse
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TypeVar

from ..analysis.choice import COST, cheapest
from ..analysis.objective import Constraint, Objective, read_constraint, read_objective
from ..analysis.over_weeks import CAMPAIGN_METRICS, result_number
from ..analysis.pareto import front_sentence, knee
from ..analysis.search import SearchedPoints, search
from ..core.figures import count, percent
from ..errors import BadInput, CannotRun
from ..estimates import estimates
from ..hardware.money.prices import with_year
from ..insight.running_costs import swept_price_unit
from ..results import csv_table
from ..results.result import Result
from ..scenario.scenario import Scenario, values
from ..scenario.sequences import sequence_note_of_points
from ..service import service
from ..store import result_rows
from ..sweep.axes import Axis
from . import output, progress_bar, scenario_arguments, sweep_arguments
from .parser import INTERRUPTED, Subparsers, add_outputs, add_store, points
from .sweep import LOST, compute_points

EVALUATIONS = 500
Criterion = TypeVar("Criterion", Objective, Constraint)


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("search", help="find the Pareto front of some knobs' ranges without computing every point")
    scenario_arguments.add(parser)
    sweep_arguments.add_axes(parser)
    parser.add_argument(
        "--objective",
        action="append",
        default=[],
        metavar="RESULT",
        help=f"what to improve; repeatable ({sweep_arguments.USUAL_OBJECTIVES})",
    )
    parser.add_argument("--evaluations", type=points, default=EVALUATIONS, metavar="N", help=f"estimates at most ({EVALUATIONS})")
    parser.add_argument("--confirm", type=points, metavar="K", help="run K points of the front in full, beside their estimates")
    add_store(parser)
    add_outputs(parser, csv_required=True)
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Search, confirm, write the front and print its finding; returns the exit status."""
    selection = scenario_arguments.selected_scenario(arguments)
    axes = sweep_arguments.axes(arguments, selection)
    questions = selection.start.questions
    objectives = tuple(
        map(read_objective, arguments.objective or (questions.pareto or sweep_arguments.USUAL_OBJECTIVES).split(","))
    )
    if lacking := _lacking(selection.scenario, objectives):
        name = lacking[0].name
        raise BadInput(
            f"An estimate has no {name}; choose an objective that estimates have, and bound {name} with --where and --confirm K."
        )
    constraints = [read_constraint(text) for text in (*questions.bounds, *arguments.where)]
    full_run_bounds = _lacking(selection.scenario, constraints)
    bounds = [bound for bound in constraints if bound not in full_run_bounds]
    if full_run_bounds and not arguments.confirm:
        raise BadInput(f"No estimate has {full_run_bounds[0].name}, so {full_run_bounds[0]} needs full runs; add --confirm K.")
    if arguments.cluster and not arguments.confirm:
        raise BadInput(f"--cluster {arguments.cluster} is for full runs, but a search estimates here; add --confirm K.")
    service.check_cluster(arguments.store, arguments.cluster)
    searched = _searched(arguments, selection, axes, objectives, bounds)
    if searched.interrupted:
        arguments.confirm = None
    full_runs = _confirmed(arguments, selection.data_file, searched.front)
    names = [*(criterion.name for criterion in objectives), *(criterion.name for criterion in bounds)]
    front_points = [point for point in searched.front if _holds_bounds(full_runs.get(point.scenario), full_run_bounds)]
    lines = [
        csv_table.result_row(point, "estimate", _answers(point, full_runs.get(point.scenario), names)) for point in front_points
    ]
    output.write(arguments.csv, csv_table.csv_of(lines))
    _say(searched, axes, full_runs, objectives)
    output.note(sequence_note_of_points([point.scenario for point in searched.results]))
    return INTERRUPTED if searched.interrupted else 0


def _lacking(base: Scenario, criteria: Sequence[Criterion]) -> list[Criterion]:
    """Return the criteria whose results only full runs have."""
    result = estimates([base])[0]
    always_priced = (*CAMPAIGN_METRICS, COST)  # another part may have a price where this one has none
    return [
        criterion
        for criterion in criteria
        if result.ran and criterion.name not in always_priced and result_number(result, criterion.name) is None
    ]


def _searched(
    arguments: argparse.Namespace,
    selection: scenario_arguments.ScenarioSelection,
    axes: Sequence[Axis],
    objectives: Sequence[Objective],
    bounds: Sequence[Constraint],
) -> SearchedPoints:
    def watch(estimate_count: int) -> None:
        progress_bar.draw(
            estimate_count / arguments.evaluations, f"{count(estimate_count)} of {count(arguments.evaluations, 'estimate')}"
        )

    with progress_bar.visible_bar():
        searched = search(
            selection.start.scenario, axes, objectives, bounds, arguments.evaluations, tuple(selection.settings.items()), watch
        )
    if not searched.front:
        if any(point.ran for point in searched.results):
            sentence = cheapest(searched.columns, bounds, objectives[0].name).sentence
            unit = swept_price_unit(selection.start.scenario, [axis.path for axis in axes], selection.settings.items())
            raise CannotRun(with_year(sentence, unit))
        raise CannotRun(searched.results[0].outcome)
    return searched


def _confirmed(arguments: argparse.Namespace, data_file: Path | None, front: Sequence[Result]) -> dict[Scenario, Result]:
    """Run about `confirm` points in full, spread over the front from its first."""
    if not arguments.confirm:
        return {}
    scenarios = [point.scenario for point in front[:: max(-(-len(front) // arguments.confirm), 1)]]
    compute_points(arguments, scenarios, "full", data_file)
    results = [result for _, result in result_rows.stored_results(arguments.store, scenarios, "full")]
    if None in results:
        raise CannotRun(LOST)
    return {scenario: result for scenario, result in zip(scenarios, results, strict=True) if result is not None}


def _holds_bounds(full_run: Result | None, bounds: Sequence[Constraint]) -> bool:
    """Return whether a full run keeps the bounds that only full runs can; True for a point without a full run."""
    return full_run is None or all(bool(bound.holds({bound.name: [result_number(full_run, bound.name)]})[0]) for bound in bounds)


def _answers(quick: Result, full_run: Result | None, names: Sequence[str]) -> Mapping[str, csv_table.Cell]:
    """Return a point's numbers over weeks, and by result name the full run's number and the estimate's gap in percent."""
    cells: dict[str, csv_table.Cell] = {name: result_number(quick, name) for name in names if name in CAMPAIGN_METRICS}
    if full_run is None:
        return cells
    for name in names:
        if name in full_run.results:
            cells[f"{name}, full run"] = result_number(full_run, name)
            cells[f"{name}, gap of the estimate [%]"] = _gap(quick, full_run, name)
    return {**cells, "full run": full_run.outcome}


def _say(
    searched: SearchedPoints, axes: Sequence[Axis], full_runs: Mapping[Scenario, Result], objectives: Sequence[Objective]
) -> None:
    knee_index = knee(searched.columns, searched.objectives, searched.rank)
    place = (
        {axis.path: values(searched.results[knee_index].scenario)[axis.path] for axis in axes} if knee_index is not None else {}
    )
    stopped = "Interrupted; run the command again for the whole search. " if searched.interrupted else ""
    finding_text = with_year(
        front_sentence(searched.columns, objectives, searched.rank), swept_price_unit(searched.results[0].scenario, place)
    )
    output.tell(f"{stopped}{count(len(searched.results), 'estimate')}. {finding_text}{sweep_arguments.position_text(place)}")
    quick = {point.scenario: point for point in searched.front}
    for criterion in [criterion for criterion in objectives if full_runs and criterion.name not in CAMPAIGN_METRICS]:
        gaps = [_gap(quick[scenario], result, criterion.name) for scenario, result in full_runs.items()]
        largest_gap = max(inf if gap is None else abs(gap) for gap in gaps)
        output.tell(
            f"{count(len(full_runs), 'full run')}: {criterion.name} of the estimate is at most {percent(largest_gap / 100)} off."
        )


def _gap(quick: Result, full_run: Result, name: str) -> float | None:
    real, guess = result_number(full_run, name), result_number(quick, name)
    return 100 * (guess - real) / real if real and guess is not None else None
