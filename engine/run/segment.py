"""A segment: training between two faults that stop it, scheduled only as far as it is followed.

What happened up to an instant does not depend on later batches, so a stretch is scheduled in windows that grow. A
degradation slows the batches that begin during it; the stretch goes on without a cut.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..core.graph import TaskGraph
from ..faults.fault import Strike
from ..schedule.fail_slow import slow_devices
from ..schedule.machine import Machine, schedule
from ..schedule.timeline import Slow, Timeline, timeline
from ..systems.steps.recovery import full_checkpoint
from ..systems.traffic import Traffic, part
from .cut import Cut, begun_before, cut, newest_commit
from .upcoming_faults import FULL_SPEED, UpcomingFaults, flips, slows

SPARE = 16  # batches scheduled beyond the expected ones


@dataclass(frozen=True)
class Flip:
    """A bit that flipped at `at` seconds: `batch` is the first to begin after it, `committed` the newest commit then."""

    at: float
    batch: int
    committed: int


@dataclass(frozen=True)
class Segment:
    """One stretch of training from batch `first`, begun at `begin` seconds, run for `length` seconds.

    A `pause` follows its last batch: a full checkpoint, because the log was full. `flips` are bits that flipped in it,
    or in the outage before; `flipped` counts those of the run until its end.
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
    """A segment on its way: what is scheduled so far, and which of its batches are slow."""

    def __init__(self, m: Machine, traffic: Traffic, planned: Timeline, first: int, begin: float, slow: bool) -> None:
        self.m, self.traffic, self.planned, self.first, self.begin = m, traffic, planned, first, begin
        self.batches = traffic.batches - first
        self.slow = np.full(self.batches, slow)
        self.pause: Timeline | None = None
        self.line: Timeline | None = None if first or slow else planned
        self.count = self.batches if self.line else 0

    def reach(self, at: float) -> Timeline:
        """Return a timeline that is right up to `at` seconds of the run."""
        until = at - self.begin
        line = self.line
        # No later batch can change what happened before the last one began.
        while line is None or (self.count < self.batches and until >= np.nanmin(line.start[-1])):
            pace = self.planned.makespan / self.planned.start.shape[0]
            expected = SPARE + (self.batches if np.isinf(until) else int(min(1.1 * until / pace, self.batches)))
            self.count = min(max(2 * self.count, expected), self.batches)
            slow = Slow(self.slow[: self.count], slow_devices(self.m)) if self.slow[: self.count].any() else None
            amounts = part(self.traffic, self.first, self.first + self.count)
            self.line = line = schedule(self.m, amounts, self.planned, slow)
        return line

    def begun(self, at: float) -> int:
        """Return how many batches have begun before `at`."""
        return begun_before(self.reach(at), at - self.begin)

    def switch(self, at: float, slow: bool) -> None:
        """Let the batches that begin from `at` on be slow, or fast again."""
        begun = self.begun(at)
        if begun < self.batches and self.slow[begun] != slow:
            self.slow[begun:] = slow
            self.line, self.count = None, max(self.count // 2, begun)

    def fill(self, at: float) -> None:
        """Let the batches under way finish, then take a full checkpoint; nothing if they are the last anyway."""
        begun = max(self.begun(at), 1)
        if begun < self.batches and self.pause is None:
            self.batches, self.slow = begun, self.slow[:begun]
            self.line, self.count = None, 0
            link = "cxl" if "cxl" in self.m.system.devices else "pcie"
            graph = TaskGraph(full_checkpoint(self.m.system.memory, link, self.traffic.mlp_bytes))
            self.pause = timeline(graph, self.m.devices, 1)

    def over(self, at: float) -> bool:
        """Return whether all has ended by `at`."""
        line = self.reach(at)
        return self.count == self.batches and at - self.begin >= line.makespan + self._paused

    @property
    def _paused(self) -> float:
        return self.pause.makespan if self.pause else 0.0

    def flip(self, at: float) -> Flip:
        """Note a bit that flips at `at`."""
        line = self.reach(at)
        return Flip(at, self.first + self.begun(at), self.first + newest_commit(line, at - self.begin))

    def segment(self, at: float = np.inf) -> Segment:
        """Return the segment up to its end, or cut at `at`."""
        line = self.reach(at)
        if np.isinf(at):
            return Segment(self.first, self.begin, line.makespan + self._paused, line, None, pause=self.pause)
        length = at - self.begin
        pause = self.pause if length > line.makespan else None
        return Segment(self.first, self.begin, length, line, cut(line, length), pause=pause)


def follow(course: SegmentSchedule, ahead: UpcomingFaults) -> tuple[Segment, Strike | None]:
    """Follow a course to its end or to the strike that stops it; bits that flipped in the outage before count with it."""
    flipping, ahead.flipped = [Flip(course.begin, course.first, course.first - 1)] * ahead.flipped, 0
    while (strike := ahead.next) is not None and not course.over(strike.at):
        ahead.take(strike)
        if ahead.stops(strike):
            return replace(course.segment(strike.at), flips=tuple(flipping), flipped=ahead.all_flipped), strike
        if slows(strike) or strike.fault == FULL_SPEED:
            course.switch(strike.at, ahead.slow > 0)
        elif flips(strike):
            flipping.append(course.flip(strike.at))
        elif strike.fault == "log-full" and course.m.log_policy.log:
            course.fill(strike.at)
    return replace(course.segment(), flips=tuple(flipping), flipped=ahead.all_flipped), None
