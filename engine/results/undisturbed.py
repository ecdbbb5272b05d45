"""Runs without training and without faults: counted, scheduled, and made results.

One run or many runs with the same plan can be computed at once.
"""

from collections.abc import Iterator, Sequence
from math import inf

from ..amounts.counted import OnProgress, counted_traffic, ignore_progress
from ..core.memo import memoised
from ..run.run import UNDISTURBED
from ..run.upcoming_faults import UpcomingFaults
from ..scenario.scenario import Scenario
from ..schedule.evaluate import DesignPoint, Observations, PlannedBatches, plan
from ..systems.system import Settled, system_of
from ..workload.readers.recording import Recording
from .explanation import report_results, run_warnings
from .report import undisturbed_report
from .result import Result


@memoised()
def _first_strike(s: Scenario) -> float:
    strike = UpcomingFaults(s).next_strike
    return strike.seconds if strike else inf


@memoised(most=16, by=system_of)
def planned_batches(
    settled: Settled, *, file: Recording | None = None, on_progress: OnProgress = ignore_progress
) -> PlannedBatches:
    """Return the plan of a run's batches, with amounts counted from the row ids.

    `file` is a data file, or None for generated data.
    """
    amounts = counted_traffic(settled, file=file, on_progress=on_progress)
    return plan(settled, amounts, amounts)


def undisturbed_results(
    points: Sequence[DesignPoint], observed: Observations, notes: tuple[str, ...] = (), lengths: tuple[float, ...] = ()
) -> Iterator[Result | None]:
    """Yield the result of each run, or None for a run that a fault strikes.

    A result has tables if `observed` has timelines.
    `lengths` are the mean lookups per sample in each table of the data file; () without a data file.
    """
    if observed.uncut_runs is None:
        raise ValueError("whole runs have to be observed.")
    scenarios, batches = [point.scenario for point in points], points[0].plan.amounts.batches
    elapsed = observed.uncut_runs.elapsed.tolist()
    report = undisturbed_report(points, observed, observed.uncut_runs, batches)
    point_notes = [
        (*notes, *run_warnings(point.scenario, point.machine, batches, seconds, lengths=lengths))
        for point, seconds in zip(points, elapsed, strict=True)
    ]
    results = report_results(scenarios, report, UNDISTURBED, point_notes, observed.uncut_runs.timelines)
    for point, seconds, result in zip(points, elapsed, results, strict=True):
        yield None if _first_strike(point.machine.scenario) < seconds else result
