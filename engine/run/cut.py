"""The cut of a timeline at a fault: which persists had ended, which were under way, which batches had begun."""

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Floats
from ..persistence.replay import PersistEvent
from ..schedule.timeline import Timeline

ALMOST = 1 - 2**-20


@dataclass(frozen=True)
class Cut:
    """What a power loss at `at` seconds of a timeline leaves; batches count from the timeline's first.

    `started` batches had begun; features sent ahead and the loop that launches work do not count. `finished` had ended;
    `committed` is the newest committed batch or -1. `since` is a batch at whose start a checkpoint was complete, with the
    MLP log of batch `since_mlp` the newest flagged then; `events` are the persists from there on, in the order of the
    protocol.
    """

    at: float
    started: int
    finished: int
    committed: int
    since: int
    since_mlp: int
    events: tuple[PersistEvent, ...]


def cut(timeline: Timeline, at: float) -> Cut:
    """Cut a timeline at `at` seconds; a task that ends exactly then has ended."""
    committed = newest_commit(timeline, at)
    since = max(committed - 1, 0)
    return Cut(
        at=at,
        started=begun_before(timeline, at),
        finished=int(np.searchsorted(timeline.batch_ends, at, side="right")),
        committed=committed,
        since=since,
        since_mlp=_flagged_mlp(timeline, since),
        events=_events(timeline, at, since),
    )


def begun_before(timeline: Timeline, at: float) -> int:
    """Return how many batches have begun before `at` seconds."""
    return int(np.searchsorted(begun(timeline), at, side="left"))


def begun(timeline: Timeline) -> Floats:
    """Return when each batch begins, (N,): the first start of work on it that takes time.

    Sending is none, nor is the host's training loop, which may run any number of batches ahead of what it launches.
    """
    ahead = np.array([task.stage in ("Transfer", "Other") for task in timeline.graph.tasks])
    counts = ~ahead & (timeline.durations > 0)
    begun: Floats = np.nanmin(np.where(counts, timeline.start, np.inf), axis=1)
    return begun


def _task(timeline: Timeline, persists: str) -> int | None:
    return next((k for k, task in enumerate(timeline.graph.tasks) if task.persists == persists), None)


def newest_commit(timeline: Timeline, at: float) -> int:
    """Return the newest batch committed by `at` seconds, -1 before the first."""
    commit = _task(timeline, "commit")
    return -1 if commit is None else int(np.searchsorted(timeline.end[:, commit], at, side="right")) - 1


def _flagged_mlp(timeline: Timeline, since: int) -> int:
    """Return the newest MLP log that a commit before batch `since` has flagged; 0 is the first checkpoint's."""
    commit, log = _task(timeline, "commit"), _task(timeline, "mlp log")
    if commit is None or log is None or since == 0:
        return 0
    ended = np.flatnonzero(timeline.end[:since, log] <= timeline.start[since - 1, commit])
    return int(ended[-1]) if len(ended) else 0


def _events(timeline: Timeline, at: float, since: int) -> tuple[PersistEvent, ...]:
    """Return ended persists by their end, then those under way by their start, from batch `since` on.

    An MLP log that spans batches counts from where it ends, so an older one may be among them.
    """
    commit = _task(timeline, "commit")
    if commit is None:
        return ()
    flagged = timeline.start[since - 1, commit] if since else 0.0
    found = []
    for k, task in enumerate(timeline.graph.tasks):
        start, end = timeline.start[:, k], timeline.end[:, k]
        wanted = ~(end <= flagged) if task.during else np.arange(len(start)) >= since
        met = wanted & ((start < at) | (end <= at))
        for batch in np.flatnonzero(met) if task.persists else ():
            ended = bool(end[batch] <= at)
            done = 1.0 if ended else _share(timeline, int(batch), k, at)
            order = (not ended, end[batch] if ended else start[batch], batch, k)
            found.append((order, PersistEvent(task.persists, int(batch), done)))
    return tuple(event for _, event in sorted(found, key=lambda item: item[0]))


def _share(timeline: Timeline, batch: int, k: int, at: float) -> float:
    """Return how much of a task under way is done, always less than 1."""
    spent = at - float(timeline.start[batch, k])
    return min(spent / max(float(timeline.durations[batch, k]), spent), ALMOST)
