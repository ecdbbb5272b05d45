"""Undisturbed runs, in which nothing trains and nothing strikes: counted, scheduled, and made results, alone or together."""

from math import inf

from ..amounts.counted import OnProgress, counted_traffic, ignore_progress
from ..core.memo import remembered
from ..run.run import UNDISTURBED
from ..run.upcoming_faults import UpcomingFaults
from ..scenario.scenario import Scenario
from ..schedule.evaluate import DesignPoint, Observed, PlannedBatches, plan
from ..workload.readers.criteo import CriteoFile
from .explanation import report_result, warnings
from .report import undisturbed_report
from .result import Result


@remembered()
def _first_strike(s: Scenario) -> float:
    first = UpcomingFaults(s).peek()
    return first.at if first else inf


@remembered(most=16)
def planned(
    s: Scenario, system: str, *, file: CriteoFile | None = None, on_progress: OnProgress = ignore_progress
) -> PlannedBatches:
    """Return the plan of a run's batches, counted from their ids."""
    amounts = counted_traffic(s, system, file=file, on_progress=on_progress)
    return plan(s, system, amounts, amounts)


def undisturbed_result(point: DesignPoint, seen: Observed, notes: tuple[str, ...] = ()) -> Result | None:
    """Return a run as a result, with tables if its timeline was observed; None if a fault strikes before it is over."""
    if seen.whole is None or _first_strike(point.machine.scenario) < seen.whole.elapsed:
        return None
    report = undisturbed_report(point, seen, seen.whole, point.plan.amounts.batches)
    return report_result(point.scenario, report, UNDISTURBED, (*notes, *warnings(point.scenario, report)), seen.whole.line)
