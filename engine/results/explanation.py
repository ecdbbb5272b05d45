"""A run's result: metrics, tables, warnings, and the finding, which says what sets the pace of a batch and what would help."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from ..core.figures import exact, figure, percent
from ..core.memo import remembered
from ..errors import CannotRun
from ..faults.fault import Strike, strikes
from ..hardware.devices.pmem import told_modules
from ..hardware.prices import unpriced
from ..run.run import Run
from ..run.training_curve import TrainingOutcome
from ..scenario.scenario import KNOBS, Scenario, per_table
from ..scenario.sequences import sequence_notes
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
LATEST, MOST_STRIKES = 1.05, 1000  # an estimate may be short by 5 %
MOST_REPAIRS = 20_000  # of all nodes that are struck, each of them drawn


def run_result(
    asked: Scenario,
    run: Run,
    report: Report,
    learned: TrainingOutcome,
    notes: tuple[str, ...],
    lengths: tuple[float, ...] = (),
) -> Result:
    """Return the result of a full run of the scenario as it was asked for; `lengths` as in `warnings`."""
    told = (*notes, *warnings(asked, report.machine, report.batches, report.elapsed, run.completed, lengths))
    (found,) = report_results([asked], report, run.outcome, [told], [run.planned])
    curve = tables.thinned(list(learned.rows))
    return replace(found, ran=run.completed, training=curve, events=tables.event_rows(run), arithmetic=learned.arithmetic)


def report_results(
    asked: Sequence[Scenario], report: Report, outcome: str, told: Iterable[tuple[str, ...]], lines: Iterable[Line | None]
) -> list[Result]:
    """Return a report as each scenario's result; it has tables if there is a timeline to draw."""
    found = zip(asked, measure(report), told, findings(report), strict=True)
    results = [Result(one, True, outcome, numbers, warnings=notes, finding=said) for one, numbers, notes, said in found]
    for i, line in zip(range(len(asked)), lines, strict=False):
        if not line:
            return results
        mine = report.at(i) if isinstance(report.elapsed, np.ndarray) else report
        results[i] = replace(
            results[i],
            breakdown=mine.steady.rows,
            devices=tables.device_rows(mine),
            ledger=mine.ledger.rows,
            timeline=tables.timeline_rows(line),
        )
    return results


def warnings(
    asked: Scenario,
    machine: Machine,
    batches: int,
    elapsed: float,
    completed: bool = True,
    lengths: tuple[float, ...] = (),
) -> tuple[str, ...]:
    """Return what a reader of a full run must know: that it is short, or that what was asked for never came.

    `lengths` are the mean lookups a sample of each table in the data file; () without one.
    """
    missed = _missed(asked, elapsed) if completed else ()
    return (
        *sequence_notes(asked, lengths),
        *_short(batches),
        *missed,
        *passes(asked),
        *rounded_up(asked, machine),
        *unpriced(machine.scenario.machine, machine.devices),
        *_inexact(machine),
    )


def _inexact(machine: Machine) -> tuple[str, ...]:
    """Say where early lookups are not those of a lookup after the update, to the last bit, even with one lookup a bag."""
    narrow = [one for one in dict.fromkeys(per_table(machine.scenario.model, "row_precision")) if one != "fp32"]
    if not narrow or not machine.log_policy.relaxed_lookup:
        return ()
    return (
        f"Relaxed lookup with {' and '.join(narrow)} rows is not exact: a row's rounded change is added to pooled vectors in "
        "fp32, so they agree with a strict lookup to fp32's rounding, not to the bit; policy.relaxed_lookup=off is exact.",
    )


def unscheduled_result(one: NotScheduled) -> Result:
    """Return the result of a scenario that never got a schedule; one that is refused has no numbers at all."""
    if one.error and not isinstance(one.error, CannotRun):
        return Result(one.scenario, ran=False, outcome=str(one.error), results={})
    return infeasible_result(one.scenario, (str(one.error),) if one.error else one.problems)


def infeasible_result(asked: Scenario, problems: tuple[str, ...]) -> Result:
    """Return the result of a scenario that does not fit: the first problem is the outcome, the rest and cautions are warnings."""
    nothing: dict[str, float | None] = {metric.name: None for metric in metrics()}
    return Result(
        scenario=asked, ran=False, outcome=problems[0], results=nothing, warnings=(*problems[1:], *sequence_notes(asked))
    )


def _short(batches: int) -> tuple[str, ...]:
    if batches >= SHORT_RUN:
        return ()
    return (f"run.batches={batches} is too short for a steady state; step time is the mean from the start.",)


def _missed(asked: Scenario, elapsed: float) -> tuple[str, ...]:
    """Return a sentence for each list of instants that goes on after the end."""
    late = {path: [at for at in listed if at >= elapsed] for path, listed in zip(AT, LISTED(asked), strict=True)}
    told = f"is after the end of the run at {figure(elapsed, 's')}; it never struck."
    return tuple(f"{path}={min(some):g} {told}" for path, some in late.items() if some)


def rounded_up(asked: Scenario, machine: Machine) -> tuple[str, ...]:
    """Return the sentence that a PMEM capacity is no number of whole modules, and what it became."""
    wanted, settled = asked.machine.pmem_capacity_GB, machine.scenario.machine
    if wanted is None or wanted == settled.pmem_capacity_GB or "pmem" not in machine.devices:
        return ()
    return (
        f"machine.pmem_capacity_GB={wanted:.15g} is rounded up to whole modules: {told_modules(settled)}, which are "
        f"{exact(settled.pmem_capacity_GB or 0.0)} GB.",
    )


def too_late(asked: Scenario, elapsed: float) -> tuple[str, ...]:
    """Return a sentence for each list of instants that an estimate of these seconds shows to be after the run's end.

    The end is taken late: an estimate can be short, and what a stop costs beside its outage is at most known.
    """
    if not any(LISTED(asked)):
        return ()
    end = LATEST * elapsed
    for strike in _first_strikes(asked):
        if strike is None:
            return ()
        if strike.at >= end:
            break
        end += (2 * (strike.detect + strike.repair + asked.faults.restart_seconds) + elapsed) * strike.kind.stops
    late = {path: [at for at in listed if at >= end] for path, listed in zip(AT, LISTED(asked), strict=True)}
    told = f"cannot strike, since the run ends before, after about {figure(elapsed, 's')} without faults"
    remedy = "choose an earlier instant, or more batches."
    return tuple(f"{KNOBS[path].label} {exact(min(some))} s {told}; {remedy}" for path, some in late.items() if some)


@remembered(most=64)
def _first_strikes(asked: Scenario) -> tuple[Strike | None, ...]:
    """Return the first strikes of a scenario, the same for all estimates that differ in no fault; None ends too many."""
    found: list[Strike | None] = []
    repairs = 0
    for strike in strikes(asked):
        repairs += strike.nodes
        if len(found) == MOST_STRIKES or repairs > MOST_REPAIRS:
            return (*found, None)
        found.append(strike)
    return tuple(found)


def passes(asked: Scenario) -> tuple[str, ...]:
    """Return the sentence that passes over a file count nothing without a file."""
    if asked.run.passes is None or asked.data.digest:
        return ()
    return (
        f"run.passes={asked.run.passes} counts passes over a data file; without one, run.batches={asked.run.batches} counts.",
    )


def findings(report: Report) -> Iterator[str]:
    """Yield two sentences for each machine: the largest exposed part of a step, and how busy the CXL link is, if there is one."""
    cells, points = report.steady.cells, len(report.machines)
    exposed, step, link = (
        np.reshape(some, (-1, points))
        for some in ([cell[3] for cell in cells], report.steady.step, report.steady.busy.get("cxl", np.full(points, np.nan)))
    )
    largest = exposed.argmax(axis=0)
    numbers = (largest, exposed[largest, range(points)], step[0], link[0])
    for machine, place, longest, seconds, busy in zip(report.machines, *(one.tolist() for one in numbers), strict=True):
        stage, name, *_ = cells[place]
        device = machine.devices[name]
        first = (
            f"{stage} on {device.title} is exposed for {_milliseconds(longest)} of the "
            f"{_milliseconds(seconds)} step ({percent(longest / seconds)}); {device.helps}."
        )
        yield f"{first} {_link(busy / seconds)}" if "cxl" in machine.devices and name != "cxl" else first


def _link(share: float) -> str:
    hint = ": more CXL bandwidth would change little" if share < 0.3 else ""
    return f"The CXL link carries data for {percent(share)} of the time{hint}."


def _milliseconds(seconds: float) -> str:
    return figure(seconds * 1e3, "ms")
