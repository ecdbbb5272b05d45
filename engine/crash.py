"""What a power loss leaves and what recovery makes of it: a segment's cut played through the log protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.persistence import BatchChange, Layout, PersistEvent, Position, Recovered, Start, recover, survive
from engine.run import Segment
from engine.system import Ways

PURPOSE = 102
Octets = NDArray[np.uint8]


@dataclass(frozen=True)
class Before:
    """The state at the start of batch `batch`, whose checkpoint is complete: table (R, row bytes) and MLP bytes.

    `mlp` is what the newest flagged MLP log holds, the parameters at the start of batch `mlp_batch`.
    """

    batch: int
    table: Octets
    mlp: Octets
    mlp_batch: int


def events(segment: Segment) -> tuple[PersistEvent, ...]:
    """Return the cut segment's persists with batches counted from the start of the run."""
    found = segment.cut.events if segment.cut else ()
    return tuple(replace(event, batch=segment.first + event.batch) for event in found)


def survived(
    segment: Segment,
    ways: Ways,
    before: Before,
    changes: Mapping[int, BatchChange],
    batch_size: int,
    seeds: tuple[int, int],
    model: str = "adr",
) -> Recovered:
    """Tear what was under way by a persistence model, then recover; raises CannotRun where nothing can be restored."""
    if ways.log == "":
        raise ValueError("a system without a log has nothing to recover from.")
    numbered = {n: replace(c, reader_before=n * batch_size, reader_after=(n + 1) * batch_size) for n, c in changes.items()}
    layout = Layout(
        num_rows=len(before.table),
        row_bytes=before.table.shape[1],
        mlp_bytes=before.mlp.size,
        max_log_rows=max([1, *(len(change.rows) for change in changes.values())]),
    )
    start = Start(before.table, before.mlp, Position(before.batch, before.mlp_batch, before.batch * batch_size, seeds))
    rng = np.random.default_rng([seeds[1], PURPOSE, segment.first, segment.cut.started if segment.cut else 0])
    media = survive(layout, start, events(segment), numbered, ways.log, rng, model)
    return recover(media, layout, ways.log, ways.bound)


def in_miniature(segment: Segment, ways: Ways, seeds: tuple[int, int], model: str = "adr") -> tuple[int, int]:
    """Return (embedding batch, MLP batch) of the recovery without training: the same protocol on a one-row table."""
    row, nothing = np.zeros((1, 8), np.uint8), np.zeros(8, np.uint8)
    change = BatchChange(np.zeros(1, np.int64), row, row, nothing, nothing)
    since, flagged = (segment.cut.since, segment.cut.since_mlp) if segment.cut else (0, 0)
    before = Before(segment.first + since, row, nothing, segment.first + flagged)
    found = survived(segment, ways, before, {event.batch: change for event in events(segment)}, 1, seeds, model)
    return found.embedding_batch, found.mlp_batch
