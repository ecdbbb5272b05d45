"""The cut of a timeline at a fault: persists and begun batches.

Persists are ended, or under way.
"""

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Floats
from ..persistence.replay import PersistEvent
from ..schedule.timeline import Timeline

ALMOST_DONE = 1 - 2**-20


@dataclass(frozen=True)
class Cut:
    """The state of a timeline at a power loss; batches count from the timeline's first.

    at: the time of the power loss in the timeline [s].
    started: the number of batches that had begun, without features sent ahead and the loop that launches work.
    finished: the number of batches that had ended.
    committed: the newest committed batch, or -1.
    since: a batch at whose start a checkpoint was complete.
    since_mlp: the batch of the newest MLP log that was flagged at the start of batch `since`.
    events: the persists from batch `since` on, in the order of the protocol.
    """

    at: float
    started: int
    finished: int
    committed: int
    since: int
    since_mlp: int
    events: tuple[PersistEvent, ...]


def cut(timeline: Timeline, cut_seconds: float) -> Cut:
    """Return the cut of a timeline at `cut_seconds`.

    A task that ends exactly then has ended.
    """
    committed = newest_commit(timeline, cut_seconds)
    checkpoint_batch = max(committed - 1, 0)
    return Cut(
        at=cut_seconds,
        started=num_begun_before(timeline, cut_seconds),
        finished=int(np.searchsorted(timeline.batch_ends, cut_seconds, side="right")),
        committed=committed,
        since=checkpoint_batch,
        since_mlp=_flagged_mlp(timeline, checkpoint_batch),
        events=_events(timeline, cut_seconds, checkpoint_batch),
    )


def num_begun_before(timeline: Timeline, seconds: float) -> int:
    """Return the number of batches that have begun before `seconds`."""
    return int(np.searchsorted(batch_begins(timeline), seconds, side="left"))


def batch_begins(timeline: Timeline) -> Floats:
    """Return when each batch begins [s], (N,).

    It is the first start of a task that takes time.
    Transfers do not count, nor does the host's training loop, which may run any number of batches ahead of the GPU.
    """
    is_preparation = np.array([task.stage in ("Transfer", "Other") for task in timeline.graph.tasks])
    counts = ~is_preparation & (timeline.durations > 0)
    begin_seconds: Floats = np.nanmin(np.where(counts, timeline.start, np.inf), axis=1)
    return begin_seconds


def _task(timeline: Timeline, persists: str) -> int | None:
    return next((k for k, task in enumerate(timeline.graph.tasks) if task.persists == persists), None)


def newest_commit(timeline: Timeline, seconds: float) -> int:
    """Return the newest batch committed by `seconds`, -1 before the first commit."""
    commit = _task(timeline, "commit")
    return -1 if commit is None else int(np.searchsorted(timeline.end[:, commit], seconds, side="right")) - 1


def _flagged_mlp(timeline: Timeline, checkpoint_batch: int) -> int:
    """Return the newest MLP log that a commit before `checkpoint_batch` has flagged.

    0 is the first checkpoint's log.
    """
    commit, log = _task(timeline, "commit"), _task(timeline, "mlp log")
    if commit is None or log is None or checkpoint_batch == 0:
        return 0
    flagged_logs = np.flatnonzero(timeline.end[:checkpoint_batch, log] <= timeline.start[checkpoint_batch - 1, commit])
    return int(flagged_logs[-1]) if len(flagged_logs) else 0


def _events(timeline: Timeline, cut_seconds: float, checkpoint_batch: int) -> tuple[PersistEvent, ...]:
    """Return ended persists by their end, then persists under way by their start, from `checkpoint_batch` on.

    An MLP log that spans batches counts by its end, so the log of an earlier batch may be among them.
    """
    commit = _task(timeline, "commit")
    if commit is None:
        return ()
    flagged = timeline.start[checkpoint_batch - 1, commit] if checkpoint_batch else 0.0
    ordered_events = []
    for k, task in enumerate(timeline.graph.tasks):
        start, end = timeline.start[:, k], timeline.end[:, k]
        is_needed = ~(end <= flagged) if task.during else np.arange(len(start)) >= checkpoint_batch
        is_begun = is_needed & ((start < cut_seconds) | (end <= cut_seconds))
        for batch in np.flatnonzero(is_begun) if task.persists else ():
            is_ended = bool(end[batch] <= cut_seconds)
            done_share = 1.0 if is_ended else _share(timeline, int(batch), k, cut_seconds)
            order = (not is_ended, end[batch] if is_ended else start[batch], batch, k)
            ordered_events.append((order, PersistEvent(task.persists, int(batch), done_share)))
    return tuple(event for _, event in sorted(ordered_events, key=lambda ordered_event: ordered_event[0]))


def _share(timeline: Timeline, batch: int, k: int, cut_seconds: float) -> float:
    """Return the share of a task under way that is done, always less than 1."""
    spent = cut_seconds - float(timeline.start[batch, k])
    return min(spent / max(float(timeline.durations[batch, k]), spent), ALMOST_DONE)
