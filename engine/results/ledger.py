"""The ledger of a run: every second and joule entered once, as useful work or as what it was spent on instead.

A batch that stays is useful work and its checkpoint up to what it costs without a fault; beyond that it stalled, because
a device was slow or a pipeline had to fill again. A second execution is replay. What no later batch builds on is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Floats, InColumns, Ints, Number, Row
from ..run.run import Run
from ..run.segment import Segment
from ..schedule.timeline import Timeline, fraction_done, work_done

ACCOUNTS = ("useful", "checkpoint", "lost", "detect", "repair", "restart", "restore", "replay", "stalled")
RECOVERY = ("detect", "repair", "restart", "restore", "replay")
DONE, AGAIN, LOST = 0, 1, 2
TINY = 1e-300


@dataclass(frozen=True)
class RunLedger(InColumns):
    """Seconds and joules by account; both sum to the run's."""

    seconds: Mapping[str, Number]
    joules: Mapping[str, Number]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The books as a table."""
        return tuple({"Account": name, "Time [s]": self.seconds[name], "Energy [J]": self.joules[name]} for name in ACCOUNTS)


def undisturbed_ledger(elapsed: Number, checkpoint: Number, joules: Number, checkpoint_joules: Number) -> RunLedger:
    """Return the books of runs without a fault, from their totals and the checkpoints' share of them."""
    nothing = dict.fromkeys(ACCOUNTS, 0.0)
    seconds = {"useful": elapsed - checkpoint, "checkpoint": checkpoint}
    return RunLedger(nothing | seconds, nothing | {"useful": joules - checkpoint_joules, "checkpoint": checkpoint_joules})


def run_ledger(run: Run) -> RunLedger:
    """Close the books of a run."""
    seconds, dynamic = dict.fromkeys(ACCOUNTS, 0.0), dict.fromkeys(ACCOUNTS, 0.0)
    planned, _ = _joules(run.planned, run.planned.makespan)
    intervals = _intervals(run.planned, run.planned.makespan)
    plan = _Plan(intervals, np.minimum(run.planned.steady.stage("Checkpoint"), intervals), planned)
    for segment, fate in _fates(run):
        for name, (time, joules) in _entries(segment, fate, plan).items():
            seconds[name] += time
            dynamic[name] += joules
    for crash in run.crashes:
        for attempt in crash.outage.attempts:
            for name in ("detect", "repair", "restart", "restore"):
                seconds[name] += getattr(attempt, name)
        dynamic["restore"] += float(work_done(crash.outage.restoring, crash.outage.restored).joules.sum())
    watts = sum(device.idle_watts for device in run.machine.devices.values())
    return RunLedger(seconds, {name: watts * seconds[name] + dynamic[name] for name in ACCOUNTS})


@dataclass(frozen=True)
class _Plan:
    """What each batch takes without a fault: seconds, of which its checkpoint, dynamic joules of other stages; (N,)."""

    seconds: Floats
    checkpoint: Floats
    joules: Floats


def _fates(run: Run) -> list[tuple[Segment, Ints]]:
    """Return each segment with the fate of the batches that ended in it, or that the recovery found complete.

    The first execution of a batch counts, later ones are replay; batches that the run ends without are lost.
    """
    total = len(run.planned.batch_ends)
    final = total if run.completed else run.crashes[-1].resumption.embedding_batch
    before, found = np.zeros(total, np.bool_), list[tuple[Segment, Ints]]()
    crashes = iter(run.crashes)
    for segment in run.segments:
        resumed = next(crashes).resumption.embedding_batch if segment.cut else segment.last
        finished = segment.cut.finished if segment.cut else segment.last - segment.first
        done = max(finished, resumed - segment.first)
        batches = np.arange(segment.first, segment.first + done)
        found.append((segment, np.where(batches >= final, LOST, np.where(before[batches], AGAIN, DONE))))
        before[batches] = True
    return found


def _entries(segment: Segment, fate: Ints, plan: _Plan) -> dict[str, tuple[float, float]]:
    """Return seconds and dynamic joules of one segment by account: batches that ended by their fate, what was under way as lost.

    Usual and stalled time are told apart over all its batches, so that a log's turns may fall on others than planned.
    """
    line, count = segment.timeline, len(fate)
    worked = min(segment.length, line.makespan)
    spent, (other, checkpoint) = _intervals(line, worked)[:count], _joules(line, segment.length)
    stays, part = fate == DONE, slice(segment.first, segment.first + count)
    planned = _sum(plan.seconds[part], stays)
    usual = min(_sum(spent, stays), planned)
    logs = _sum(plan.checkpoint[part], stays) * usual / max(planned, TINY)
    usual_joules = min(_sum(other[:count], stays), _sum(plan.joules[part], stays))
    return {
        "useful": (usual - logs, usual_joules),
        "checkpoint": (logs + segment.length - worked, _sum(checkpoint[:count], stays) + _paused(segment)),
        "stalled": (_sum(spent, stays) - usual, _sum(other[:count], stays) - usual_joules),
        "replay": (_sum(spent, fate == AGAIN), _sum((other + checkpoint)[:count], fate == AGAIN)),
        "lost": (
            _sum(spent, fate == LOST) + worked - float(spent.sum()),
            _sum((other + checkpoint)[:count], fate == LOST) + float((other + checkpoint)[count:].sum()),
        ),
    }


def _sum(values: Floats, those: NDArray[np.bool_]) -> float:
    """Return the sum of some values, in an order that no processor changes, as its product with `those` does."""
    return float(values[those].sum())


def _paused(segment: Segment) -> float:
    if segment.pause is None:
        return 0.0
    return float(work_done(segment.pause, segment.length - segment.timeline.makespan).joules.sum())


def _intervals(line: Timeline, until: float) -> Floats:
    """Return the seconds from each batch's end to the next one's, (N,), within `until`; the last has what follows its end."""
    ends = np.minimum(np.maximum.accumulate(line.batch_ends), until)
    if line.makespan <= until:
        ends[-1] = until
    return np.diff(ends, prepend=0.0)


def _joules(line: Timeline, until: float) -> tuple[Floats, Floats]:
    """Return dynamic joules by batch, (N,), done by `until` seconds: of other stages, and of checkpoints."""
    joules = np.zeros((len(line.graph.tasks), line.joules.shape[1]))
    np.add.at(joules, line.layout.accounts.task, line.joules)
    done = fraction_done(line, until) * joules.T[line.kind]
    logs = [task.stage == "Checkpoint" for task in line.graph.tasks]
    return done[:, np.logical_not(logs)].sum(axis=1), done[:, logs].sum(axis=1)
