"""An outage: the time from a fault that stops the job until the job resumes.

An outage has detection, repair, restart and restore; further faults can interrupt the recovery.
"""

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np

from ..core.arrays import Floats
from ..core.row_sizes import mean_bytes
from ..faults.fault import Strike, random_generator
from ..persistence.models import domain
from ..scenario.scenario import Scenario
from ..schedule.machine import Machine
from ..schedule.timeline import Timeline, timeline
from ..systems.steps.recovery import recover
from ..systems.system import RecoveryWork
from ..systems.traffic import Traffic, table_bytes
from .segment import Segment
from .upcoming_faults import UpcomingFaults

MAX_ATTEMPTS = 10_000


@dataclass(frozen=True)
class Attempt:
    """Seconds in each phase of one attempt at recovery.

    An attempt that a further fault interrupts has only the seconds before this fault.
    """

    detect: float
    repair: float
    restart: float
    restore: float


@dataclass(frozen=True)
class Outage:
    """The time between a fault that stops the job and the end of its recovery.

    strikes: the strike that stopped the job, then each strike that interrupted an attempt at recovery.
    attempts: the attempts at recovery; only the last attempt is complete.
    recovery: the amounts of data that the recovery reads and writes.
    restore_timeline: the timeline of a restore that no fault interrupts.
    resume_seconds: the time at which the job resumes [s of the run].
    """

    strikes: tuple[Strike, ...]
    attempts: tuple[Attempt, ...]
    recovery: RecoveryWork
    restore_timeline: Timeline
    resume_seconds: float

    @property
    def stop_seconds(self) -> float:
        """The time at which the job stopped [s of the run]."""
        return self.strikes[0].seconds

    @property
    def restore_seconds(self) -> float:
        """Seconds of a restore that no fault interrupts."""
        return self.restore_timeline.makespan

    @property
    def restore_seconds_by_attempt(self) -> Floats:
        """Seconds of restore in each attempt at recovery."""
        return np.array([attempt.restore for attempt in self.attempts])

    @property
    def num_further_strikes(self) -> int:
        """The number of faults that interrupted the recovery."""
        return len(self.attempts) - 1

    @property
    def interrupted_restore_shares(self) -> tuple[float, ...]:
        """The share of the restore that was done in each interrupted attempt.

        Attempts that were interrupted before their restore are left out.
        """
        return tuple(attempt.restore / self.restore_seconds for attempt in self.attempts[:-1] if attempt.restore)


def outage_after(
    m: Machine, traffic: Traffic, segment: Segment, strike: Strike, upcoming_faults: UpcomingFaults, number: int
) -> Outage:
    """Return the outage that begins with the strike that cut a segment.

    `number` is the number of earlier outages of the run.
    """
    recovery = _recovery(m, traffic, segment, strike)
    restoring = timeline(recover(m.settled, recovery), m.devices, 1)
    faults, strikes, attempts = m.scenario.faults, [strike], list[Attempt]()
    recovery_faults = _RecoveryFaults(m.scenario, strike.seconds, number)
    while True:
        phases = (strike.detect, strike.repair, faults.restart_seconds, restoring.makespan)
        ends = tuple(accumulate(phases, initial=strike.seconds))
        further_strike = recovery_faults.interruption(strike.seconds, ends[-1], upcoming_faults)
        if further_strike is None or len(attempts) >= MAX_ATTEMPTS:
            return Outage(tuple(strikes), (*attempts, Attempt(*phases)), recovery, restoring, ends[-1])
        attempts.append(Attempt(*(max(min(end, further_strike.seconds) - start, 0.0) for start, end in pairwise(ends))))
        remaining_repair = max(ends[2] - further_strike.seconds - further_strike.detect, 0.0)
        strike = replace(further_strike, repair=max(further_strike.repair, remaining_repair))
        strikes.append(strike)


class _RecoveryFaults:
    """Faults in one recovery: upcoming faults of the run, faults listed by the knob, and random ones."""

    def __init__(self, scenario: Scenario, start_seconds: float, number: int) -> None:
        self.faults = scenario.faults
        self.listed_seconds = sorted(start_seconds + seconds for seconds in self.faults.fault_in_recovery_at_seconds)
        self.rng = random_generator(self.faults.seed, "fault-in-recovery", number)

    def interruption(self, start: float, end: float, upcoming_faults: UpcomingFaults) -> Strike | None:
        """Return the strike that interrupts an attempt from `start` to `end` [s], None if there is none."""
        drawn_seconds = (
            start + float(self.rng.random()) * (end - start) if self.rng.random() < self.faults.fault_in_recovery_share else end
        )
        strike_seconds = min([drawn_seconds, *self.listed_seconds[:1]])
        strike = upcoming_faults.stop_before(min(strike_seconds, end))
        if strike is not None or strike_seconds >= end:
            return strike
        self.listed_seconds = [seconds for seconds in self.listed_seconds if seconds > strike_seconds]
        return Strike(
            max(strike_seconds, start), "fault-in-recovery", 0, self.faults.detect_seconds, self.faults.repair_median_seconds
        )


def persistence_model(scenario: Scenario, strike: Strike) -> str:
    """Return the name of the persistence model that holds at a strike.

    A fault in which the flush at power loss fails loses fenced writes too.
    """
    return "gpf_fail" if "fenced" in strike.kind.destroys else scenario.machine.persistence_model


def _recovery(m: Machine, traffic: Traffic, segment: Segment, strike: Strike) -> RecoveryWork:
    """Return the amounts of a recovery: the rows of the newest committed batch.

    Without a log no rows are read.
    The tables are verified if the policy always does so, or if the device counts a dirty shutdown.
    """
    committed = segment.cut.committed_batch if segment.cut else -1
    scans = m.scenario.policy.recovery_scan == "always" or domain(persistence_model(m.scenario, strike)).announced
    scan = table_bytes(m.scenario) if m.log_policy.log and scans else 0.0
    if not m.log_policy.log or committed < 0:
        return RecoveryWork(0.0, traffic.row_bytes, 0.0, traffic.mlp_bytes, scan)
    rows = float(traffic.rows[segment.first_batch + committed])
    return RecoveryWork(rows, traffic.row_bytes, rows * mean_bytes(traffic.entry_bytes), traffic.mlp_bytes, scan)
