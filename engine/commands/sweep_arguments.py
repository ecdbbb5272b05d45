"""The arguments of a sweep or search: which points, within which bounds, in which order, and what to say about them."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..analysis import suggested_axes
from ..analysis.choice import COST, cheapest, kept
from ..analysis.importance import shares
from ..analysis.objective import Array, Columns, Constraint, Objective, column, constraint, objective, objectives
from ..analysis.over_weeks import WEEKS
from ..analysis.pareto import finding, knee, ranks
from ..core.figures import count
from ..errors import BadInput
from ..hardware.prices import with_year
from ..insight.running_costs import swept_dollars
from ..scenario import knobs
from ..scenario.scenario import known
from ..sweep.axes import Axis, parse
from ..sweep.questions import Questions
from ..sweep.sweep import KINDS, Sampling, Sweep, sampling
from .parser import points
from .scenario_arguments import Chosen

USUAL = "Step time [ms],Capital cost [USD]"


@dataclass(frozen=True)
class SweepQuestions:
    """Bounds that rows must keep, objectives of a front, an order, how many rows, and metrics to explain."""

    bounds: tuple[Constraint, ...] = ()
    objectives: tuple[Objective, ...] = ()
    by: Objective | None = None
    top: int | None = None
    matters: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the answers need."""
        wanted = (*self.objectives, *([self.by] if self.by else []))
        named = (*(one.name for one in self.bounds), *(one.name for one in wanted), *self.matters, COST)
        return tuple(dict.fromkeys(named))

    def row(self, columns: Columns, rank: int, place: int) -> dict[str, str | float | None]:
        """Return what the answers add to a row of the table: its rank, and its numbers over weeks if they were asked for."""
        ranked: dict[str, str | float | None] = {"Pareto rank": rank or None} if self.objectives else {}
        found = {name: columns[name][place] for name in self.names if name in WEEKS}
        return ranked | {name: None if one is None or np.isnan(one) else float(one) for name, one in found.items()}


def add_axes(parser: argparse.ArgumentParser) -> None:
    """Declare the axes and the bounds."""
    shapes = "KNOB=V1,V2,..., KNOB=LOW:HIGH:COUNT[:log] or, to draw from, KNOB=LOW:HIGH[:log]; repeatable"
    parser.add_argument("--axis", action="append", default=[], metavar="AXIS", help=shapes)
    parser.add_argument(
        "--where", action="append", default=[], metavar="BOUND", help="only points such as 'Step time [ms]<=5'; repeatable"
    )


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what a sweep can be asked."""
    add_axes(parser)
    parser.add_argument("--sample", type=points, metavar="N", help="only N points, drawn by the data seed")
    parser.add_argument("--sampling", choices=KINDS, help="from where: of the grid (the default), or anywhere in the ranges")
    parser.add_argument(
        "--pareto", nargs="?", const=USUAL, metavar="RESULT,...", help=f"rank the points in Pareto fronts; alone: {USUAL}"
    )
    parser.add_argument("--by", metavar="RESULT", help="order the rows by this result, the best first (add :min or :max)")
    parser.add_argument("--top", type=points, metavar="K", help="only the first K rows of the order")
    parser.add_argument(
        "--matters", action="append", default=[], metavar="RESULT", help="say which knob explains how much of it; repeatable"
    )


def axes(arguments: argparse.Namespace, chosen: Chosen) -> tuple[Axis, ...]:
    """Return the axes asked for, a link's first; without any, those of the grid to begin with, but for knobs that were set.

    Raises BadInput, also for a link that keeps words (only=), which the page filters by.
    """
    if kept_words := chosen.start.questions.only:
        raise BadInput(
            f"The link keeps the points with {kept_words[0][:80]} (only=); leave that out and give --axis these values."
        )
    given = tuple(parse(text) for text in (*chosen.start.axes, *arguments.axis))
    return given or tuple(axis for axis in suggested_axes.axes(chosen.scenario) if axis.path not in chosen.settings)


def questions(arguments: argparse.Namespace, link: Questions) -> tuple[SweepQuestions, Sampling]:
    """Read what is asked, a link's questions first; raises BadInput."""
    bounds = tuple(constraint(text) for text in (*link.where, *arguments.where))
    pareto = arguments.pareto if arguments.pareto is not None else link.pareto
    if arguments.top and not (arguments.by or pareto):
        raise BadInput(f"--top {arguments.top} needs an order; give --by RESULT or --pareto.")
    how = sampling(link.sample) if link.sample else Sampling()
    if arguments.sample or arguments.sampling:
        how = Sampling(arguments.sampling or how.kind, arguments.sample or how.count)
    by = objective(arguments.by) if arguments.by else None
    matters = tuple(column(text) for text in arguments.matters)
    return SweepQuestions(bounds, objectives(pareto) if pareto else (), by, arguments.top, matters), how


def selected_rows(one: SweepQuestions, columns: Columns) -> tuple[Array, Array]:
    """Return the indices of the rows to write, in their order, and every point's Pareto rank, 0 for none."""
    keeps = kept(columns, one.bounds)
    rank = ranks(columns, one.objectives, one.bounds) if one.objectives else np.zeros(len(keeps), dtype=int)
    order = np.flatnonzero(keeps)
    if one.by:
        order = order[np.argsort(one.by.losses(columns)[order], kind="stable")]
    elif one.objectives:
        front = np.where(rank > 0, rank, len(rank))
        order = order[np.lexsort((one.objectives[0].losses(columns)[order], front[order]))]
    return order[: one.top], rank


def print_answers(one: SweepQuestions, sweep: Sweep, columns: Columns, rank: Array, fine: Array) -> None:
    """Say on standard error what the points answer; `fine` tells which rows are points of the sweep."""
    unit = swept_dollars(sweep.base, [axis.path for axis in sweep.axes], sweep.settings)
    if one.bounds:
        found = cheapest(columns, one.bounds)
        print(with_year(found.sentence, unit) + _at(sweep, found.index, fine), file=sys.stderr)
    if one.objectives:
        best = knee(columns, one.objectives, rank)
        print(with_year(finding(columns, one.objectives, rank), unit) + _at(sweep, best, fine), file=sys.stderr)
    keeps = kept(columns, one.bounds)
    among = f"among the {count(int(keeps.sum()), 'point')} that keep the bounds" if one.bounds else ""
    for name in one.matters:
        for share in shares(sweep, np.where(keeps, np.asarray(columns[name], dtype=float), np.nan)[fine]):
            print(share.sentence(name, among), file=sys.stderr)


def _at(sweep: Sweep, row: int | None, fine: Array) -> str:
    return "" if row is None else position_text(sweep.place(int(np.count_nonzero(fine[:row]))))


def position_text(place: Mapping[str, Any]) -> str:
    """Say where a point lies, as the end of an answer."""
    where = ", ".join(f"{path}={knobs.write(known(path), value)}" for path, value in place.items())
    return f" It is at {where}." if where else ""
