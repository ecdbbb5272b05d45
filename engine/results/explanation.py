"""The result of a run: metrics, tables, warnings, and the finding.

The finding is a sentence that names the largest exposed part of a batch, and a remedy.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from ..core.figures import exact, figure, of_the_time, percent
from ..core.memo import memoised
from ..errors import CannotRun
from ..faults.fault import Strike, strikes
from ..hardware.devices.pmem import modules_in_words
from ..hardware.framework import agreement_sentences
from ..hardware.money.prices import unpriced_sentences
from ..run.run import Run
from ..run.training_curve import TrainingOutcome
from ..scenario.scenario import KNOBS, Scenario, per_table
from ..scenario.sequences import sequence_notes
from ..schedule.evaluate import NotScheduled
from ..schedule.machine import Machine
from ..schedule.timeline import TaskTimes
from ..systems.buildable import spare_gpus_note
from . import tables
from .metrics import all_metrics, metric_rows
from .report import Report
from .result import Result

STAGE_HELPS = {
    "History layers": "a faster GPU, shorter histories or fewer HSTU layers would shorten it",
    "Collective wait": "a machine.framework whose GPUs wait less for each other, or fewer collectives, would shorten it",
}

SHORT_RUN = 3
ESTIMATED = "estimated from expected accesses, without faults"
IN_RECOVERY = "faults.fault_in_recovery_at_seconds"  # counts from a fault, not from the start
INSTANT_KNOBS = tuple(path for path in KNOBS if path.endswith("_at_seconds") and path != IN_RECOVERY)
fault_instants = attrgetter(*INSTANT_KNOBS)
LATEST_FACTOR, MOST_STRIKES = 1.05, 1000  # an estimate may be short by 5 %
MOST_REPAIRS = 20_000  # of all nodes that are struck, each of them drawn


def run_result(
    scenario: Scenario,
    run: Run,
    report: Report,
    learned: TrainingOutcome,
    notes: tuple[str, ...],
    lengths: tuple[float, ...] = (),
) -> Result:
    """Return the result of a full run.

    scenario: the scenario before automatic nodes and capacity were chosen.
    learned: the results of training.
    notes: sentences that become warnings of the result.
    lengths: the mean lookups per sample in each table of the data file; () without a data file.
    """
    all_notes = (*notes, *run_warnings(scenario, report.machine, report.batches, report.elapsed, run.completed, lengths))
    (result,) = report_results([scenario], report, run.outcome, [all_notes], [run.fault_free_timeline.opening])
    curve = tables.thin_rows(learned.curve)
    return replace(result, ran=run.completed, training=curve, events=tables.event_rows(run), arithmetic=learned.arithmetic)


def report_results(
    scenarios: Sequence[Scenario],
    report: Report,
    outcome: str,
    scenario_notes: Iterable[tuple[str, ...]],
    lines: Iterable[TaskTimes | None],
) -> list[Result]:
    """Return the result of each scenario of a report.

    `outcome` is the same for all. A result has tables only if `lines` has a timeline for it.
    """
    result_parts = zip(scenarios, metric_rows(report), scenario_notes, findings(report), strict=True)
    results = [
        Result(scenario, True, outcome, numbers, warnings=notes, finding=sentence)
        for scenario, numbers, notes, sentence in result_parts
    ]
    for i, line in zip(range(len(scenarios)), lines, strict=False):
        if not line:
            return results
        point_report = report.point(i) if isinstance(report.elapsed, np.ndarray) else report
        results[i] = replace(
            results[i],
            breakdown=point_report.steady.rows,
            devices=tables.device_rows(point_report),
            ledger=point_report.ledger.rows,
            timeline=tables.timeline_rows(line),
        )
    return results


def run_warnings(
    scenario: Scenario,
    machine: Machine,
    batches: int,
    elapsed: float,
    completed: bool = True,
    lengths: tuple[float, ...] = (),
) -> tuple[str, ...]:
    """Return warnings about a full run, such as a fault after its end.

    `lengths` are the mean lookups per sample in each table of the data file; () without a data file.
    """
    missed = _missed(scenario, elapsed) if completed else ()
    return (
        *sequence_notes(scenario, lengths),
        *_short_run_note(batches),
        *missed,
        *passes_note(scenario),
        *rounded_up_note(scenario, machine),
        *unpriced_sentences(machine.scenario.machine, machine.devices),
        *spare_gpus_note(machine.scenario.machine, machine.devices),
        *agreement_sentences(machine.scenario.machine),
        *_inexact(machine),
    )


def _inexact(machine: Machine) -> tuple[str, ...]:
    """Return the warning that early lookups of rounded rows differ in bits from lookups after the update, even in bags of one."""
    narrow_precisions = [
        precision for precision in dict.fromkeys(per_table(machine.scenario.model, "row_precision")) if precision != "fp32"
    ]
    if not narrow_precisions or not machine.log_policy.relaxed_lookup:
        return ()
    return (
        (
            f"Relaxed lookup with {' and '.join(narrow_precisions)} rows is not exact: the rounded change of a row is added to "
            "pooled vectors in fp32, so the result equals that of a strict lookup only up to fp32's rounding; "
            "policy.relaxed_lookup=off is exact."
        ),
    )


def unscheduled_result(not_scheduled: NotScheduled) -> Result:
    """Return the result of a scenario that could not be scheduled.

    If the scenario was refused by its knobs, the result has no numbers.
    """
    if not_scheduled.error and not isinstance(not_scheduled.error, CannotRun):
        return Result(not_scheduled.scenario, ran=False, outcome=str(not_scheduled.error), results={})
    return infeasible_result(
        not_scheduled.scenario, (str(not_scheduled.error),) if not_scheduled.error else not_scheduled.problems
    )


def infeasible_result(scenario: Scenario, problems: tuple[str, ...]) -> Result:
    """Return the result of a scenario that does not fit its machine.

    The first problem is the outcome; the other problems are warnings.
    """
    no_numbers: dict[str, float | None] = {metric.name: None for metric in all_metrics()}
    return Result(
        scenario=scenario, ran=False, outcome=problems[0], results=no_numbers, warnings=(*problems[1:], *sequence_notes(scenario))
    )


def _short_run_note(batches: int) -> tuple[str, ...]:
    if batches >= SHORT_RUN:
        return ()
    return (f"run.batches={batches} is too short for a steady state; step time is the mean over all batches.",)


def _missed(scenario: Scenario, elapsed: float) -> tuple[str, ...]:
    """Return a sentence for each list with instants after the end."""
    late_instants = {
        path: [instant for instant in instants if instant >= elapsed]
        for path, instants in zip(INSTANT_KNOBS, fault_instants(scenario), strict=True)
    }
    clause = f"is after the end of the run at {figure(elapsed, 's')}, so the fault never struck."
    return tuple(f"{path}={min(instants):g} {clause}" for path, instants in late_instants.items() if instants)


def rounded_up_note(scenario: Scenario, machine: Machine) -> tuple[str, ...]:
    """Return a sentence if the PMEM capacity was rounded up to whole modules.

    Return () if the capacity was not rounded up.
    """
    asked_gigabytes, settled = scenario.machine.pmem_capacity_GB, machine.scenario.machine
    if asked_gigabytes is None or asked_gigabytes == settled.pmem_capacity_GB or "pmem" not in machine.devices:
        return ()
    return (
        f"machine.pmem_capacity_GB={asked_gigabytes:.15g} is rounded up to whole modules: {modules_in_words(settled)}, which are "
        f"{exact(settled.pmem_capacity_GB or 0.0)} GB.",
    )


def too_late_notes(scenario: Scenario, elapsed: float) -> tuple[str, ...]:
    """Return sentences on fault times that lie after the run's end.

    `elapsed` is the run's length from an estimate [s]. The end is assumed late, because an estimate can be short, and because
    only a maximum is known for the time that an outage takes.
    """
    if not any(fault_instants(scenario)):
        return ()
    end = LATEST_FACTOR * elapsed
    for strike in _first_strikes(scenario):
        if strike is None:
            return ()
        if strike.seconds >= end:
            break
        end += (2 * (strike.detect + strike.repair + scenario.faults.restart_seconds) + elapsed) * strike.kind.stops_job
    late_instants = {
        path: [instant for instant in instants if instant >= end]
        for path, instants in zip(INSTANT_KNOBS, fault_instants(scenario), strict=True)
    }
    clause = f"cannot strike, since the run ends before, after about {figure(elapsed, 's')} without faults"
    remedy = "choose an earlier instant, or more batches."
    return tuple(
        f"{KNOBS[path].label} {exact(min(instants))} s {clause}; {remedy}" for path, instants in late_instants.items() if instants
    )


@memoised(most=64)
def _first_strikes(scenario: Scenario) -> tuple[Strike | None, ...]:
    """Return a scenario's first strikes, computed once for estimates with the same faults; None marks too many."""
    first_strikes: list[Strike | None] = []
    repairs = 0
    for strike in strikes(scenario):
        repairs += strike.nodes
        if len(first_strikes) == MOST_STRIKES or repairs > MOST_REPAIRS:
            return (*first_strikes, None)
        first_strikes.append(strike)
    return tuple(first_strikes)


def passes_note(scenario: Scenario) -> tuple[str, ...]:
    """Return a sentence if `run.passes` is set but has no effect without a data file.

    Return () otherwise.
    """
    if scenario.run.passes is None or scenario.data.digest:
        return ()
    run = scenario.run
    return (f"run.passes={run.passes} needs a data file; without one, run.batches={run.batches} sets the length.",)


def findings(report: Report) -> Iterator[str]:
    """Yield the finding for each machine of a report.

    A finding names the part of a batch with the most exposed time and a remedy. If the machine has a CXL link, a further sentence
    says for which share of the time the link's busier direction is busy.
    """
    cells, points = report.steady.cells, len(report.machines)
    exposed, step, link = (
        np.reshape(column, (-1, points))
        for column in ([cell[3] for cell in cells], report.steady.step, report.steady.busy.get("cxl", np.full(points, np.nan)))
    )
    largest = exposed.argmax(axis=0)
    numbers = (largest, exposed[largest, range(points)], step[0], link[0])
    for machine, place, longest, seconds, busy in zip(report.machines, *(column.tolist() for column in numbers), strict=True):
        stage, name, *_ = cells[place]
        device = machine.devices[name]
        helps = STAGE_HELPS.get(stage, device.helps)
        pace_sentence = (
            f"{stage} on {device.title} is exposed for {_milliseconds(longest)} of the "
            f"{_milliseconds(seconds)} step ({percent(longest / seconds)}); {helps}."
        )
        yield f"{pace_sentence} {_link(busy / seconds)}" if "cxl" in machine.devices and name != "cxl" else pace_sentence


def _link(share: float) -> str:
    hint = ": more CXL bandwidth would change little" if share < 0.3 else ""
    return f"The busier direction of the CXL link carries data for {of_the_time(share)}{hint}."


def _milliseconds(seconds: float) -> str:
    return figure(seconds * 1e3, "ms")
