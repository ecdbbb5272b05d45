"""A power loss in detail: the batches around it, their logs, and the replayed batches."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isnan

from ..amounts.expected import expected_traffic
from ..core.arrays import Row
from ..run.run import Crash, follow_run
from ..run.segment import Segment
from ..run.shared_training import untrained_resolve
from ..scenario.fault_knobs import Faults
from ..scenario.scenario import Scenario
from ..schedule.machine import ready_machine, schedule
from ..units import MS

BATCHES, STRUCK_BATCH, BATCHES_BEFORE, BATCHES_AFTER = 12, 6, 3, 5
LANES = {
    "embedding log": "Row log",
    "mlp log": "MLP log",
    "commit": "Commit",
    "embedding update": "Row update",
    "home write": "Home write",
}


@dataclass(frozen=True)
class PowerLossDetail:
    """A power loss, and the rows of a chart around it.

    rows: rows of lane, batch, fate, and start and end in ms from the fault. The outage takes the width of 1.2 batches, however
        long it lasts.
    crash: the fault and its recovery.
    """

    rows: tuple[Row, ...]
    crash: Crash


def power_loss_detail(scenario: Scenario, share: float = 0.6) -> PowerLossDetail:
    """Return a power loss that strikes when `share` of a steady-state batch has passed.

    Raises CannotRun for a scenario that does not fit.
    """
    calm = ready_machine(replace(scenario, run=replace(scenario.run, batches=BATCHES, training=False), faults=Faults()))
    amounts = expected_traffic(calm.settled, BATCHES)
    ends = schedule(calm, amounts).batch_ends
    step = float(ends[STRUCK_BATCH] - ends[STRUCK_BATCH - 1])
    faults = Faults(
        power_loss_at_seconds=(float(ends[STRUCK_BATCH - 1]) + share * step,),
        detect_seconds=scenario.faults.detect_seconds,
        restart_seconds=scenario.faults.restart_seconds,
    )
    m = replace(calm, settled=replace(calm.settled, scenario=replace(calm.scenario, faults=faults)))
    struck_run, _ = follow_run(m, amounts, None, untrained_resolve(m))
    segment_before, segment_after = struck_run.segments[:2]
    crash, gap = struck_run.crashes[0], 1.2 * step
    rows = (*_segment(segment_before, crash, False, -segment_before.length_seconds), *_segment(segment_after, crash, True, gap))
    return PowerLossDetail(rows, crash)


def _segment(segment: Segment, crash: Crash, is_resumed: bool, shift: float) -> Iterator[Row]:
    """Yield the batches and persists of one segment, its seconds shifted by `shift`; persists that the fault cut are torn."""
    line = segment.timeline
    low = 0.0 if is_resumed else _batch_end(segment, crash.batches_begun - 1 - BATCHES_BEFORE)
    high = (
        min(_batch_end(segment, crash.resumption.embedding_batch + BATCHES_AFTER - 1), segment.length_seconds)
        if is_resumed
        else segment.length_seconds
    )
    for n in range(len(line.batch_ends)):
        batch = segment.first_batch + n
        is_kept, is_first_run = batch < crash.resumption.embedding_batch, batch >= crash.batches_begun
        fate = ("counts" if is_first_run else "run again") if is_resumed else ("counts" if is_kept else "lost")
        spans = [("Batch", _batch_end(segment, batch - 1), float(line.batch_ends[n]), fate)]
        for k, task in enumerate(line.graph.tasks):
            start, end = float(line.start[n, k]), float(line.end[n, k])
            if task.persists and not isnan(start):
                cut = not is_resumed and (isnan(end) or end > segment.length_seconds)
                spans.append(
                    (LANES[task.persists], start, segment.length_seconds if isnan(end) else end, "torn" if cut else fate)
                )
        for lane, start, end, span_fate in spans:
            if max(start, low) < min(end, high):
                times = {"Start [ms]": (max(start, low) + shift) / MS, "End [ms]": (min(end, high) + shift) / MS}
                yield {"Lane": lane, "Batch": batch, "Fate": span_fate, "After": is_resumed, **times}


def _batch_end(segment: Segment, batch: int) -> float:
    """Return the end of a batch in the segment's seconds; 0 for a batch before the segment."""
    n, ends = batch - segment.first_batch, segment.timeline.batch_ends
    return 0.0 if n < 0 else float(ends[min(n, len(ends) - 1)])
