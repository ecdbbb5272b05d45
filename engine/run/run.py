"""A run as a loop over segments: run until a fault, cut, recover, resume."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..core.arithmetic import total
from ..core.figures import count
from ..faults.fault import Strike
from ..schedule.machine import Machine, schedule
from ..schedule.timeline import Timeline
from ..systems.traffic import Traffic
from .outage import MAX_ATTEMPTS, Outage, outage_after
from .segment import Segment, SegmentSchedule, follow_segment
from .upcoming_faults import FULL_SPEED, UpcomingFaults

State = TypeVar("State")
MAX_CRASHES = 10_000
STUCK_CRASHES = 50
UNDISTURBED = "completed without a fault"


@dataclass(frozen=True)
class Resumption:
    """The batches at which a run resumes after a recovery.

    embedding_batch, mlp_batch: the batches at whose start the restored embeddings and MLPs are.
    fatal: the sentence that says why the run cannot resume, else "".
    """

    embedding_batch: int
    mlp_batch: int
    fatal: str = ""


@dataclass(frozen=True)
class Crash:
    """A fault that stopped the job, with its recovery.

    outage: the outage that the fault begins.
    resumption: the batches at which the run resumes.
    batch: the newest batch that had begun.
    batches_begun: the number of batches of the run that had begun.
    """

    outage: Outage
    resumption: Resumption
    batch: int
    batches_begun: int

    @property
    def batches_lost(self) -> int:
        """The number of batches that had begun and must be run again."""
        return self.batches_begun - self.resumption.embedding_batch


@dataclass(frozen=True)
class Run:
    """A run of all batches, with its faults.

    machine: the machine.
    fault_free_timeline: the timeline of the same run without a fault.
    segments: the segments of training between faults.
    crashes: the faults that cut a segment, with their recoveries.
    passed_strikes: the strikes that did not stop the job.
    elapsed: the simulated time [s].
    completed: False if the run was given up.
    outcome: a sentence on how the run ended.

    The last segment too is cut, if a fault came after the last commit.
    """

    machine: Machine
    fault_free_timeline: Timeline
    segments: tuple[Segment, ...]
    crashes: tuple[Crash, ...]
    passed_strikes: tuple[Strike, ...]
    elapsed: float
    completed: bool
    outcome: str


# A function that follows a segment in training, recovers after an outage, and returns the resumption and the learner's state.
Resolve = Callable[[Segment, Outage | None, State], tuple[Resumption, State]]


def follow_run(m: Machine, traffic: Traffic, state: State, resolve: Resolve[State]) -> tuple[Run, State]:
    """Run all batches of `traffic` with faults; return the run and the final training state.

    `state` is the training state before the first batch. `resolve` trains and recovers one segment; it returns the batches at
    which the run resumes, and the next training state.
    """
    fault_free, upcoming_faults = schedule(m, traffic), UpcomingFaults(m.scenario)
    segments: list[Segment] = []
    crashes: list[Crash] = []
    first_batch, begin_seconds = 0, 0.0
    while first_batch < traffic.batches and not _hopeless(crashes):
        segment, strike = follow_segment(
            SegmentSchedule(m, traffic, fault_free, first_batch, begin_seconds, upcoming_faults.num_slow_downs > 0),
            upcoming_faults,
        )
        segments.append(segment)
        interruption = outage_after(m, traffic, segment, strike, upcoming_faults, len(crashes)) if strike else None
        resumption, state = resolve(segment, interruption, state)
        if interruption:
            batches_begun = segment.first_batch + (segment.cut.batches_begun if segment.cut else 0)
            crashes.append(Crash(interruption, resumption, max(batches_begun - 1, segment.first_batch), batches_begun))
        first_batch, begin_seconds = (
            resumption.embedding_batch,
            interruption.resume_seconds if interruption else begin_seconds + segment.length_seconds,
        )
    completed = not _hopeless(crashes)
    passed = [strike for strike in upcoming_faults.passed_strikes if strike.fault != FULL_SPEED]
    outcome = _completed(crashes, passed) if completed else _gave_up(crashes)
    return Run(
        m, fault_free, tuple(segments), tuple(crashes), tuple(upcoming_faults.passed_strikes), begin_seconds, completed, outcome
    ), state


def _hopeless(crashes: list[Crash]) -> bool:
    """Return whether the run makes no progress: a fatal recovery, too many crashes, or HOPELESS resumptions at one batch."""
    if not crashes:
        return False
    recent_crashes = crashes[-STUCK_CRASHES:]
    is_stuck = len(recent_crashes) == STUCK_CRASHES and len({crash.resumption.embedding_batch for crash in recent_crashes}) == 1
    is_endless = len(crashes) + recent_crashes[-1].outage.num_further_strikes >= MAX_CRASHES
    return is_stuck or is_endless or bool(recent_crashes[-1].resumption.fatal)


def _struck(strikes: list[Strike]) -> str:
    """Return the faults and their numbers, such as '2 power losses' or '3 faults (2 GPU crash, 1 link down)'."""
    counts_by_name = Counter(strike.kind.name for strike in strikes)
    name, total = next(iter(counts_by_name)), counts_by_name.total()
    if len(counts_by_name) > 1:
        return f"{count(total, 'fault')} ({', '.join(f'{number} {name}' for name, number in counts_by_name.items())})"
    return count(total, name)


def _completed(crashes: list[Crash], passed: list[Strike]) -> str:
    strikes = [*(strike for crash in crashes for strike in crash.outage.strikes), *passed]
    if not strikes:
        return UNDISTURBED
    batches_lost = total(crash.batches_lost for crash in crashes)
    rerun_text = f"; {count(batches_lost, 'batch was', 'batches were')} run again" if crashes else ", without a stop"
    return f"completed after {_struck(strikes)}{rerun_text}"


def _gave_up(crashes: list[Crash]) -> str:
    last_crash, strikes = crashes[-1], [strike for crash in crashes for strike in crash.outage.strikes]
    if last_crash.resumption.fatal:
        return f"unrecoverable: {last_crash.resumption.fatal}"
    if last_crash.outage.num_further_strikes >= MAX_ATTEMPTS:
        return (
            f"unrecoverable: {count(last_crash.outage.num_further_strikes, 'fault')} struck during one recovery; "
            "make faults rarer, "
            "or shorten faults.detect_seconds, faults.repair_median_seconds and faults.restart_seconds."
        )
    return (
        f"unrecoverable: after {_struck(strikes)} training could no longer get past batch "
        f"{last_crash.resumption.embedding_batch}; make faults rarer, shorten the run, or choose a system that logs every "
        "batch."
    )
