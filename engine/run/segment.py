"""A segment: training between two faults that stop the job, and its cut.

A timeline up to an instant does not depend on later batches, so a segment is scheduled in windows that grow, and only as far as
the run needs it. A slow-down slows the batches that begin during it; the segment continues without a cut. A fault that stops
the job cuts the timeline: at the cut, some log operations and some batches have ended, and some have only begun.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Floats
from ..core.graph import TaskGraph
from ..faults.fault import Strike
from ..persistence.replay import PersistEvent
from ..schedule.fail_slow import slow_devices
from ..schedule.machine import Machine, schedule
from ..schedule.timeline import SlowBatches, Timeline, timeline
from ..systems.steps.recovery import full_checkpoint
from ..systems.steps.wires import over_card_link
from ..systems.traffic import Traffic, batch_range
from .upcoming_faults import FULL_SPEED, UpcomingFaults, flips_bit, slows_device

SPARE_BATCHES = 16  # batches scheduled beyond the expected ones
ALMOST_DONE = 1 - 2**-20  # the largest share of a task under way


@dataclass(frozen=True)
class Cut:
    """The state of a segment's timeline at a power loss.

    Batches count from the first batch of the segment.

    seconds: the time of the power loss [s from the segment's begin].
    batches_begun: the number of batches that had begun; transfers sent ahead and the loop that launches work do not count.
    batches_ended: the number of batches that had ended.
    committed_batch: the newest committed batch, or -1.
    checkpoint_batch: a batch at whose start a checkpoint was complete.
    checkpoint_mlp_batch: the batch of the newest MLP log that was flagged at the start of batch `checkpoint_batch`.
    events: the log operations from batch `checkpoint_batch` on, in the order of the protocol.
    """

    seconds: float
    batches_begun: int
    batches_ended: int
    committed_batch: int
    checkpoint_batch: int
    checkpoint_mlp_batch: int
    events: tuple[PersistEvent, ...]


def cut(timeline: Timeline, cut_seconds: float) -> Cut:
    """Return the state of a timeline at `cut_seconds`, the time of a power loss.

    A task that ends at exactly that time has ended.
    """
    committed = newest_commit(timeline, cut_seconds)
    checkpoint_batch = max(committed - 1, 0)
    return Cut(
        seconds=cut_seconds,
        batches_begun=num_begun_before(timeline, cut_seconds),
        batches_ended=int(np.searchsorted(timeline.batch_ends, cut_seconds, side="right")),
        committed_batch=committed,
        checkpoint_batch=checkpoint_batch,
        checkpoint_mlp_batch=_flagged_mlp(timeline, checkpoint_batch),
        events=_events(timeline, cut_seconds, checkpoint_batch),
    )


def num_begun_before(timeline: Timeline, seconds: float) -> int:
    """Return the number of batches of a timeline that have begun before `seconds`."""
    return int(np.searchsorted(batch_begins(timeline), seconds, side="left"))


def batch_begins(timeline: Timeline) -> Floats:
    """Return the time at which each batch begins [s], (N,).

    A batch begins with the first start of a task that takes time. Transfers do not count, nor does the host's training loop,
    which may run any number of batches ahead of the GPU.
    """
    is_preparation = np.array([task.stage in ("Transfer", "Collective wait", "Other") for task in timeline.graph.tasks])
    counts = ~is_preparation & (timeline.lasting > 0)
    parts = timeline.course.parts()
    return np.concatenate(
        [np.nanmin(np.where(counts[timeline.kind[part.batches]], part.start, np.inf), axis=1) for part in parts]
    )


def _task(timeline: Timeline, persists: str) -> int | None:
    return next((k for k, task in enumerate(timeline.graph.tasks) if task.persists == persists), None)


def newest_commit(timeline: Timeline, seconds: float) -> int:
    """Return the newest batch that is committed by `seconds`, or -1 before the first commit."""
    commit = _task(timeline, "commit")
    return -1 if commit is None else int(np.searchsorted(timeline.times_of(commit)[1], seconds, side="right")) - 1


def _flagged_mlp(timeline: Timeline, checkpoint_batch: int) -> int:
    """Return the newest MLP log that a commit before `checkpoint_batch` has flagged.

    0 is the first checkpoint's log.
    """
    commit, log = _task(timeline, "commit"), _task(timeline, "mlp log")
    if commit is None or log is None or checkpoint_batch == 0:
        return 0
    flagged = timeline.times_of(commit)[0][checkpoint_batch - 1]
    flagged_logs = np.flatnonzero(timeline.times_of(log)[1][:checkpoint_batch] <= flagged)
    return int(flagged_logs[-1]) if len(flagged_logs) else 0


def _events(timeline: Timeline, cut_seconds: float, checkpoint_batch: int) -> tuple[PersistEvent, ...]:
    """Return ended persists by their end, then persists under way by their start, from `checkpoint_batch` on.

    An MLP log that spans batches counts by its end, so the log of an earlier batch may be among them.
    """
    commit = _task(timeline, "commit")
    if commit is None:
        return ()
    flagged = timeline.times_of(commit)[0][checkpoint_batch - 1] if checkpoint_batch else 0.0
    ordered_events = []
    for k, task in enumerate(timeline.graph.tasks):
        if not task.persists:
            continue
        start, end = timeline.times_of(k)
        is_needed = ~(end <= flagged) if task.gate_task else np.arange(len(start)) >= checkpoint_batch
        is_begun = is_needed & ((start < cut_seconds) | (end <= cut_seconds))
        for batch in np.flatnonzero(is_begun):
            is_ended = bool(end[batch] <= cut_seconds)
            spent, seconds = cut_seconds - float(start[batch]), float(timeline.lasting[timeline.kind[batch], k])
            seconds = float(np.fmax(seconds, end[batch] - start[batch]))  # longer than its work if others interrupt it
            done_share = 1.0 if is_ended else min(spent / max(seconds, spent), ALMOST_DONE)
            order = (not is_ended, end[batch] if is_ended else start[batch], batch, k)
            ordered_events.append((order, PersistEvent(task.persists, int(batch), done_share)))
    return tuple(event for _, event in sorted(ordered_events, key=lambda ordered_event: ordered_event[0]))


@dataclass(frozen=True)
class Flip:
    """A bit that flips, with the state of training at that time.

    seconds: the time of the flip [s of the run].
    batch: the next batch to begin.
    committed_batch: the newest committed batch.
    """

    seconds: float
    batch: int
    committed_batch: int


@dataclass(frozen=True)
class Segment:
    """Training between two faults that stop the job.

    first_batch: the number of the segment's first batch.
    begin_seconds, length_seconds: the segment's begin [s of the run], and its duration [s].
    timeline: the timeline of the segment's batches.
    cut: the state at the fault that ends the segment; None if the segment ends with its last batch.
    flips: the bits that flipped in the segment, or in the outage before it.
    pause: the timeline of a full checkpoint after the last batch, if the log was full, else None.
    num_flipped: the number of bits that have flipped in the run by the segment's end.
    """

    first_batch: int
    begin_seconds: float
    length_seconds: float
    timeline: Timeline
    cut: Cut | None
    flips: tuple[Flip, ...] = ()
    pause: Timeline | None = None
    num_flipped: int = 0

    @property
    def end_batch(self) -> int:
        """The batch after the last batch of a segment that no fault cut."""
        return self.first_batch + self.timeline.batches


class SegmentSchedule:
    """The schedule of a segment that has not ended yet.

    The object has the timeline so far, and knows which batches are slow.
    """

    def __init__(
        self, m: Machine, traffic: Traffic, fault_free: Timeline, first_batch: int, begin_seconds: float, slow: bool
    ) -> None:
        self.m, self.traffic, self.fault_free_timeline, self.first_batch, self.begin_seconds = (
            m,
            traffic,
            fault_free,
            first_batch,
            begin_seconds,
        )
        self.batches = traffic.batches - first_batch
        self.slow = np.full(self.batches, slow)
        self.pause: Timeline | None = None
        self.timeline: Timeline | None = None if first_batch or slow else fault_free
        self.count = self.batches if self.timeline else 0

    def timeline_to(self, seconds: float) -> Timeline:
        """Return the segment's timeline, correct up to `seconds` of the run."""
        segment_seconds = seconds - self.begin_seconds
        line = self.timeline
        # No later batch can change what happened before the last one began.
        while line is None or (self.count < self.batches and segment_seconds >= np.nanmin(line.course.last_part.start[-1])):
            pace = self.fault_free_timeline.makespan / self.fault_free_timeline.batches
            expected = SPARE_BATCHES + (
                self.batches if np.isinf(segment_seconds) else int(min(1.1 * segment_seconds / pace, self.batches))
            )
            self.count = min(max(2 * self.count, expected), self.batches)
            slow = SlowBatches(self.slow[: self.count], slow_devices(self.m)) if self.slow[: self.count].any() else None
            amounts = batch_range(self.traffic, self.first_batch, self.first_batch + self.count)
            self.timeline = line = schedule(self.m, amounts, self.fault_free_timeline, slow)
        return line

    def batches_begun(self, seconds: float) -> int:
        """Return the number of the segment's batches that have begun before `seconds` of the run."""
        return num_begun_before(self.timeline_to(seconds), seconds - self.begin_seconds)

    def switch(self, seconds: float, slow: bool) -> None:
        """Make all batches that begin at `seconds` of the run or later slow, or fast."""
        num_begun = self.batches_begun(seconds)
        if num_begun < self.batches and self.slow[num_begun] != slow:
            self.slow[num_begun:] = slow
            self.timeline, self.count = None, max(self.count // 2, num_begun)

    def checkpoint_full_log(self, seconds: float) -> None:
        """End the segment with a full checkpoint, because the log is full at `seconds`.

        The batches that have begun by then finish before the checkpoint. Do nothing if they are the last batches of the run.
        """
        num_begun = max(self.batches_begun(seconds), 1)
        if num_begun < self.batches and self.pause is None:
            self.batches, self.slow = num_begun, self.slow[:num_begun]
            self.timeline, self.count = None, 0
            link = "cxl" if "cxl" in self.m.system.devices else "pcie"
            tasks = full_checkpoint(self.m.system.memory, link, self.traffic.mlp_bytes)
            graph = TaskGraph(over_card_link(self.m.settled.wires, tasks))
            self.pause = timeline(graph, self.m.devices, 1)

    def has_ended(self, seconds: float) -> bool:
        """Return whether the segment has ended by `seconds` of the run."""
        line = self.timeline_to(seconds)
        return self.count == self.batches and seconds - self.begin_seconds >= line.makespan + self._paused

    @property
    def _paused(self) -> float:
        return self.pause.makespan if self.pause else 0.0

    def flip(self, seconds: float) -> Flip:
        """Return the bit flip at `seconds` of the run.

        The flip has the next batch to begin and the newest committed batch at that time.
        """
        line = self.timeline_to(seconds)
        return Flip(
            seconds,
            self.first_batch + self.batches_begun(seconds),
            self.first_batch + newest_commit(line, seconds - self.begin_seconds),
        )

    def segment(self, seconds: float = np.inf) -> Segment:
        """Return the segment: whole, or cut by a fault at `seconds` of the run."""
        line = self.timeline_to(seconds)
        if np.isinf(seconds):
            return Segment(self.first_batch, self.begin_seconds, line.makespan + self._paused, line, None, pause=self.pause)
        length = seconds - self.begin_seconds
        pause = self.pause if length > line.makespan else None
        return Segment(self.first_batch, self.begin_seconds, length, line, cut(line, length), pause=pause)


def follow_segment(course: SegmentSchedule, upcoming_faults: UpcomingFaults) -> tuple[Segment, Strike | None]:
    """Follow a segment to its end, or to the strike that stops the job.

    Return (the segment, that strike or None). Bits that flipped in the outage before the segment belong to the segment.
    """
    flipping, upcoming_faults.outage_flips = (
        [Flip(course.begin_seconds, course.first_batch, course.first_batch - 1)] * upcoming_faults.outage_flips,
        0,
    )
    while (strike := upcoming_faults.next_strike) is not None and not course.has_ended(strike.seconds):
        upcoming_faults.take(strike)
        if upcoming_faults.stops_job(strike):
            return replace(course.segment(strike.seconds), flips=tuple(flipping), num_flipped=upcoming_faults.num_flipped), strike
        if slows_device(strike) or strike.fault == FULL_SPEED:
            course.switch(strike.seconds, upcoming_faults.num_slow_downs > 0)
        elif flips_bit(strike):
            flipping.append(course.flip(strike.seconds))
        elif strike.fault == "log-full" and course.m.log_policy.log:
            course.checkpoint_full_log(strike.seconds)
    return replace(course.segment(), flips=tuple(flipping), num_flipped=upcoming_faults.num_flipped), None
