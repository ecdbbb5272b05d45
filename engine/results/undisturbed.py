"""Undisturbed runs, in which nothing trains and nothing strikes: counted, scheduled, and made results, alone or together."""

from collections.abc import Iterator, Sequence
from math import inf

from ..amounts.counted import OnProgress, counted_traffic, ignore_progress
from ..core.memo import remembered
from ..run.run import UNDISTURBED
from ..run.upcoming_faults import UpcomingFaults
from ..scenario.scenario import Scenario
from ..schedule.evaluate import DesignPoint, Observed, PlannedBatches, plan
from ..systems.system import Settled, system_of
from ..workload.readers.recording import Recording
from .explanation import report_results, warnings
from .report import undisturbed_report
from .result import Result


@remembered()
def _first_strike(s: Scenario) -> float:
    first = UpcomingFaults(s).next
    return first.at if first else inf


@remembered(most=16, by=system_of)
def planned(settled: Settled, *, file: Recording | None = None, on_progress: OnProgress = ignore_progress) -> PlannedBatches:
    """Return the plan of a run's batches, counted from their ids."""
    amounts = counted_traffic(settled, file=file, on_progress=on_progress)
    return plan(settled, amounts, amounts)


def undisturbed_results(
    points: Sequence[DesignPoint], seen: Observed, notes: tuple[str, ...] = (), lengths: tuple[float, ...] = ()
) -> Iterator[Result | None]:
    """Yield runs as results, with tables if their timelines were observed; None if a fault strikes before one is over.

    `lengths` are the mean lookups a sample of each table in the points' data file.
    """
    if seen.whole is None:
        raise ValueError("whole runs have to be observed.")
    scenarios, batches = [point.scenario for point in points], points[0].plan.amounts.batches
    elapsed = seen.whole.elapsed.tolist()
    report = undisturbed_report(points, seen, seen.whole, batches)
    told = [
        (*notes, *warnings(one.scenario, one.machine, batches, seconds, lengths=lengths))
        for one, seconds in zip(points, elapsed, strict=True)
    ]
    found = report_results(scenarios, report, UNDISTURBED, told, seen.whole.lines)
    for point, seconds, result in zip(points, elapsed, found, strict=True):
        yield None if _first_strike(point.machine.scenario) < seconds else result
