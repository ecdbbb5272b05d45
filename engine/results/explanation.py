"""A run's result: metrics, tables, warnings, and the finding, which says what sets the pace of a batch and what would help."""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter

from ..core.arrays import Row
from ..errors import CannotRun
from ..hardware.devices.pmem import told_modules
from ..run.run import Run
from ..scenario.scenario import KNOBS, Scenario
from ..schedule.evaluate import NotScheduled
from ..schedule.machine import Machine
from ..schedule.timeline import Line
from . import tables
from .metrics import measure, metrics
from .report import Report
from .result import Result

SHORT_RUN = 3
ESTIMATED = "estimated from expected accesses, without faults"
IN_RECOVERY = "faults.fault_in_recovery_at_seconds"  # counts from a fault, not from the start
AT = tuple(path for path in KNOBS if path.endswith("_at_seconds") and path != IN_RECOVERY)
LISTED = attrgetter(*AT)


def run_result(asked: Scenario, run: Run, report: Report, curve: tuple[Row, ...], notes: tuple[str, ...]) -> Result:
    """Return the result of a full run of the scenario as it was asked for."""
    told = (*notes, *warnings(asked, report, run.completed))
    found = report_result(asked, report, run.outcome, told, run.planned, run.completed)
    return replace(found, training=tables.thinned(list(curve)), events=tables.event_rows(run))


def report_result(
    asked: Scenario, report: Report, outcome: str, told: tuple[str, ...], line: Line | None, ran: bool = True
) -> Result:
    """Return a report as a result; it has tables if there is a timeline to draw."""
    return Result(
        scenario=asked,
        ran=ran,
        outcome=outcome,
        results=measure(report),
        breakdown=report.steady.rows if line else (),
        devices=tables.device_rows(report) if line else (),
        ledger=report.ledger.rows if line else (),
        timeline=tables.timeline_rows(line) if line else (),
        warnings=told,
        finding=finding(report),
    )


def warnings(asked: Scenario, report: Report, completed: bool = True) -> tuple[str, ...]:
    """Return what a reader of a full run must know: that it is short, or that what was asked for never came."""
    missed = _missed(asked, report.elapsed) if completed else ()
    return (*_short(report), *missed, *passes(asked), *rounded_up(asked, report.machine))


def unscheduled_result(one: NotScheduled) -> Result:
    """Return the result of a scenario that never got a schedule; one that is refused has no numbers at all."""
    if one.error and not isinstance(one.error, CannotRun):
        return Result(one.scenario, ran=False, outcome=str(one.error), results={})
    return infeasible_result(one.scenario, (str(one.error),) if one.error else one.problems)


def infeasible_result(asked: Scenario, problems: tuple[str, ...]) -> Result:
    """Return the result of a scenario that does not fit: the first problem is the outcome, the rest are warnings."""
    nothing: dict[str, float | None] = {metric.name: None for metric in metrics()}
    return Result(scenario=asked, ran=False, outcome=problems[0], results=nothing, warnings=problems[1:])


def _short(report: Report) -> tuple[str, ...]:
    if report.batches >= SHORT_RUN:
        return ()
    return (f"run.batches={report.batches} is too short for a steady state; step time is the mean from the start.",)


def _missed(asked: Scenario, elapsed: float) -> tuple[str, ...]:
    """Return a sentence for each list of instants that goes on after the end."""
    late = {path: [at for at in listed if at >= elapsed] for path, listed in zip(AT, LISTED(asked), strict=True)}
    told = f"is after the end of the run at {elapsed:.4g} s; it never struck."
    return tuple(f"{path}={min(some):g} {told}" for path, some in late.items() if some)


def rounded_up(asked: Scenario, machine: Machine) -> tuple[str, ...]:
    """Return the sentence that a PMEM capacity is no number of whole modules, and what it became."""
    wanted, settled = asked.machine.pmem_capacity_GB, machine.scenario.machine
    if wanted is None or wanted == settled.pmem_capacity_GB or "pmem" not in machine.devices:
        return ()
    return (
        f"machine.pmem_capacity_GB={wanted:.15g} is rounded up to whole modules: {told_modules(settled)}, which are "
        f"{settled.pmem_capacity_GB:.15g} GB.",
    )


def passes(asked: Scenario) -> tuple[str, ...]:
    """Return the sentence that passes over a file count nothing without a file."""
    if asked.run.passes is None or asked.data.digest:
        return ()
    return (
        f"run.passes={asked.run.passes} counts passes over a data file; without one, run.batches={asked.run.batches} counts.",
    )


def finding(report: Report) -> str:
    """Return two sentences: the largest exposed part of a step, and how busy the CXL link is, if there is one."""
    steady = report.steady
    stage, name, _, exposed, _ = max(steady.cells, key=lambda cell: cell[3])
    device = report.machine.devices[name]
    first = (
        f"{stage} on {device.title} is exposed for {_milliseconds(exposed)} of the "
        f"{_milliseconds(steady.step)} step ({exposed / steady.step:.0%}); {device.helps}."
    )
    return f"{first} {_link(steady.busy, steady.step, name)}".strip()


def _link(busy: Mapping[str, float], step: float, largest: str) -> str:
    if "cxl" not in busy or largest == "cxl":
        return ""
    share = busy["cxl"] / step
    hint = "more CXL bandwidth would change little" if share < 0.3 else "a slower link would soon show"
    return f"The CXL link carries data for {share:.0%} of the time: {hint}."


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} µs"
