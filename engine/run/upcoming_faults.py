"""The coming faults of a run in order of time, and the ends of slow-downs."""

from collections.abc import Iterator
from heapq import heappop, heappush

from ..core.arithmetic import total
from ..core.figures import count, figure
from ..errors import CannotRun
from ..faults.fault import Strike, strikes
from ..scenario.scenario import Scenario

MAX_PASSED, MAX_SLOW_DOWNS = 10_000, 1_000
FULL_SPEED = "full speed"  # no fault: the end of a slow-down


class UpcomingFaults:
    """The faults of a run that have not struck yet, in order of time.

    next_strike: the next strike, or None. The end of a slow-down counts as a strike.
    num_slow_downs: the number of slow-downs that have begun and not ended.
    outage_flips: the number of bits that flipped in the last outage.
    passed_strikes: the strikes so far that did not stop the job.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._coming = _timed(scenario)
        self._checked = scenario.policy.row_checksums and scenario.faults.silent_corruption_where == "table"
        self.next_strike = next(self._coming, None)
        self.num_slow_downs = self.outage_flips = self._switched = 0
        self.passed_strikes: list[Strike] = []

    def take(self, strike: Strike) -> None:
        """Remove the next strike, which must be `strike`, and count its slow-down or bit flip.

        Raises CannotRun after too many strikes.
        """
        self.next_strike = next(self._coming, None)
        self.num_slow_downs += slows_device(strike) - (strike.fault == FULL_SPEED)
        self.passed_strikes += [] if self.stops_job(strike) else [strike]
        self._switched += slows_device(strike)
        if len(self.passed_strikes) > MAX_PASSED or self._switched > MAX_SLOW_DOWNS:
            raise CannotRun(
                f"{count(len(self.passed_strikes), 'fault')} that do not stop the run, such as {strike.fault}, have happened by "
                f"{figure(strike.seconds, 's')}, more than the limit; make faults rarer, or shorten faults.detect_seconds and "
                "faults.restart_seconds."
            )

    def stops_job(self, strike: Strike) -> bool:
        """Return whether a strike stops the job.

        A flipped bit stops the job only if rows have checksums.
        """
        return (strike.fault != FULL_SPEED and strike.kind.stops_job) or (self._checked and flips_bit(strike))

    @property
    def num_flipped(self) -> int:
        """The number of bits that have flipped without stopping the job."""
        return total(flips_bit(strike) for strike in self.passed_strikes)

    def stop_before(self, end: float) -> Strike | None:
        """Remove all strikes before `end` seconds, up to the first that stops the job.

        Return that strike, or None if no strike stops the job.
        """
        while (strike := self.next_strike) is not None and strike.seconds < end:
            self.take(strike)
            if self.stops_job(strike):
                return strike
            self.outage_flips += flips_bit(strike)
        return None


def slows_device(strike: Strike) -> bool:
    """Return whether a strike makes a device slow."""
    return strike.fault != FULL_SPEED and strike.kind.kind == "fail-slow"


def flips_bit(strike: Strike) -> bool:
    """Return whether a strike flips a bit silently."""
    return strike.fault != FULL_SPEED and "bits" in strike.kind.destroys


def _timed(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes and the ends of slow-downs, in order of time."""
    ends: list[float] = []
    for strike in strikes(scenario):
        while ends and ends[0] <= strike.seconds:
            yield Strike(heappop(ends), FULL_SPEED)
        if slows_device(strike):
            heappush(ends, strike.seconds + scenario.faults.fail_slow_seconds)
        yield strike
    while ends:
        yield Strike(heappop(ends), FULL_SPEED)
