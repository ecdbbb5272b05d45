"""The arguments of a sweep or search: axes, bounds, objectives, order of rows."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..analysis import suggested_axes
from ..analysis.choice import COST, cheapest, keeps_bounds
from ..analysis.importance import variance_shares
from ..analysis.objective import (
    Array,
    Columns,
    Constraint,
    Objective,
    column_name,
    read_constraint,
    read_objective,
    read_objectives,
)
from ..analysis.over_weeks import CAMPAIGN_METRICS
from ..analysis.pareto import front_sentence, knee, ranks
from ..core.figures import count
from ..errors import BadInput
from ..hardware.money.prices import with_year
from ..insight.running_costs import swept_price_unit
from ..scenario import knobs
from ..scenario.scenario import declaration
from ..sweep.axes import Axis, parse
from ..sweep.questions import LinkQuestions
from ..sweep.sweep import KINDS, Sampling, Sweep, sampling
from . import output
from .parser import points
from .scenario_arguments import ScenarioSelection

USUAL_OBJECTIVES = "Step time [ms],Capital cost [USD]"


@dataclass(frozen=True)
class SweepQuestions:
    """The questions about the points of a sweep.

    bounds: bounds that rows must keep.
    objectives: objectives of a Pareto front.
    row_order: the objective that orders the rows; None for the front's order.
    top: the number of rows to write; None for all.
    explained_metrics: metrics whose variance is explained by knobs.
    """

    bounds: tuple[Constraint, ...] = ()
    objectives: tuple[Objective, ...] = ()
    row_order: Objective | None = None
    top: int | None = None
    explained_metrics: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are needed to answer the questions."""
        measures = (*self.objectives, *([self.row_order] if self.row_order else []))
        columns = (
            *(criterion.name for criterion in self.bounds),
            *(criterion.name for criterion in measures),
            *self.explained_metrics,
            COST,
        )
        return tuple(dict.fromkeys(columns))

    def row(self, columns: Columns, rank: int, place: int) -> dict[str, str | float | None]:
        """Return a row's extra cells: Pareto rank, and metrics over weeks of faults.

        place: the row's index in the columns.
        """
        ranked: dict[str, str | float | None] = {"Pareto rank": rank or None} if self.objectives else {}
        week_numbers = {name: columns[name][place] for name in self.names if name in CAMPAIGN_METRICS}
        return ranked | {
            name: None if number is None or np.isnan(number) else float(number) for name, number in week_numbers.items()
        }


def add_axes(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for axes and bounds."""
    shapes = "KNOB=V1,V2,..., KNOB=LOW:HIGH:COUNT[:log] or, for --sampling, KNOB=LOW:HIGH[:log]; repeatable"
    parser.add_argument("--axis", action="append", default=[], metavar="AXIS", help=shapes)
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="BOUND",
        help="keep only points that meet this bound, such as 'Step time [ms]<=5'; repeatable",
    )


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for the questions about a sweep."""
    add_axes(parser)
    parser.add_argument("--sample", type=points, metavar="N", help="only N points, drawn by the data seed")
    parser.add_argument("--sampling", choices=KINDS, help="from where: of the grid (the default), or anywhere in the ranges")
    parser.add_argument(
        "--pareto",
        nargs="?",
        const=USUAL_OBJECTIVES,
        metavar="RESULT,...",
        help=f"rank the points in Pareto fronts by these objectives; without names: {USUAL_OBJECTIVES}",
    )
    parser.add_argument("--by", metavar="RESULT", help="order the rows by this result, the best first (add :min or :max)")
    parser.add_argument("--top", type=points, metavar="K", help="only the first K rows of the order")
    parser.add_argument(
        "--matters",
        action="append",
        default=[],
        metavar="RESULT",
        help="say how much of this result's variance each knob explains; repeatable",
    )


def axes(arguments: argparse.Namespace, selection: ScenarioSelection) -> tuple[Axis, ...]:
    """Return the requested axes, those of a link first.

    Without requested axes, return the suggested axes, except knobs that were set.
    Raises BadInput, also for a link that filters by words (only=), which only the page can do.
    """
    if kept_words := selection.start.questions.allowed_words:
        raise BadInput(
            f"The link keeps only the points with {kept_words[0][:80]} (only=); remove only= and give --axis these values."
        )
    named_axes = tuple(parse(text) for text in (*selection.start.axes, *arguments.axis))
    return named_axes or tuple(
        axis for axis in suggested_axes.suggested_axes(selection.scenario) if axis.path not in selection.settings
    )


def questions(arguments: argparse.Namespace, link: LinkQuestions) -> tuple[SweepQuestions, Sampling]:
    """Return the requested questions and sampling, those of a link first; raises BadInput."""
    bounds = tuple(read_constraint(text) for text in (*link.bounds, *arguments.where))
    pareto = arguments.pareto if arguments.pareto is not None else link.pareto
    if arguments.top and not (arguments.by or pareto):
        raise BadInput(f"--top {arguments.top} needs an order of the points; give --by RESULT or --pareto.")
    point_sampling = sampling(link.sample) if link.sample else Sampling()
    if arguments.sample or arguments.sampling:
        point_sampling = Sampling(arguments.sampling or point_sampling.kind, arguments.sample or point_sampling.count)
    row_order = read_objective(arguments.by) if arguments.by else None
    matters = tuple(column_name(text) for text in arguments.matters)
    return SweepQuestions(bounds, read_objectives(pareto) if pareto else (), row_order, arguments.top, matters), point_sampling


def selected_rows(questions: SweepQuestions, columns: Columns) -> tuple[Array, Array]:
    """Return the indices of the rows to write, in order, and every point's Pareto rank.

    Rank 0 is no rank.
    """
    within_bounds = keeps_bounds(columns, questions.bounds)
    rank = (
        ranks(columns, questions.objectives, questions.bounds)
        if questions.objectives
        else np.zeros(len(within_bounds), dtype=int)
    )
    order = np.flatnonzero(within_bounds)
    if questions.row_order:
        order = order[np.argsort(questions.row_order.losses(columns)[order], kind="stable")]
    elif questions.objectives:
        front = np.where(rank > 0, rank, len(rank))
        order = order[np.lexsort((questions.objectives[0].losses(columns)[order], front[order]))]
    return order[: questions.top], rank


def print_answers(questions: SweepQuestions, sweep: Sweep, columns: Columns, rank: Array, is_point: Array) -> None:
    """Print the answers about a sweep's points on standard error.

    `is_point` is True for rows that are points of the sweep.
    """
    unit = swept_price_unit(sweep.base, [axis.path for axis in sweep.axes], sweep.settings)
    if questions.bounds:
        choice = cheapest(columns, questions.bounds)
        output.tell(with_year(choice.sentence, unit) + _position_of_row(sweep, choice.index, is_point))
    if questions.objectives:
        knee_row = knee(columns, questions.objectives, rank)
        front_text = with_year(front_sentence(columns, questions.objectives, rank), unit)
        output.tell(front_text + _position_of_row(sweep, knee_row, is_point))
    within_bounds = keeps_bounds(columns, questions.bounds)
    scope_text = f"among the {count(int(within_bounds.sum()), 'point')} that keep the bounds" if questions.bounds else ""
    for name in questions.explained_metrics:
        for share in variance_shares(sweep, np.where(within_bounds, np.asarray(columns[name], dtype=float), np.nan)[is_point]):
            output.tell(share.sentence(name, scope_text))


def _position_of_row(sweep: Sweep, row: int | None, is_point: Array) -> str:
    return "" if row is None else position_text(sweep.place(int(np.count_nonzero(is_point[:row]))))


def position_text(place: Mapping[str, Any]) -> str:
    """Return a sentence with a point's knobs, to append to an answer; "" without knobs."""
    knob_texts = ", ".join(f"{path}={knobs.write(declaration(path), knob_value)}" for path, knob_value in place.items())
    return f" It is at {knob_texts}." if knob_texts else ""
