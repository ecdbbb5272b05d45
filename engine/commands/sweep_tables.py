"""The tables of a sweep, read point by point to save memory.

First the numbers that the answers need are read, then the rows. Of a long sweep, only a few numbers of each point stay in memory.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..analysis.over_weeks import result_number
from ..estimates import estimates
from ..results import csv_table
from ..results.result import Result
from ..scenario import knobs
from ..scenario.keys import Fidelity, texts
from ..scenario.scenario import Scenario, declaration
from ..sweep.axes import Array
from ..sweep.sweep import Sweep
from .sweep_arguments import SweepQuestions

GROUP_SIZE = 512  # points that are estimated together
Outcomes = Callable[[Iterator[Scenario]], Iterator[Result | None]]  # of scenarios in order; None where there is none (yet)


@dataclass(frozen=True)
class Survey:
    """Facts about all points of a sweep.

    header: the table's columns.
    columns: the numbers that answers need, by name, in the order of the sweep's points.
    any_ran: whether any point ran.
    kernels: the arithmetic kernels with which trained points were computed.
    rows: the rows as text, in the order of the sweep's points, if they are held.
    """

    header: csv_table.Header
    columns: Mapping[str, Array]
    any_ran: bool
    kernels: frozenset[str] = frozenset()
    rows: Sequence[csv_table.RowText] = ()


def survey(
    points: Sweep, fidelity: Fidelity, outcomes: Outcomes, questions: SweepQuestions, *, hold_rows: bool = False
) -> Survey:
    """Return the survey of all points; raises LookupError if a point has no outcome.

    A held row takes 2 kB.
    """
    size = len(points.is_possible)
    columns = {name: np.full(size, np.nan) for name in questions.names}
    run_count, kernels = 0, set()

    def looked() -> Iterator[csv_table.Row]:
        nonlocal run_count
        for index, (row, result) in enumerate(
            rows(points, fidelity, outcomes, range(size), lambda place: questions.row(columns, 0, place))
        ):
            if result:
                for name, column in columns.items():
                    metric_value = result_number(result, name)
                    column[index] = np.nan if metric_value is None else metric_value
                run_count += result.ran
                kernels.update([result.arithmetic] if result.training else [])
            yield row

    held = [*csv_table.row_texts(looked())] if hold_rows else []
    header = csv_table.header_of_texts(held) if hold_rows else csv_table.header_of_rows(looked())
    return Survey(header, columns, run_count > 0, frozenset(kernels), held)


def ordered_rows(
    points: Sweep,
    fidelity: Fidelity,
    survey: Survey,
    outcomes: Outcomes,
    order: Sequence[int],
    answers: Callable[[int], Mapping[str, csv_table.Cell]],
) -> Iterator[csv_table.RowText]:
    """Yield the rows of the points at the indices `order`, as text.

    Rows that are not held are read again.
    """
    if not survey.rows:
        yield from csv_table.row_texts(row for row, _ in rows(points, fidelity, outcomes, order, answers))
    for place in order if survey.rows else ():
        row = survey.rows[place]
        yield csv_table.with_answers(row, answers(place)) if points.is_possible[place] else row


def rows(
    points: Sweep,
    fidelity: Fidelity,
    outcomes: Outcomes,
    order: Sequence[int],
    answers: Callable[[int], Mapping[str, csv_table.Cell]],
) -> Iterator[tuple[csv_table.Row, Result | None]]:
    """Yield the table's rows of the points at the indices `order`, each with its result.

    The result is None for a point that is refused. Raises LookupError where a point has no outcome.
    """
    index = np.cumsum(points.is_possible) - 1
    results = outcomes(points[int(index[place])] for place in order if points.is_possible[place])
    base = texts(points.base)
    for place in order:
        if points.is_possible[place]:
            result = next(results)
            if result is None:
                raise LookupError(place)
            yield csv_table.result_row(result, fidelity, answers(place)), result
        else:
            refused = points.refused[place - int(index[place]) - 1]
            knob_texts = {path: knobs.write(declaration(path), knob_value) for path, knob_value in refused.place.items()}
            yield csv_table.refused_row(base | knob_texts, refused.sentence), None


def estimate_in_groups(scenarios: Iterator[Scenario], failed: list[str]) -> Iterator[Result]:
    """Yield estimates of scenarios, computed in groups by this process.

    The sentences of refused scenarios are added to `failed`.
    """
    while group := list(islice(scenarios, GROUP_SIZE)):
        results = estimates(group)
        failed += [result.outcome for result in results if not result.results]
        yield from results
