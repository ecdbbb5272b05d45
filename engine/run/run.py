"""A run, which is a fold over segments: run, cut, recover, resume."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..faults.fault import Strike
from ..schedule.machine import Machine, schedule
from ..schedule.timeline import Timeline
from ..systems.traffic import Traffic
from .outage import MOST_ATTEMPTS, Outage, outage
from .segment import Segment, SegmentSchedule, follow
from .upcoming_faults import FULL_SPEED, UpcomingFaults

State = TypeVar("State")
MOST_CRASHES = 10_000
HOPELESS = 50
UNDISTURBED = "completed without a fault"


@dataclass(frozen=True)
class Resumption:
    """What a recovery found: embeddings and MLPs at the start of these batches, or a `fatal` sentence."""

    embedding_batch: int
    mlp_batch: int
    fatal: str = ""


@dataclass(frozen=True)
class Crash:
    """A fault that stopped the job in batch `batch`, the outage, and what was found afterwards.

    `begun` batches of the run had begun; those after the recovered one are `lost` and run again.
    """

    outage: Outage
    resumption: Resumption
    batch: int
    begun: int

    @property
    def lost(self) -> int:
        """How many batches had begun and are run again."""
        return self.begun - self.resumption.embedding_batch


@dataclass(frozen=True)
class Run:
    """Everything that happened: segments and the crashes that cut them, in `elapsed` simulated seconds.

    `planned` is the run without a fault; `strikes` are those that did not stop the job. `outcome` is a sentence.
    The last segment is cut too where the fault came after the last commit.
    """

    machine: Machine
    planned: Timeline
    segments: tuple[Segment, ...]
    crashes: tuple[Crash, ...]
    strikes: tuple[Strike, ...]
    elapsed: float
    completed: bool
    outcome: str


# Follows a segment in training, recovers where an outage cut it, and returns the learner's state to go on with.
Resolve = Callable[[Segment, Outage | None, State], tuple[Resumption, State]]


def run(m: Machine, traffic: Traffic, state: State, resolve: Resolve[State]) -> tuple[Run, State]:
    """Run all batches of `traffic`; `resolve` recovers each cut segment and carries the learner's state on."""
    planned, ahead = schedule(m, traffic), UpcomingFaults(m.scenario)
    segments: list[Segment] = []
    crashes: list[Crash] = []
    first, begin = 0, 0.0
    while first < traffic.batches and not _hopeless(crashes):
        segment, strike = follow(SegmentSchedule(m, traffic, planned, first, begin, ahead.slow > 0), ahead)
        segments.append(segment)
        down = outage(m, traffic, segment, strike, ahead, len(crashes)) if strike else None
        found, state = resolve(segment, down, state)
        if down:
            begun = segment.first + (segment.cut.started if segment.cut else 0)
            crashes.append(Crash(down, found, max(begun - 1, segment.first), begun))
        first, begin = found.embedding_batch, down.resumed if down else begin + segment.length
    completed = not _hopeless(crashes)
    passed = [strike for strike in ahead.passed if strike.fault != FULL_SPEED]
    outcome = _completed(crashes, passed) if completed else _gave_up(crashes)
    return Run(m, planned, tuple(segments), tuple(crashes), tuple(ahead.passed), begin, completed, outcome), state


def _hopeless(crashes: list[Crash]) -> bool:
    """Tell whether no progress is made: nothing is left, a recovery never ends, or the last many resumed at one batch."""
    if not crashes:
        return False
    last = crashes[-HOPELESS:]
    stuck = len(last) == HOPELESS and len({crash.resumption.embedding_batch for crash in last}) == 1
    many = len(crashes) + last[-1].outage.again >= MOST_CRASHES
    return stuck or many or bool(last[-1].resumption.fatal)


def _struck(strikes: list[Strike]) -> str:
    """Return which faults struck how often, such as '2 power losses' or '3 faults (2 GPU crash, 1 link down)'."""
    counted = Counter(strike.kind.name for strike in strikes)
    name, total = next(iter(counted)), counted.total()
    if len(counted) > 1:
        return f"{total} faults ({', '.join(f'{count} {name}' for name, count in counted.items())})"
    return f"{total} {name}" + ("" if total == 1 else "es" if name.endswith(("s", "sh")) else "s")


def _completed(crashes: list[Crash], passed: list[Strike]) -> str:
    strikes = [*(strike for crash in crashes for strike in crash.outage.strikes), *passed]
    if not strikes:
        return UNDISTURBED
    lost = sum(crash.lost for crash in crashes)
    again = f"; {'1 batch was' if lost == 1 else f'{lost} batches were'} run again" if crashes else ", without a stop"
    return f"completed after {_struck(strikes)}{again}"


def _gave_up(crashes: list[Crash]) -> str:
    last, strikes = crashes[-1], [strike for crash in crashes for strike in crash.outage.strikes]
    if last.resumption.fatal:
        return f"unrecoverable: {last.resumption.fatal}"
    if last.outage.again >= MOST_ATTEMPTS:
        return (
            f"unrecoverable: {last.outage.again} faults struck during one recovery; make faults rarer, "
            "or shorten faults.detect_seconds, faults.repair_median_seconds and faults.restart_seconds."
        )
    return (
        f"unrecoverable: after {_struck(strikes)} training no longer got past batch {last.resumption.embedding_batch}; make "
        "faults rarer, shorten the run, or choose a system that logs every batch."
    )
