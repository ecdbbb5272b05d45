"""The report, from which metrics are computed: the accounts of a run or of an estimate, in SI units."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any

from ..core.arrays import InColumns, Ints, Number
from ..run.run import Crash, Run
from ..run.upcoming_faults import FULL_SPEED
from ..schedule.evaluate import DesignPoint, Observed, Whole
from ..schedule.machine import Machine
from ..schedule.steady_state import Steady
from ..schedule.timeline import Timeline, Until, WorkDone, work_done
from ..systems.traffic import Traffic
from ..training.loop import Scores
from .ledger import RunLedger, run_ledger, undisturbed_ledger

DIGEST = "newest log speaks of"  # as recovery says that the table does not have the digest of its log


@dataclass(frozen=True)
class Report(InColumns):
    """Accounts in seconds, joules and bytes; `static` and `dynamic` joules by device, `batches` trained for good.

    `amounts` are what batches asked for, `stale` the largest age of an MLP log at a commit, in batches; `ledger` says what
    time and energy went into. `unnoticed` bits flipped and no checksum saw them. Of many machines that share a plan,
    numbers are columns; they have the same system, devices by name, and log policy.
    """

    machines: tuple[Machine, ...]
    amounts: Traffic
    steady: Steady
    stale: Number
    batches: Number
    elapsed: Number
    static: Mapping[str, Number]
    dynamic: Mapping[str, Number]
    busy: Mapping[str, Number]
    pmem_written: Number
    pmem_media_written: Number
    ledger: RunLedger
    crashes: tuple[Crash, ...] = ()
    strikes: int = 0
    unnoticed: int = 0
    unrecoverable: bool = False
    scores: Scores = field(default_factory=Scores)

    @property
    def machine(self) -> Machine:
        """The machine, or one of many, of which only what they share is looked at."""
        return self.machines[0]

    @property
    def joules(self) -> Number:
        """All joules of the run."""
        return sum(self.static.values()) + sum(self.dynamic.values())

    def at(self, i: int) -> "Report":
        """Return the report of one machine."""
        return replace(super().at(i), machines=self.machines[i : i + 1])


def report(run: Run, amounts: Traffic, scores: Scores) -> Report:
    """Close the books of a run."""
    busy, joules, *stored = (sum(some) for some in zip(*starmap(work_done, _worked(run)), strict=True))
    work = WorkDone(busy.tolist(), joules.tolist(), *stored)
    batches = amounts.batches if run.completed else run.crashes[-1].resumption.embedding_batch
    return Report(
        **_accounts([run.machine], run.elapsed, [device.idle_watts for device in run.machine.devices.values()], work),
        amounts=amounts,
        steady=run.planned.steady,
        stale=_stale(run),
        batches=batches,
        ledger=run_ledger(run),
        crashes=run.crashes,
        strikes=sum(len(crash.outage.strikes) for crash in run.crashes)
        + sum(strike.fault != FULL_SPEED for strike in run.strikes),
        unnoticed=unnoticed(run),
        unrecoverable=not run.completed,
        scores=scores,
    )


def undisturbed_report(points: Sequence[DesignPoint], seen: Observed, whole: Whole, batches: Ints | int) -> Report:
    """Return the accounts of so many batches that nothing disturbed: as they were counted, or as an estimate scales them."""
    watts = sum(seen.idle_watts)
    every, logs = watts * whole.elapsed + sum(whole.work.joules), watts * whole.waits + whole.logs
    return Report(
        **_accounts([point.machine for point in points], whole.elapsed, seen.idle_watts, whole.work),
        amounts=points[0].plan.amounts,
        steady=seen.average,
        stale=seen.stale,
        batches=batches,
        ledger=undisturbed_ledger(whole.elapsed, whole.waits, every, logs),
    )


def _accounts(machines: Sequence[Machine], elapsed: Number, idle_watts: Iterable[Number], work: WorkDone) -> dict[str, Any]:
    names = machines[0].devices
    return {
        "machines": tuple(machines),
        "elapsed": elapsed,
        "static": {name: watts * elapsed for name, watts in zip(names, idle_watts, strict=True)},
        "dynamic": dict(zip(names, work.joules, strict=True)),
        "busy": dict(zip(names, work.busy, strict=True)),
        "pmem_written": work.written,
        "pmem_media_written": work.media,
    }


def _worked(run: Run) -> Iterator[tuple[Timeline, Until]]:
    """Yield every timeline that ran, recoveries too, with the seconds that it got through."""
    for segment in run.segments:
        yield segment.timeline, segment.length
        if segment.pause:
            yield segment.pause, segment.length - segment.timeline.makespan
    for crash in run.crashes:
        yield crash.outage.restoring, crash.outage.restored


def _stale(run: Run) -> int:
    """Return the largest age of the MLP log at any commit that happened, in batches."""
    ages = [0]
    for segment in run.segments:
        commits = segment.cut.committed + 1 if segment.cut else segment.timeline.start.shape[0]
        ages += [int(segment.timeline.state.stale[:commits].max(initial=0))]
    return max(ages)


def unnoticed(run: Run) -> int:
    """Return how many bits flipped that no checksum saw.

    A log's is seen or never read. A table's is seen if its digest is verified later, which then ends the run.
    """
    where, fatal = run.machine.scenario.faults.silent_corruption_where, run.crashes[-1].resumption.fatal if run.crashes else ""
    if where == "log" or (where == "table" and DIGEST in fatal):
        return 0
    return run.segments[-1].flipped
