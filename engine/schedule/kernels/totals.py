"""Sums over a schedule's batches: averages per batch, and totals of runs without faults."""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Floats, Ints
from ...core.jit import entry_kernel, inner_kernel, shared_kernel
from .template import (
    ENERGY,
    FIRST_BATCH,
    SECONDS,
    STORED_BYTES,
    Accounts,
    Averages,
    DemandCosts,
    ScheduleState,
    Stretch,
    Template,
)

BUSY, EXPOSED, JOULES = range(3)
BLOCK = 128  # machines whose accounts fit the processor's cache at once


class Sums(NamedTuple):
    """Sums over batches of costs and of written bytes.

    mean, mean_written: per mean batch, of each of C cost columns and D demands, (C,) and (D,).
    total, total_written: over the whole run, (C,) and (D,); 0 if totals are not wanted.
    Written bytes have D * P columns if the amounts of work differ between the P machines.
    """

    mean: Floats
    total: Floats
    mean_written: Floats
    total_written: Floats


def sums_of(demand_costs: DemandCosts, kind: Ints, with_totals: bool, stretch: Stretch) -> Sums:
    """Return the mean costs per batch and, if `with_totals`, the costs of the whole run.

    The mean leaves out the first two batches. `stretch` has the batches that the run repeats.
    """
    averaged, kinds = len(kind) - 2 if len(kind) > 2 else len(kind), len(demand_costs.costs)
    repeated = stretch.repeats * np.bincount(kind[stretch.first_batch + 1 : stretch.last_batch + 1], minlength=kinds)
    weight = (np.bincount(kind[len(kind) - averaged :], minlength=kinds) + repeated) / (averaged + repeated.sum())
    sums = Sums(*np.zeros((2, demand_costs.costs.shape[1])), *np.zeros((2, demand_costs.written_bytes.shape[1])))
    _sum(demand_costs.costs, weight, kind, with_totals, repeated, sums.mean, sums.total)
    _sum(demand_costs.written_bytes, weight, kind, with_totals, repeated, sums.mean_written, sums.total_written)
    return sums


@entry_kernel
def _sum(table: Floats, weight: Floats, kind: Ints, with_totals: bool, repeated: Floats, mean: Floats, total: Floats) -> None:
    for r in range(len(weight)):
        for column in range(len(mean)):
            mean[column] += weight[r] * table[r, column]
    for n in range(len(kind) if with_totals else 0):
        for column in range(len(total)):
            total[column] += table[kind[n], column]
    for r in range(len(repeated) if with_totals else 0):
        for column in range(len(total)):
            total[column] += repeated[r] * table[r, column]


@entry_kernel
def enter_averages(
    accounts: Accounts, demand_costs: DemandCosts, sums: Sums, roll: int, log_share: Floats, averages: Averages
) -> None:
    """Add the mean costs of all demands to the averages of P machines, in place.

    A rolling log, task `roll`, ran in the share `log_share` (P,) of the batches, so its costs are multiplied by this share.
    Static power goes to the stage Other. The demands of a task are neighbours in `accounts`.
    """
    for low in range(0, len(averages.step), BLOCK):
        machines, stop = range(low, min(low + BLOCK, len(averages.step))), FIRST_BATCH
        while stop < len(accounts.task):
            first_demand, task = stop, accounts.task[stop]
            while stop < len(accounts.task) and accounts.task[stop] == task:
                stop += 1
            for p in machines:
                _average_task(
                    accounts, demand_costs, sums, first_demand, stop, log_share[p] if task == roll else 1.0, p, averages
                )
        for p in machines:
            for v in range(averages.static.shape[1]):
                averages.static[p, v] = demand_costs.idle_watts[v, p] * averages.step[p]
                averages.cells[p, accounts.idle_cell[v], JOULES] += averages.static[p, v]


@shared_kernel
def written_column(accounts: Accounts, written_bytes: Floats, d: int, p: int) -> Any:
    """Return the place of a demand's written bytes on machine `p`.

    All machines share it if there is one value a demand.
    """
    per_demand = len(written_bytes) // len(accounts.task)
    return d * per_demand + p % per_demand


@inner_kernel
def _average_task(
    accounts: Accounts,
    demand_costs: DemandCosts,
    sums: Sums,
    first_demand: int,
    stop: int,
    share: float,
    p: int,
    averages: Averages,
) -> None:
    """Enter a task's demands; its exposed seconds go to the device that sets its pace."""
    pace, pacing = -1.0, 0
    for d in range(first_demand, stop):
        v, cell = accounts.device[d], accounts.cell[d]
        busy = 0.0 if accounts.excluded_from_busy[d] else sums.mean[demand_costs.column[SECONDS, d, p]]
        seconds = busy * share
        joules = sums.mean[demand_costs.column[ENERGY, d, p]] * share + seconds * demand_costs.busy_watts[v, p]
        averages.busy[p, accounts.lane[d]] += seconds
        averages.dynamic[p, v] += joules
        averages.cells[p, cell, BUSY] += seconds
        averages.cells[p, cell, JOULES] += joules
        averages.written_bytes[p] += share * sums.mean_written[written_column(accounts, sums.mean_written, d, p)]
        averages.media_bytes[p] += share * sums.mean[demand_costs.column[STORED_BYTES, d, p]]
        if busy > pace:
            pace, pacing = busy, cell
    averages.cells[p, pacing, EXPOSED] += averages.exposed[p, accounts.task[first_demand]]


class Totals(NamedTuple):
    """Totals of runs of N batches without faults, on P machines.

    The machines have L lanes and C breakdown cells.

    makespan: the time when all tasks except the rolling log had ended [s], (P,).
    ends: the time when each batch had ended [s], (N, P).
    busy: busy seconds of each lane, (P, L).
    joules: energy (of amounts and of power while busy) of each cell, (P, C).
    written_bytes, media_bytes: bytes that training writes to persistent memory, and bytes that its media store for them, (P,).
    start, end: start and end of each of K tasks of each batch [s], (P, N, K); (0, N, K) if timelines are not wanted.
    """

    makespan: Floats
    ends: Floats
    busy: Floats
    joules: Floats
    written_bytes: Floats
    media_bytes: Floats
    start: Floats
    end: Floats

    def of_machines(self, machines: Ints) -> "Totals":
        """Return the totals of the machines with the given indices."""
        return Totals(
            self.makespan[machines], self.ends[:, machines], *[column[machines] if len(column) else column for column in self[2:]]
        )


def empty_totals(points: int, shape: tuple[int, int], accounts: Accounts, lines: bool = False) -> Totals:
    """Return totals filled with 0 for `points` runs of `shape` = (N batches, K tasks).

    With `lines` the totals have room for the start and end of each task. 0 points switch totals off.
    """
    makespan, bytes_written, media = np.zeros((3, points))
    start, end = np.empty((2, points if lines else 0, *shape))
    busy, joules = np.zeros((points, len(accounts.device_of_lane))), np.zeros((points, accounts.cells))
    return Totals(makespan, np.zeros((shape[0], points)), busy, joules, bytes_written, media, start, end)


@inner_kernel
def enter_run(
    graph: Template,
    state: ScheduleState,
    kind: Ints,
    accounts: Accounts,
    demand_costs: DemandCosts,
    stretch: Stretch,
    p: int,
    totals: Totals,
) -> None:
    """Write the times of machine `p` and its log's costs into `totals`.

    The log is the rolling log. A log that is unfinished at the end of the run counts by the share that is done.
    """
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
            _enter_log(graph, state, kind, accounts, demand_costs, stretch, p, d, totals)
    totals.makespan[p] += stretch.repeats * (totals.ends[stretch.last_batch, p] - totals.ends[stretch.first_batch, p])


@entry_kernel
def enter_demands(accounts: Accounts, demand_costs: DemandCosts, sums: Sums, totals: Totals, roll: int) -> None:
    """Add the costs of P whole runs to `totals`, except those of the rolling log."""
    for d in range(len(accounts.task)):
        cell, v = accounts.cell[d], accounts.device[d]
        for p in range(0 if accounts.task[d] == roll else len(totals.makespan)):
            busy = 0.0 if accounts.excluded_from_busy[d] else sums.total[demand_costs.column[SECONDS, d, p]]
            joules = sums.total[demand_costs.column[ENERGY, d, p]]
            totals.busy[p, accounts.lane[d]] += busy
            totals.joules[p, cell] += joules + busy * demand_costs.busy_watts[v, p]
            totals.written_bytes[p] += sums.total_written[written_column(accounts, sums.total_written, d, p)]
            totals.media_bytes[p] += sums.total[demand_costs.column[STORED_BYTES, d, p]]


@inner_kernel
def _enter_log(
    graph: Template,
    state: ScheduleState,
    kind: Ints,
    accounts: Accounts,
    demand_costs: DemandCosts,
    stretch: Stretch,
    p: int,
    d: int,
    totals: Totals,
) -> None:
    busy, joules, column = 0.0, 0.0, demand_costs.column[:, d, p]
    place = written_column(accounts, demand_costs.written_bytes[0], d, p)
    for n in range(len(kind)):
        r, share = kind[n], _done_share(graph, state, n, totals.makespan[p])
        if stretch.repeats > 0.0:
            low, high = totals.ends[stretch.first_batch, p], totals.ends[stretch.last_batch, p]
            share += stretch.repeats * logged_share(graph, state, n, low, high, totals.makespan[p])
        busy += 0.0 if accounts.excluded_from_busy[d] else share * demand_costs.costs[r, column[SECONDS]]
        joules += share * demand_costs.costs[r, column[ENERGY]]
        totals.written_bytes[p] += share * demand_costs.written_bytes[r, place]
        totals.media_bytes[p] += share * demand_costs.costs[r, column[STORED_BYTES]]
    totals.busy[p, accounts.lane[d]] += busy
    totals.joules[p, accounts.cell[d]] += joules + busy * demand_costs.busy_watts[accounts.device[d], p]


@inner_kernel
def logged_share(graph: Template, state: ScheduleState, n: int, low: float, high: float, end_seconds: float) -> Any:
    """Return the share of batch n's log that is written between `low` and `high` [s].

    The log is written at an even rate, and at most until `end_seconds`, the end of the run. Return 0 for a skipped log.
    """
    run = state.tasks[n * len(graph.tasks) + graph.roll]
    end = run.end if run.end <= end_seconds else end_seconds
    if not run.start < min(high, end) or end <= low:
        return 0.0
    share = (min(end, high) - max(run.start, low)) / (end - run.start)
    return share * _done_share(graph, state, n, end_seconds)


@inner_kernel
def _done_share(graph: Template, state: ScheduleState, n: int, end_seconds: float) -> Any:
    """Return the share of batch n's log that is done at `end_seconds`, the end of the run."""
    run, seconds = state.tasks[n * len(graph.tasks) + graph.roll], state.log_seconds[n]
    if run.end <= end_seconds:
        return 1.0
    if not run.start < end_seconds or seconds <= 0:
        return 0.0
    return min(min(end_seconds - run.start, seconds - run.left) / seconds, 1.0)
