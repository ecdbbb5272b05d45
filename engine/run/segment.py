"""A segment: training between two faults that stop the job.

It is scheduled only as far as the run follows it.
The timeline up to an instant does not depend on later batches, so a segment is scheduled in windows that grow. A degradation
slows the batches that begin during it; the segment goes on without a cut.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..core.graph import TaskGraph
from ..faults.fault import Strike
from ..schedule.fail_slow import slow_devices
from ..schedule.machine import Machine, schedule
from ..schedule.timeline import SlowBatches, Timeline, timeline
from ..systems.steps.recovery import full_checkpoint
from ..systems.traffic import Traffic, batch_range
from .cut import Cut, cut, newest_commit, num_begun_before
from .upcoming_faults import FULL_SPEED, UpcomingFaults, flips_bit, slows_device

SPARE_BATCHES = 16  # batches scheduled beyond the expected ones


@dataclass(frozen=True)
class Flip:
    """A bit that flipped at `at` seconds.

    `batch` is the next batch to begin, `committed` the newest committed batch.
    """

    at: float
    batch: int
    committed: int


@dataclass(frozen=True)
class Segment:
    """Training between two faults that stop the job.

    first: the first batch.
    begin, length: the start in the run, and the duration [s].
    timeline: the timeline of the segment's batches.
    cut: the cut by a fault, None without one.
    flips: the bits that flipped in the segment, or in the outage before.
    pause: the timeline of a full checkpoint after the last batch, because the log was full.
    flipped: the number of bits that have flipped in the run until the segment's end.
    """

    first: int
    begin: float
    length: float
    timeline: Timeline
    cut: Cut | None
    flips: tuple[Flip, ...] = ()
    pause: Timeline | None = None
    flipped: int = 0

    @property
    def last(self) -> int:
        """The batch after the last one of a segment that was not cut."""
        return self.first + len(self.timeline.batch_ends)


class SegmentSchedule:
    """A segment under way: its timeline so far, and the batches that are slow."""

    def __init__(
        self, m: Machine, traffic: Traffic, fault_free: Timeline, first_batch: int, begin_seconds: float, slow: bool
    ) -> None:
        self.m, self.traffic, self.planned, self.first, self.begin = m, traffic, fault_free, first_batch, begin_seconds
        self.batches = traffic.batches - first_batch
        self.slow = np.full(self.batches, slow)
        self.pause: Timeline | None = None
        self.line: Timeline | None = None if first_batch or slow else fault_free
        self.count = self.batches if self.line else 0

    def reach(self, seconds: float) -> Timeline:
        """Return a timeline that is right up to `seconds` of the run."""
        segment_seconds = seconds - self.begin
        line = self.line
        # No later batch can change what happened before the last one began.
        while line is None or (self.count < self.batches and segment_seconds >= np.nanmin(line.start[-1])):
            pace = self.planned.makespan / self.planned.start.shape[0]
            expected = SPARE_BATCHES + (
                self.batches if np.isinf(segment_seconds) else int(min(1.1 * segment_seconds / pace, self.batches))
            )
            self.count = min(max(2 * self.count, expected), self.batches)
            slow = SlowBatches(self.slow[: self.count], slow_devices(self.m)) if self.slow[: self.count].any() else None
            amounts = batch_range(self.traffic, self.first, self.first + self.count)
            self.line = line = schedule(self.m, amounts, self.planned, slow)
        return line

    def begun(self, seconds: float) -> int:
        """Return the number of batches that have begun before `seconds`."""
        return num_begun_before(self.reach(seconds), seconds - self.begin)

    def switch(self, seconds: float, slow: bool) -> None:
        """Make the batches that begin from `seconds` on slow, or fast again."""
        num_begun = self.begun(seconds)
        if num_begun < self.batches and self.slow[num_begun] != slow:
            self.slow[num_begun:] = slow
            self.line, self.count = None, max(self.count // 2, num_begun)

    def fill(self, seconds: float) -> None:
        """Let the batches under way finish, then take a full checkpoint.

        Do nothing if they are the last ones.
        """
        num_begun = max(self.begun(seconds), 1)
        if num_begun < self.batches and self.pause is None:
            self.batches, self.slow = num_begun, self.slow[:num_begun]
            self.line, self.count = None, 0
            link = "cxl" if "cxl" in self.m.system.devices else "pcie"
            graph = TaskGraph(full_checkpoint(self.m.system.memory, link, self.traffic.mlp_bytes))
            self.pause = timeline(graph, self.m.devices, 1)

    def over(self, seconds: float) -> bool:
        """Return whether the segment has ended by `seconds`."""
        line = self.reach(seconds)
        return self.count == self.batches and seconds - self.begin >= line.makespan + self._paused

    @property
    def _paused(self) -> float:
        return self.pause.makespan if self.pause else 0.0

    def flip(self, seconds: float) -> Flip:
        """Return a bit that flips at `seconds`, with the batches then under way."""
        line = self.reach(seconds)
        return Flip(seconds, self.first + self.begun(seconds), self.first + newest_commit(line, seconds - self.begin))

    def segment(self, seconds: float = np.inf) -> Segment:
        """Return the segment up to its end, or cut at `seconds`."""
        line = self.reach(seconds)
        if np.isinf(seconds):
            return Segment(self.first, self.begin, line.makespan + self._paused, line, None, pause=self.pause)
        length = seconds - self.begin
        pause = self.pause if length > line.makespan else None
        return Segment(self.first, self.begin, length, line, cut(line, length), pause=pause)


def follow_segment(course: SegmentSchedule, upcoming_faults: UpcomingFaults) -> tuple[Segment, Strike | None]:
    """Follow a segment to its end or to the strike that stops it.

    Bits that flipped in the outage before belong to the segment.
    """
    flipping, upcoming_faults.flipped = [Flip(course.begin, course.first, course.first - 1)] * upcoming_faults.flipped, 0
    while (strike := upcoming_faults.next) is not None and not course.over(strike.at):
        upcoming_faults.take(strike)
        if upcoming_faults.stops(strike):
            return replace(course.segment(strike.at), flips=tuple(flipping), flipped=upcoming_faults.all_flipped), strike
        if slows_device(strike) or strike.fault == FULL_SPEED:
            course.switch(strike.at, upcoming_faults.slow > 0)
        elif flips_bit(strike):
            flipping.append(course.flip(strike.at))
        elif strike.fault == "log-full" and course.m.log_policy.log:
            course.fill(strike.at)
    return replace(course.segment(), flips=tuple(flipping), flipped=upcoming_faults.all_flipped), None
