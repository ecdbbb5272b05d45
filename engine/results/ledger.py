"""The ledger of a run: each second and each joule is in one account.

A batch that survives to the end counts as "useful" and "checkpoint", up to its cost in a run without a fault. Time beyond that
cost is "stalled": a device was slow, or a pipeline had to fill again. The second execution of a batch is "replay". Work that no
later batch uses is "lost". Recovery has the accounts "detect", "repair", "restart" and "restore".
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.arithmetic import total
from ..core.arrays import Floats, InColumns, Ints, Number, Row
from ..run.run import Run
from ..run.segment import Segment
from ..schedule.timeline import Timeline, fraction_done, work_done

ACCOUNTS = ("useful", "checkpoint", "lost", "detect", "repair", "restart", "restore", "replay", "stalled")
TRAINING = ("useful", "checkpoint", "stalled", "replay", "lost")
OUTAGE = ("detect", "repair", "restart", "restore")
RECOVERY = (*OUTAGE, "replay")
SECONDS, JOULES = "Time [s]", "Energy [J]"
USEFUL_FATE, REPLAY_FATE, LOST_FATE = 0, 1, 2
TINY = 1e-300


@dataclass(frozen=True)
class RunLedger(InColumns):
    """Seconds and joules of a run, by account.

    The accounts sum to the run's time and energy.
    """

    seconds: Mapping[str, Number]
    joules: Mapping[str, Number]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The ledger as a table: a row for each account."""
        return tuple({"Account": name, SECONDS: self.seconds[name], JOULES: self.joules[name]} for name in ACCOUNTS)


def ledger_sum(rows: Sequence[Row], column: str, accounts: Collection[str]) -> float:
    """Return the sum of a ledger's column over some accounts.

    `column` is SECONDS or JOULES. The sum of no rows is 0.0.
    """
    return float(total((row[column] for row in rows if row["Account"] in accounts), 0.0))


def undisturbed_ledger(elapsed: Number, checkpoint: Number, joules: Number, checkpoint_joules: Number) -> RunLedger:
    """Return the ledger of runs without a fault.

    `checkpoint` and `checkpoint_joules` are the parts of the seconds `elapsed` and of `joules` that checkpoints take.
    """
    zeros = dict.fromkeys(ACCOUNTS, 0.0)
    seconds = {"useful": elapsed - checkpoint, "checkpoint": checkpoint}
    return RunLedger(zeros | seconds, zeros | {"useful": joules - checkpoint_joules, "checkpoint": checkpoint_joules})


def run_ledger(run: Run) -> RunLedger:
    """Return the ledger of a simulated run with its faults."""
    seconds, dynamic = dict.fromkeys(ACCOUNTS, 0.0), dict.fromkeys(ACCOUNTS, 0.0)
    planned_joules, _ = _joules(run.fault_free_timeline, run.fault_free_timeline.makespan)
    intervals = _intervals(run.fault_free_timeline, run.fault_free_timeline.makespan)
    plan = _Plan(intervals, np.minimum(run.fault_free_timeline.steady.stage("Checkpoint"), intervals), planned_joules)
    for segment, fate in _fates(run):
        for name, (time, joules) in _entries(segment, fate, plan).items():
            seconds[name] += time
            dynamic[name] += joules
    for crash in run.crashes:
        for attempt in crash.outage.attempts:
            for name in ("detect", "repair", "restart", "restore"):
                seconds[name] += getattr(attempt, name)
        dynamic["restore"] += float(
            work_done(crash.outage.restore_timeline, crash.outage.restore_seconds_by_attempt).joules.sum()
        )
    watts = total(device.idle_watts for device in run.machine.devices.values())
    return RunLedger(seconds, {name: watts * seconds[name] + dynamic[name] for name in ACCOUNTS})


@dataclass(frozen=True)
class _Plan:
    """Costs of each batch without a fault: seconds, the checkpoint's part of them, and other stages' dynamic joules; (N,)."""

    seconds: Floats
    checkpoint: Floats
    joules: Floats


def _fates(run: Run) -> list[tuple[Segment, Ints]]:
    """Return each segment with the fates of its batches that ended, or that the recovery found complete.

    The first execution of a batch is useful, later ones are replay; batches that the run's result lacks are lost.
    """
    total = len(run.fault_free_timeline.batch_ends)
    final = total if run.completed else run.crashes[-1].resumption.embedding_batch
    has_run, fates = np.zeros(total, np.bool_), list[tuple[Segment, Ints]]()
    crashes = iter(run.crashes)
    for segment in run.segments:
        resumed = next(crashes).resumption.embedding_batch if segment.cut else segment.end_batch
        finished = segment.cut.batches_ended if segment.cut else segment.end_batch - segment.first_batch
        batch_count = max(finished, resumed - segment.first_batch)
        batches = np.arange(segment.first_batch, segment.first_batch + batch_count)
        fates.append((segment, np.where(batches >= final, LOST_FATE, np.where(has_run[batches], REPLAY_FATE, USEFUL_FATE))))
        has_run[batches] = True
    return fates


def _entries(segment: Segment, fate: Ints, plan: _Plan) -> dict[str, tuple[float, float]]:
    """Return seconds and dynamic joules of a segment by account: ended batches by their fate, unfinished work as lost.

    Usual and stalled time are divided over the sum of all its batches, so a log may fall on other batches than planned.
    """
    line, count = segment.timeline, len(fate)
    worked = min(segment.length_seconds, line.makespan)
    spent, (stage_joules, checkpoint) = _intervals(line, worked)[:count], _joules(line, segment.length_seconds)
    is_useful, part = fate == USEFUL_FATE, slice(segment.first_batch, segment.first_batch + count)
    planned_seconds = _sum(plan.seconds[part], is_useful)
    usual = min(_sum(spent, is_useful), planned_seconds)
    logs = _sum(plan.checkpoint[part], is_useful) * usual / max(planned_seconds, TINY)
    usual_joules = min(_sum(stage_joules[:count], is_useful), _sum(plan.joules[part], is_useful))
    return {
        "useful": (usual - logs, usual_joules),
        "checkpoint": (logs + segment.length_seconds - worked, _sum(checkpoint[:count], is_useful) + _paused(segment)),
        "stalled": (_sum(spent, is_useful) - usual, _sum(stage_joules[:count], is_useful) - usual_joules),
        "replay": (_sum(spent, fate == REPLAY_FATE), _sum((stage_joules + checkpoint)[:count], fate == REPLAY_FATE)),
        "lost": (
            _sum(spent, fate == LOST_FATE) + worked - float(spent.sum()),
            _sum((stage_joules + checkpoint)[:count], fate == LOST_FATE) + float((stage_joules + checkpoint)[count:].sum()),
        ),
    }


def _sum(values: Floats, mask: NDArray[np.bool_]) -> float:
    """Return the sum of the masked values; unlike a product with `mask`, its order is the same on every processor."""
    return float(values[mask].sum())


def _paused(segment: Segment) -> float:
    if segment.pause is None:
        return 0.0
    return float(work_done(segment.pause, segment.length_seconds - segment.timeline.makespan).joules.sum())


def _intervals(line: Timeline, end_seconds: float) -> Floats:
    """Return the seconds from each batch's end to the next, (N,), up to `end_seconds`; the last holds the time after its end."""
    ends = np.minimum(np.maximum.accumulate(line.batch_ends), end_seconds)
    if line.makespan <= end_seconds:
        ends[-1] = end_seconds
    return np.diff(ends, prepend=0.0)


def _joules(line: Timeline, end_seconds: float) -> tuple[Floats, Floats]:
    """Return dynamic joules by batch, (N,), spent up to `end_seconds`: of other stages, and of checkpoints."""
    joules = np.zeros((len(line.graph.tasks), line.joules.shape[1]))
    np.add.at(joules, line.layout.accounts.task, line.joules)
    logs = np.array([task.stage == "Checkpoint" for task in line.graph.tasks])
    spent = np.empty((2, line.batches))
    for part in line.course.parts():
        task_joules = fraction_done(line, part, end_seconds) * joules.T[line.kind[part.batches]]
        spent[:, part.batches] = task_joules[:, ~logs].sum(axis=1), task_joules[:, logs].sum(axis=1)
    return spent[0], spent[1]
