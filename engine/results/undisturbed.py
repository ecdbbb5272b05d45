"""Undisturbed runs, in which nothing trains and nothing strikes: counted, scheduled, and made results, alone or together."""

from math import inf

from ..amounts.counted import OnProgress, counted_traffic, ignore_progress
from ..core.memo import remembered
from ..run.run import UNDISTURBED
from ..run.upcoming_faults import UpcomingFaults
from ..scenario.scenario import Scenario
from ..schedule.evaluate import DesignPoint, Observed, PlannedBatches, Whole, plan
from ..workload.readers.criteo import CriteoFile
from .explanation import finding, warnings
from .ledger import undisturbed_ledger
from .metrics import measure
from .report import Report
from .result import Result
from .tables import device_rows, timeline_rows


def is_undisturbed(point: DesignPoint, seen: Observed) -> bool:
    """Return whether a point's whole run is over before a fault can strike it."""
    return seen.whole is not None and _first_strike(point.machine.scenario) >= seen.whole.elapsed


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


def undisturbed_result(point: DesignPoint, seen: Observed, notes: tuple[str, ...] = ()) -> Result:
    """Return a run as a result, with tables if its timeline was observed."""
    if seen.whole is None:
        raise ValueError("a run was observed for its averages alone.")
    report, line = _report(point, seen, seen.whole), seen.whole.line
    return Result(
        point.scenario,
        ran=True,
        outcome=UNDISTURBED,
        results=measure(report),
        breakdown=report.steady.rows if line else (),
        devices=device_rows(report) if line else (),
        ledger=report.ledger.rows if line else (),
        timeline=timeline_rows(line) if line else (),
        warnings=(*notes, *warnings(point.scenario, report)),
        finding=finding(report),
    )


def _report(point: DesignPoint, seen: Observed, whole: Whole) -> Report:
    m, amounts, devices = point.machine, point.plan.amounts, point.machine.devices
    busy, dynamic, logs = dict.fromkeys(devices, 0.0), dict.fromkeys(devices, 0.0), 0.0
    for (stage, name), (seconds, joules) in zip(point.plan.layout.cells, whole.cells, strict=True):
        busy[name] += seconds
        dynamic[name] += joules
        logs += joules if stage == "Checkpoint" else 0.0
    static = {name: device.idle_watts * whole.elapsed for name, device in devices.items()}
    watts = sum([device.idle_watts for device in devices.values()])
    every = watts * whole.elapsed + sum(dynamic.values())
    return Report(
        machine=m,
        steady=seen.average,
        batches=amounts.batches,
        elapsed=whole.elapsed,
        static=static,
        dynamic=dynamic,
        busy=busy,
        pmem_written=whole.written,
        pmem_media_written=whole.media,
        staleness=seen.stale if m.log_policy.log else None,
        ledger=undisturbed_ledger(whole.elapsed, whole.waits, every, watts * whole.waits + logs),
        hit_rate=amounts.hit_rate if m.system.cache else None,
        drives_share=amounts.drives_share if m.system.caches else None,
    )
