"""Mean batches and whole runs that nothing cuts in accounts: sums of costs, what demands take on average, and totals."""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Floats, Ints
from ...core.jit import entry, inner
from .template import ENERGY, FIRST, SECONDS, STORED, Accounts, Averages, ScheduleState, Stretch, Taken, Template

BUSY, EXPOSED, JOULES = range(3)
BLOCK = 128  # machines whose accounts are near at once


class Sums(NamedTuple):
    """Costs of each column, (C,), and bytes written of each demand, (D,): by mean batch, in all."""

    mean: Floats
    total: Floats
    mean_written: Floats
    total_written: Floats


def sums_of(taken: Taken, kind: Ints, whole: bool, stretch: Stretch) -> Sums:
    """Average what is taken over the batches after the first two and, if `whole`, total it over all of them."""
    averaged, kinds = len(kind) - 2 if len(kind) > 2 else len(kind), len(taken.costs)
    repeated = stretch.times * np.bincount(kind[stretch.first + 1 : stretch.last + 1], minlength=kinds)
    weight = (np.bincount(kind[len(kind) - averaged :], minlength=kinds) + repeated) / (averaged + repeated.sum())
    sums = Sums(*np.zeros((2, taken.costs.shape[1])), *np.zeros((2, taken.written.shape[1])))
    _sum(taken.costs, weight, kind, whole, repeated, sums.mean, sums.total)
    _sum(taken.written, weight, kind, whole, repeated, sums.mean_written, sums.total_written)
    return sums


@entry
def _sum(table: Floats, weight: Floats, kind: Ints, whole: bool, repeated: Floats, mean: Floats, total: Floats) -> None:
    for r in range(len(weight)):
        for column in range(len(mean)):
            mean[column] += weight[r] * table[r, column]
    for n in range(len(kind) if whole else 0):
        for column in range(len(total)):
            total[column] += table[kind[n], column]
    for r in range(len(repeated) if whole else 0):
        for column in range(len(total)):
            total[column] += repeated[r] * table[r, column]


@entry
def average(accounts: Accounts, taken: Taken, sums: Sums, roll: int, ran: Floats, averages: Averages) -> None:
    """Enter what demands take on average in the accounts of machines; a rolling log, task `roll`, `ran` in a share, (P,).

    Static power goes to Other. A task's demands follow each other, and what a task takes of many machines stands side by side.
    """
    for low in range(0, len(averages.step), BLOCK):
        machines, stop = range(low, min(low + BLOCK, len(averages.step))), FIRST
        while stop < len(accounts.task):
            first, task = stop, accounts.task[stop]
            while stop < len(accounts.task) and accounts.task[stop] == task:
                stop += 1
            for p in machines:
                _average_task(accounts, taken, sums, first, stop, ran[p] if task == roll else 1.0, p, averages)
        for p in machines:
            for v in range(averages.static.shape[1]):
                averages.static[p, v] = taken.idle_watts[v, p] * averages.step[p]
                averages.cells[p, accounts.other[v], JOULES] += averages.static[p, v]


@inner
def _average_task(
    accounts: Accounts, taken: Taken, sums: Sums, first: int, stop: int, share: float, p: int, averages: Averages
) -> None:
    """Enter a task's demands; its exposed seconds go to the device that sets its pace."""
    pace, pacing = -1.0, 0
    for d in range(first, stop):
        v, cell = accounts.device[d], accounts.cell[d]
        busy = 0.0 if accounts.beside[d] else sums.mean[taken.column[SECONDS, d, p]]
        seconds = busy * share
        joules = sums.mean[taken.column[ENERGY, d, p]] * share + seconds * taken.busy_watts[v, p]
        averages.busy[p, v] += seconds
        averages.dynamic[p, v] += joules
        averages.cells[p, cell, BUSY] += seconds
        averages.cells[p, cell, JOULES] += joules
        averages.written[p] += share * sums.mean_written[d]
        averages.media[p] += share * sums.mean[taken.column[STORED, d, p]]
        if busy > pace:
            pace, pacing = busy, cell
    averages.cells[p, pacing, EXPOSED] += averages.exposed[p, accounts.task[first]]


class Totals(NamedTuple):
    """Whole runs of P machines, of N batches: when all had ended, when each batch had, (N, P), bytes, (P,).

    `cells` (P, C, 2) are busy seconds and joules by amounts and watts. `start` and `end` (P, N, K) are kept if there is room.
    """

    makespan: Floats
    ends: Floats
    cells: Floats
    written: Floats
    media: Floats
    start: Floats
    end: Floats

    def of(self, some: Ints) -> "Totals":
        """Return those of some of the machines."""
        return Totals(self.makespan[some], self.ends[:, some], *[each[some] if len(each) else each for each in self[2:]])


def empty_totals(points: int, shape: tuple[int, int], cells: int, lines: bool = False) -> Totals:
    """Return room for so many runs of (N, K) tasks, with their timelines if these are wanted; for none, nothing is totalled."""
    makespan, written, media = np.zeros((3, points))
    start, end = np.empty((2, points if lines else 0, *shape))
    return Totals(makespan, np.zeros((shape[0], points)), np.zeros((points, cells, 2)), written, media, start, end)


@inner
def total(
    graph: Template,
    state: ScheduleState,
    kind: Ints,
    accounts: Accounts,
    taken: Taken,
    stretch: Stretch,
    p: int,
    totals: Totals,
) -> None:
    """Total when a run did what that nothing cuts, and a rolling log, which its end may leave undone; all else is done whole."""
    reached, lines, width = 0.0, len(totals.start) > 0, len(graph.tasks)
    for n in range(len(kind)):
        for k in range(width):
            run = state.tasks[n * width + k]
            if lines:
                totals.start[p, n, k], totals.end[p, n, k] = run.start, run.end
            if k != graph.roll:
                totals.makespan[p] = max(totals.makespan[p], run.end)
                reached = reached if graph.tasks[k].background else max(reached, run.end)
        totals.ends[n, p] = reached
    for d in range(len(accounts.task)):
        if accounts.task[d] == graph.roll:
            _enter_log(graph, state, kind, accounts, taken, stretch, p, d, totals)
    totals.makespan[p] += stretch.times * (totals.ends[stretch.last, p] - totals.ends[stretch.first, p])


@entry
def enter(accounts: Accounts, taken: Taken, sums: Sums, totals: Totals, roll: int) -> None:
    """Enter what all demands of machines' runs take, but those of a rolling log, whenever they are done."""
    for d in range(len(accounts.task)):
        cell, v = accounts.cell[d], accounts.device[d]
        for p in range(0 if accounts.task[d] == roll else len(totals.makespan)):
            busy = 0.0 if accounts.beside[d] else sums.total[taken.column[SECONDS, d, p]]
            joules = sums.total[taken.column[ENERGY, d, p]]
            totals.cells[p, cell, 0] += busy
            totals.cells[p, cell, 1] += joules + busy * taken.busy_watts[v, p]
            totals.written[p] += sums.total_written[d]
            totals.media[p] += sums.total[taken.column[STORED, d, p]]


@inner
def _enter_log(
    graph: Template,
    state: ScheduleState,
    kind: Ints,
    accounts: Accounts,
    taken: Taken,
    stretch: Stretch,
    p: int,
    d: int,
    totals: Totals,
) -> None:
    busy, joules, column = 0.0, 0.0, taken.column[:, d, p]
    for n in range(len(kind)):
        r, share = kind[n], _done(graph, state, n, totals.makespan[p])
        if stretch.times > 0.0:
            low, high = totals.ends[stretch.first, p], totals.ends[stretch.last, p]
            share += stretch.times * logged(graph, state, n, low, high, totals.makespan[p])
        busy += 0.0 if accounts.beside[d] else share * taken.costs[r, column[SECONDS]]
        joules += share * taken.costs[r, column[ENERGY]]
        totals.written[p] += share * taken.written[r, d]
        totals.media[p] += share * taken.costs[r, column[STORED]]
    totals.cells[p, accounts.cell[d], 0] += busy
    totals.cells[p, accounts.cell[d], 1] += joules + busy * taken.busy_watts[accounts.device[d], p]


@inner
def logged(graph: Template, state: ScheduleState, n: int, low: float, high: float, at: float) -> Any:
    """Return the share of batch n's log that falls between two instants, as if written evenly until its end, or until `at`."""
    run = state.tasks[n * len(graph.tasks) + graph.roll]
    end = run.end if run.end <= at else at
    if not run.start < min(high, end) or end <= low:
        return 0.0
    share = (min(end, high) - max(run.start, low)) / (end - run.start)
    return share * _done(graph, state, n, at)


@inner
def _done(graph: Template, state: ScheduleState, n: int, at: float) -> Any:
    """Return the share of batch n's log that is done `at` the end of the run."""
    run, seconds = state.tasks[n * len(graph.tasks) + graph.roll], state.log_seconds[n]
    if run.end <= at:
        return 1.0
    if not run.start < at or seconds <= 0:
        return 0.0
    return min(min(at - run.start, seconds - run.left) / seconds, 1.0)
