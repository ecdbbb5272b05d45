"""What metrics look at: the accounts of a run or of an estimate, in SI units."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from engine import energy
from engine.device import stored
from engine.run import Machinery, Run
from engine.steady import Steady
from engine.timeline import Timeline


@dataclass(frozen=True)
class Scores:
    """What the functional training reached; None where it was off or cannot be said."""

    loss: float | None = None
    auc: float | None = None
    accuracy: float | None = None
    training_loss: float | None = None
    training_auc: float | None = None


@dataclass(frozen=True)
class Report:
    """Accounts in seconds, joules and bytes; `static` and `dynamic` joules by device, `batches` trained for good.

    `hit_rate` is the share of lookups that a cache serves, None without one, `drives_share` the share of unique rows that
    drives serve, None without memories above them; `lost_seconds` is work that a power loss undid, `down_seconds`
    detection, restart and restore.
    """

    machinery: Machinery
    steady: Steady
    batches: int
    elapsed: float
    static: Mapping[str, float]
    dynamic: Mapping[str, float]
    busy: Mapping[str, float]
    pmem_written: float
    pmem_media_written: float
    staleness: int | None
    crashes: int = 0
    lost_batches: int = 0
    lost_seconds: float = 0.0
    down_seconds: float = 0.0
    scores: Scores = field(default_factory=Scores)
    hit_rate: float | None = None
    drives_share: float | None = None

    @property
    def joules(self) -> float:
        """All joules of the run."""
        return sum(self.static.values()) + sum(self.dynamic.values())


def report(
    run: Run, steady: Steady, batches: int, scores: Scores, hit_rate: float | None = None, drives_share: float | None = None
) -> Report:
    """Close the books of a run."""
    devices = run.machinery.devices
    joules, seconds, written, media = dict.fromkeys(devices, 0.0), dict.fromkeys(devices, 0.0), 0.0, 0.0
    for line, until in _worked(run):
        for name, some in energy.dynamic(line, devices, until).items():
            joules[name] += some
        for name, some in energy.busy(line, devices, until).items():
            seconds[name] += some
        written += energy.pmem_written(line, until)
        media += energy.pmem_written(line, until, partial(stored, devices["pmem"])) if "pmem" in devices else 0.0
    return Report(
        machinery=run.machinery,
        steady=steady,
        batches=batches if run.completed else run.crashes[-1].embedding_batch,
        elapsed=run.elapsed,
        static={name: device.idle_watts * run.elapsed for name, device in devices.items()},
        dynamic=joules,
        busy=seconds,
        pmem_written=written,
        pmem_media_written=media,
        staleness=staleness(run),
        crashes=len(run.crashes),
        lost_batches=sum(crash.lost for crash in run.crashes),
        lost_seconds=_lost_seconds(run),
        down_seconds=sum(crash.resumed - crash.at for crash in run.crashes),
        scores=scores,
        hit_rate=hit_rate,
        drives_share=drives_share,
    )


def _worked(run: Run) -> Iterator[tuple[Timeline, float]]:
    """Yield every timeline that ran, recoveries too, with the seconds that it got through."""
    for segment in run.segments:
        yield segment.timeline, segment.length
    for crash in run.crashes:
        for seconds in filter(None, crash.attempts):
            yield crash.restoring, seconds


def staleness(run: Run) -> int | None:
    """Return the largest age of the MLP log at any commit that happened, in batches; None without a log."""
    if not run.machinery.ways.log:
        return None
    ages = [0]
    for segment in run.segments:
        commits = segment.cut.committed + 1 if segment.cut else segment.timeline.start.shape[0]
        ages += [int(segment.timeline.state.stale[:commits].max(initial=0))]
    return max(ages)


def _lost_seconds(run: Run) -> float:
    """Return the seconds from the start of the batch that each crash resumed at to the crash."""
    total = 0.0
    for segment, crash in zip(run.segments, run.crashes, strict=False):
        batch = crash.embedding_batch - segment.first
        ends = segment.timeline.batch_ends
        begun = 0.0 if batch <= 0 else float(ends[batch - 1])
        total += max(segment.length - begun, 0.0)
    return total
