"""The tables of a result: devices, training curve, events, and a part of the timeline."""

from collections.abc import Iterable
from math import isnan

import numpy as np

from ..core.arrays import Row
from ..core.figures import count, figure
from ..faults.fault import Strike
from ..run.curve import Curve
from ..run.run import Crash, Run
from ..run.segment import batch_begins
from ..run.upcoming_faults import FULL_SPEED
from ..schedule.fail_slow import slow_devices
from ..schedule.timeline import TaskTimes
from ..units import MS
from .report import Report

SHOWN_BATCHES = 3
FROM_BATCH = 4
MOST_POINTS = 2000
STRUCK_AGAIN, MOST_AGAIN = "fault in recovery", 20  # further faults of one outage that are listed one by one
CHECKSUM_WORDS = {
    "table": "no checksum covers a row that is used, and the table's digest is verified only after a dirty shutdown",
    "mlp": "no checksum covers the MLPs",
    "log": "its checksum sees it if that log is needed",
}
IN_BATCH = " in batch "
PASSING_KINDS = {"damage": "silent", "report": "checkpoint", "fail-slow": "slow"}


def device_rows(report: Report) -> tuple[Row, ...]:
    """Return the busy share and the energy of each device in the whole run.

    Each device's energy includes the losses of power supplies and cooling, if these are counted.
    """
    return tuple(
        {
            "Device": name,
            "Busy [%]": 100 * report.busy[name] / report.elapsed if report.elapsed else 0.0,
            "Static energy [J]": report.static[name],
            "Dynamic energy [J]": report.dynamic[name],
            "Energy [J]": report.static[name] + report.dynamic[name],
            "Note": device.title,
        }
        for name, device in report.machine.devices.items()
        if name != "wall"
    )


def timeline_rows(line: TaskTimes) -> tuple[Row, ...]:
    """Return the tasks of a few steady-state batches, with times in ms.

    Time 0 is the end of the batch before the first of them.
    """
    ends = line.batch_ends
    first_batch = min(FROM_BATCH, max(len(ends) - SHOWN_BATCHES, 0))
    low = float(ends[first_batch - 1]) if first_batch else 0.0
    high = float(ends[min(first_batch + SHOWN_BATCHES, len(ends)) - 1])
    running = (line.start < high) & ((line.end > low) | np.isnan(line.end))
    places, starts, stops = np.argwhere(running).tolist(), line.start[running].tolist(), line.end[running].tolist()
    tasks = line.graph.tasks
    names = [" ".join(filter(None, task.server)) for task in tasks]
    return tuple(
        {
            "Device": names[k],
            "Task": tasks[k].name,
            "Stage": tasks[k].stage,
            "Batch": n,
            "Start [ms]": (start - low) / MS,
            "End [ms]": (end - low) / MS,
            "Background": tasks[k].background or bool(tasks[k].gate_task),
        }
        for (n, k), task_start, task_end in zip(places, starts, stops, strict=True)
        for start, end in _pieces(line, k, task_start, task_end, low, high)
    )


def _pieces(line: TaskTimes, k: int, start: float, end: float, low: float, high: float) -> list[tuple[float, float]]:
    """Return a task's spans within the window; a rolling log runs beside its gate task, or while a batch waits for it."""
    end = np.inf if isnan(end) else end
    pieces = [(start, end)]
    if line.graph.tasks[k].gate_task:
        gates = np.stack([line.start[:, line.template.gate], line.end[:, line.template.gate]], axis=1)
        gate_times = gates[(gates[:, 1] > start) & (gates[:, 0] < end)]
        pieces = [(max(start, float(a)), min(end, float(b))) for a, b in gate_times]
        worked_until = pieces[-1][1] if pieces else start
        pieces += [(worked_until, end)] if worked_until < end < np.inf else []
    clipped = [(max(a, low), min(b, high)) for a, b in pieces]
    return [(a, b) for a, b in clipped if b > a]


def event_rows(run: Run) -> tuple[Row, ...]:
    """Return a run's faults and recoveries in order of time, each with a sentence."""
    stopped = [row for crash in run.crashes for row in _crash_rows(run, crash)]
    return tuple(sorted([*stopped, *_passing_rows(run)], key=lambda row: float(row["Elapsed [s]"])))


def _crash_rows(run: Run, crash: Crash) -> Iterable[Row]:
    strict, resumption = run.machine.log_policy.strict or not run.machine.log_policy.log, crash.resumption
    repeat_text = f" ({crash.outage.num_further_strikes} more during the recovery)" if crash.outage.num_further_strikes else ""
    sentence = f"{_strike_text(crash.outage.strikes[0])}{IN_BATCH}{crash.batch}{repeat_text}"
    yield {"Elapsed [s]": crash.outage.stop_seconds, "Kind": "fault", "Batch": crash.batch, "What": sentence}
    for strike in crash.outage.strikes[1 : MOST_AGAIN + 1]:
        yield {
            "Elapsed [s]": strike.seconds,
            "Kind": STRUCK_AGAIN,
            "Batch": crash.batch,
            "What": f"{_strike_text(strike)}; recovery starts over",
        }
    if resumption.fatal:
        yield {
            "Elapsed [s]": crash.outage.resume_seconds,
            "Kind": "unrecoverable",
            "Batch": crash.batch,
            "What": resumption.fatal,
        }
        return
    state = (
        f"embeddings and MLP at the start of batch {resumption.embedding_batch}"
        if strict
        else f"embeddings at the start of batch {resumption.embedding_batch}, MLP of batch {resumption.mlp_batch}, "
        f"{count(resumption.embedding_batch - resumption.mlp_batch, 'batch')} older"
    )
    repeat_text = f"{crash.batches_lost} {'batch is' if crash.batches_lost == 1 else 'batches are'} run again"
    sentence = f"recovered to {state}; {repeat_text}, restore took {figure(crash.outage.restore_seconds / MS, 'ms')}"
    yield {"Elapsed [s]": crash.outage.resume_seconds, "Kind": "recovered", "Batch": resumption.embedding_batch, "What": sentence}


def fault_cause(event: Row) -> str:
    """Return the message of a fault's event, such as "power was lost".

    Its batch and its effect are left out.
    """
    return str(event["What"]).partition(IN_BATCH)[0].partition(";")[0]


def _strike_text(strike: Strike) -> str:
    """Return a fault's message, with its node if that is not the first."""
    return strike.kind.message + (f" on node {strike.node}" if strike.node else "")


def _passing_rows(run: Run) -> Iterable[Row]:
    """Yield the strikes that did not stop the job, each with the batch that had begun last."""
    instants = np.array([strike.seconds for strike in run.passed_strikes])
    segment_numbers = np.searchsorted([segment.begin_seconds for segment in run.segments], instants, side="right") - 1
    for number in np.unique(segment_numbers):
        segment, strike_numbers = run.segments[number], np.flatnonzero(segment_numbers == number)
        segment_seconds = np.minimum(instants[strike_numbers] - segment.begin_seconds, segment.length_seconds)
        batches = segment.first_batch + np.maximum(np.searchsorted(batch_begins(segment.timeline), segment_seconds) - 1, 0)
        for strike, batch in zip((run.passed_strikes[index] for index in strike_numbers), batches.tolist(), strict=True):
            kind = FULL_SPEED if strike.fault == FULL_SPEED else PASSING_KINDS[strike.kind.kind]
            yield {"Elapsed [s]": strike.seconds, "Kind": kind, "Batch": batch, "What": _passing(run, strike, batch)}


def _passing(run: Run, strike: Strike, batch: int) -> str:
    """Return a sentence about a strike and its effect on the run."""
    if strike.fault == FULL_SPEED:
        return f"the device was at full speed again in batch {batch}"
    meaning = ""
    if strike.kind.kind == "damage":
        meaning = CHECKSUM_WORDS[run.machine.scenario.faults.silent_corruption_where]
    elif strike.kind.kind == "report":
        meaning = "training waits for a full checkpoint" if run.machine.log_policy.log else "but the system keeps no log"
    elif not slow_devices(run.machine):
        meaning = "but the system has no such device"
    return f"{_strike_text(strike)}{IN_BATCH}{batch}" + (f"; {meaning}" if meaning else "")


def thin_rows(curve: Curve) -> tuple[Row, ...]:
    """Return about MOST_POINTS evenly spread rows of a curve.

    All other rows with an AUC are returned, too.
    """
    return curve.thinned(max(1, -(-len(curve) // MOST_POINTS)))
