"""An outage, from a fault that stops the job until it goes on: detection, repair, restart, restore, and further faults."""

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np

from ..core.arrays import Floats
from ..core.row_sizes import mean_bytes
from ..faults.fault import Strike, generator
from ..persistence.models import domain
from ..scenario.scenario import Scenario
from ..schedule.machine import Machine
from ..schedule.timeline import Timeline, timeline
from ..systems.steps.recovery import recover
from ..systems.system import RecoveryWork
from ..systems.traffic import Traffic, table_bytes
from .segment import Segment
from .upcoming_faults import UpcomingFaults

MOST_ATTEMPTS = 10_000


@dataclass(frozen=True)
class Attempt:
    """Seconds spent in each phase of one attempt at recovery; an interrupted one got through part of them."""

    detect: float
    repair: float
    restart: float
    restore: float


@dataclass(frozen=True)
class Outage:
    """What stopped the job, and the attempts to go on, at `resumed` seconds.

    The first of `strikes` stopped it, each other one ended an attempt; only the last attempt is whole.
    """

    strikes: tuple[Strike, ...]
    attempts: tuple[Attempt, ...]
    recovery: RecoveryWork
    restoring: Timeline
    resumed: float

    @property
    def at(self) -> float:
        """When the job stopped."""
        return self.strikes[0].at

    @property
    def restore(self) -> float:
        """Seconds of an undisturbed restore."""
        return self.restoring.makespan

    @property
    def restored(self) -> Floats:
        """Seconds of restore that each attempt got through."""
        return np.array([attempt.restore for attempt in self.attempts])

    @property
    def again(self) -> int:
        """How often a further fault struck during the recovery."""
        return len(self.attempts) - 1

    @property
    def interrupted(self) -> tuple[float, ...]:
        """Return which share of the restore each interrupted attempt had done; only those that had begun it."""
        return tuple(attempt.restore / self.restore for attempt in self.attempts[:-1] if attempt.restore)


def outage(m: Machine, traffic: Traffic, segment: Segment, strike: Strike, ahead: UpcomingFaults, number: int) -> Outage:
    """Recover from the strike that cut a segment; it is the `number`th outage of the run."""
    recovery = _recovery(m, traffic, segment, strike)
    restoring = timeline(recover(m.settled, recovery), m.devices, 1)
    faults, strikes, attempts = m.scenario.faults, [strike], list[Attempt]()
    further = _Further(m.scenario, strike.at, number)
    while True:
        phases = (strike.detect, strike.repair, faults.restart_seconds, restoring.makespan)
        ends = tuple(accumulate(phases, initial=strike.at))
        again = further.before(strike.at, ends[-1], ahead)
        if again is None or len(attempts) >= MOST_ATTEMPTS:
            return Outage(tuple(strikes), (*attempts, Attempt(*phases)), recovery, restoring, ends[-1])
        attempts.append(Attempt(*(max(min(end, again.at) - start, 0.0) for start, end in pairwise(ends))))
        still = max(ends[2] - again.at - again.detect, 0.0)
        strike = replace(again, repair=max(again.repair, still))
        strikes.append(strike)


class _Further:
    """Faults in this recovery: those that come anyway, those listed from its start, and random ones."""

    def __init__(self, scenario: Scenario, at: float, number: int) -> None:
        self.faults = scenario.faults
        self.listed = sorted(at + seconds for seconds in self.faults.fault_in_recovery_at_seconds)
        self.rng = generator(self.faults.seed, "fault-in-recovery", number)

    def before(self, start: float, end: float, ahead: UpcomingFaults) -> Strike | None:
        """Return what interrupts an attempt that runs from `start` to `end`, if anything does."""
        drawn = (
            start + float(self.rng.random()) * (end - start) if self.rng.random() < self.faults.fault_in_recovery_share else end
        )
        own = min([drawn, *self.listed[:1]])
        strike = ahead.stop_before(min(own, end))
        if strike is not None or own >= end:
            return strike
        self.listed = [at for at in self.listed if at > own]
        return Strike(max(own, start), "fault-in-recovery", 0, self.faults.detect_seconds, self.faults.repair_median_seconds)


def persistence_model(scenario: Scenario, strike: Strike) -> str:
    """Return the persistence model in force at a strike: a flush that fails takes fenced writes too."""
    return "gpf_fail" if "fenced" in strike.kind.destroys else scenario.machine.persistence_model


def _recovery(m: Machine, traffic: Traffic, segment: Segment, strike: Strike) -> RecoveryWork:
    """Return what recovery reads and writes: the newest committed batch's rows; nothing without a log.

    It verifies the tables where it always does, or where the device counts a dirty shutdown.
    """
    committed = segment.cut.committed if segment.cut else -1
    scans = m.scenario.policy.recovery_scan == "always" or domain(persistence_model(m.scenario, strike)).announced
    scan = table_bytes(m.scenario) if m.log_policy.log and scans else 0.0
    if not m.log_policy.log or committed < 0:
        return RecoveryWork(0.0, traffic.row_bytes, 0.0, traffic.mlp_bytes, scan)
    rows = float(traffic.rows[segment.first + committed])
    return RecoveryWork(rows, traffic.row_bytes, rows * mean_bytes(traffic.entry_bytes), traffic.mlp_bytes, scan)
