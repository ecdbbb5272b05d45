"""The report, from which metrics are computed: the accounts of a run or of an estimate, in SI units."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from ..hardware.device import stored
from ..run.run import Crash, Run
from ..run.upcoming_faults import FULL_SPEED
from ..schedule.machine import Machine
from ..schedule.steady_state import Steady
from ..schedule.timeline import Timeline, Until, busy_seconds, dynamic_joules, pmem_written
from ..systems.traffic import Traffic
from ..training.loop import Scores
from .ledger import RunLedger, run_ledger

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


def report(run: Run, steady: Steady, amounts: Traffic, scores: Scores) -> Report:
    """Close the books of a run."""
    devices = run.machine.devices
    joules, seconds, written, media = dict.fromkeys(devices, 0.0), dict.fromkeys(devices, 0.0), 0.0, 0.0
    for line, until in _worked(run):
        for name, some in dynamic_joules(line, devices, until).items():
            joules[name] += some
        for name, some in busy_seconds(line, devices, until).items():
            seconds[name] += some
        written += pmem_written(line, until)
        media += pmem_written(line, until, partial(stored, devices["pmem"])) if "pmem" in devices else 0.0
    return Report(
        machine=run.machine,
        amounts=amounts,
        steady=steady,
        stale=_stale(run),
        batches=amounts.batches if run.completed else run.crashes[-1].resumption.embedding_batch,
        elapsed=run.elapsed,
        static={name: device.idle_watts * run.elapsed for name, device in devices.items()},
        dynamic=joules,
        busy=seconds,
        pmem_written=written,
        pmem_media_written=media,
        ledger=run_ledger(run, steady.stage("Checkpoint")),
        crashes=run.crashes,
        strikes=sum(len(crash.outage.strikes) for crash in run.crashes)
        + sum(strike.fault != FULL_SPEED for strike in run.strikes),
        unnoticed=unnoticed(run),
        unrecoverable=not run.completed,
        scores=scores,
    )


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
