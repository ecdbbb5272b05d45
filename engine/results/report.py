"""The report, from which metrics are computed: the accounts of a run or of an estimate, in SI units."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any

from ..run.run import Crash, Run
from ..run.upcoming_faults import FULL_SPEED
from ..schedule.evaluate import DesignPoint, Observed, Whole
from ..schedule.machine import Machine
from ..schedule.steady_state import Steady
from ..schedule.timeline import Timeline, Until, Worked, worked
from ..systems.traffic import Traffic
from ..training.loop import Scores
from .ledger import RunLedger, run_ledger, undisturbed_ledger

DIGEST = "newest log speaks of"  # as recovery says that the table does not have the digest of its log


@dataclass(frozen=True)
class Report:
    """Accounts in seconds, joules and bytes; `static` and `dynamic` joules by device, `batches` trained for good.

    `amounts` are what batches asked for, `stale` the largest age of an MLP log at a commit, in batches; `ledger` says what
    time and energy went into. `unnoticed` bits flipped and no checksum saw them.
    """

    machine: Machine
    amounts: Traffic
    steady: Steady
    stale: int
    batches: int
    elapsed: float
    static: Mapping[str, float]
    dynamic: Mapping[str, float]
    busy: Mapping[str, float]
    pmem_written: float
    pmem_media_written: float
    ledger: RunLedger
    crashes: tuple[Crash, ...] = ()
    strikes: int = 0
    unnoticed: int = 0
    unrecoverable: bool = False
    scores: Scores = field(default_factory=Scores)

    @property
    def joules(self) -> float:
        """All joules of the run."""
        return sum(self.static.values()) + sum(self.dynamic.values())


def report(run: Run, amounts: Traffic, scores: Scores) -> Report:
    """Close the books of a run."""
    work = Worked(*(sum(some) for some in zip(*starmap(worked, _worked(run)), strict=True)))
    batches = amounts.batches if run.completed else run.crashes[-1].resumption.embedding_batch
    return Report(
        **_accounts(run.machine, run.elapsed, work),
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


def undisturbed_report(point: DesignPoint, seen: Observed, whole: Whole, batches: int) -> Report:
    """Return the accounts of so many batches that nothing disturbed: as they were counted, or as an estimate scales them."""
    watts = sum([device.idle_watts for device in point.machine.devices.values()])
    every, logs = watts * whole.elapsed + sum(whole.work.joules.tolist()), watts * whole.waits + whole.logs
    return Report(
        **_accounts(point.machine, whole.elapsed, whole.work),
        amounts=point.plan.amounts,
        steady=seen.average,
        stale=seen.stale,
        batches=batches,
        ledger=undisturbed_ledger(whole.elapsed, whole.waits, every, logs),
    )


def _accounts(m: Machine, elapsed: float, work: Worked) -> dict[str, Any]:
    return {
        "machine": m,
        "elapsed": elapsed,
        "static": {name: device.idle_watts * elapsed for name, device in m.devices.items()},
        "dynamic": dict(zip(m.devices, work.joules.tolist(), strict=True)),
        "busy": dict(zip(m.devices, work.busy.tolist(), strict=True)),
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
