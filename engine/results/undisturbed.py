"""Undisturbed runs, in which nothing trains and nothing strikes: counted, scheduled, and made results, alone or together."""

from math import inf

from ..amounts.counted import OnProgress, counted_traffic, ignore_progress
from ..core.memo import remembered
from ..run.run import UNDISTURBED
from ..run.upcoming_faults import UpcomingFaults
from ..scenario.scenario import Scenario
from ..schedule.evaluate import DesignPoint, Observed, PlannedBatches, Whole, plan
from ..workload.readers.criteo import CriteoFile
from .explanation import report_result, warnings
from .ledger import undisturbed_ledger
from .report import Report
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
    report = _report(point, seen, seen.whole)
    told = (*notes, *warnings(point.scenario, report))
    return report_result(point.scenario, report, UNDISTURBED, told, seen.whole.line)


def _report(point: DesignPoint, seen: Observed, whole: Whole) -> Report:
    amounts, devices = point.plan.amounts, point.machine.devices
    busy, dynamic, logs = dict.fromkeys(devices, 0.0), dict.fromkeys(devices, 0.0), 0.0
    for (stage, name), (seconds, joules) in zip(point.plan.layout.cells, whole.cells, strict=True):
        busy[name] += seconds
        dynamic[name] += joules
        logs += joules if stage == "Checkpoint" else 0.0
    static = {name: device.idle_watts * whole.elapsed for name, device in devices.items()}
    watts = sum([device.idle_watts for device in devices.values()])
    every = watts * whole.elapsed + sum(dynamic.values())
    return Report(
        machine=point.machine,
        amounts=amounts,
        steady=seen.average,
        stale=seen.stale,
        batches=amounts.batches,
        elapsed=whole.elapsed,
        static=static,
        dynamic=dynamic,
        busy=busy,
        pmem_written=whole.written,
        pmem_media_written=whole.media,
        ledger=undisturbed_ledger(whole.elapsed, whole.waits, every, watts * whole.waits + logs),
    )
