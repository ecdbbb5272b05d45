"""The replay of a timeline's log operations on a medium, up to a power loss."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Ints
from ..core.graph import Persists
from ..errors import BadInput, nearest_hint
from . import checksums, protocol
from .crash_media import CrashMedia, Power
from .layout import MediumLayout, Spans
from .logs import LOGS
from .media import WORD, Media, with_gpus
from .models import at_random
from .protocol import LogName, Position
from .records import PendingRecord, Stamp


@dataclass(frozen=True, slots=True)
class PersistEvent:
    """One operation of the log.

    op: "embedding log", "mlp log", "commit", "embedding update" (undo) or "home write" (redo).
    batch: the operation's batch. An MLP log has the MLP at the start of this batch (undo) or after it (redo).
    done_share: 1 if the operation had ended at the fault, else the share that was done.
    """

    op: str
    batch: int
    done_share: float


@dataclass(frozen=True, slots=True)
class BatchChange:
    """The changes that one batch makes.

    rows: the numbers of the changed rows.
    values_before, values_after: the rows' values, (rows, row_bytes) bytes, or flat, row after row, if rows differ in size.
    mlp_before, mlp_after: the bytes of the MLP.
    reader_before, reader_after: the reader's positions at the batch's start and end [samples].
    """

    rows: Ints
    values_before: NDArray[Any]
    values_after: NDArray[Any]
    mlp_before: NDArray[Any]
    mlp_after: NDArray[Any]
    reader_before: int = 0
    reader_after: int = 0


@dataclass(frozen=True, slots=True)
class StartState:
    """The state before the replayed operations: a batch boundary with a complete checkpoint.

    table: the values of all rows, (num_rows, row_bytes) bytes, or flat, row after row, if rows differ in size.
    mlp: the bytes of the MLP.
    position: the position of training.
    row_bytes: the sizes of rows in a flat table, else None.
    """

    table: NDArray[Any]
    mlp: NDArray[Any]
    position: Position
    row_bytes: int | Spans | None = None


class LogWriter:
    """A writer that carries out log operations on a medium, beginning with the state `start`.

    The writer keeps the row logs by batch, the MLP log that waits for its flag, the last flagged MLP log, and the digest of the
    table after each batch.
    """

    def __init__(
        self, media: Media, layout: MediumLayout, log: LogName, start: StartState, changes: Mapping[int, BatchChange]
    ) -> None:
        self.media, self.layout, self.steps, self.start, self.changes = media, layout, LOGS[log], start, changes
        self.rows: dict[int, PendingRecord] = {}
        self.mlp: PendingRecord | None = None
        self.flagged_mlp: PendingRecord | None = None
        self.digests = [checksums.table_digest(layout, start.table)]

    def carry_out(self, event: PersistEvent) -> None:
        """Carry out one log operation; raises BadInput for an unknown operation."""
        place, steps, batch, change = (self.media, self.layout), self.steps, event.batch, self.changes[event.batch]
        match event.op:
            case "embedding log":
                self.rows[batch] = steps.log_rows(
                    *place, batch, change.rows, change.values_after if steps.batches_ahead else change.values_before
                )
            case "mlp log":
                pending = protocol.log_mlp(
                    *place, batch + steps.batches_ahead, change.mlp_after if steps.batches_ahead else change.mlp_before
                )
                self.mlp = pending if event.done_share >= 1 else self.mlp
            case "commit":
                steps.commit(*place, self.rows[batch], self.mlp, self._stamp(batch))
                self.mlp, self.flagged_mlp = None, self.mlp
            case "embedding update" | "home write":
                steps.rewrite(*place, self.rows[batch], self.flagged_mlp, change.rows, change.values_after)
            case _:
                raise BadInput(f"PersistEvent.op={event.op!r} is not known; {nearest_hint(event.op, get_args(Persists)[1:])}")

    def _stamp(self, batch: int) -> Stamp:
        """Return the stamp in the batch's flag: the state at its start (undo log) or at its end (redo log)."""
        position, change, batches_ahead = self.start.position, self.changes[batch], self.steps.batches_ahead
        for n in range(position.batch + len(self.digests) - 1, batch + batches_ahead):
            batch_change = self.changes[n]
            self.digests.append(
                checksums.digest_after_change(
                    self.layout, self.digests[-1], batch_change.rows, batch_change.values_before, batch_change.values_after
                )
            )
        reader = change.reader_after if batches_ahead else change.reader_before
        return Stamp(reader, position.seed, self.digests[batch + batches_ahead - position.batch])


def replay_events(
    layout: MediumLayout,
    start: StartState,
    events: Iterable[PersistEvent],
    changes: Mapping[int, BatchChange],
    log: LogName,
    rng: np.random.Generator,
    model: str = "adr",
    granularity: int = WORD,
    num_gpus: int = 1,
) -> CrashMedia:
    """Return the medium after log operations and a power loss, for `recover`.

    The medium first holds `start`, durably. `events` come in the order of the protocol. An operation that had not ended keeps the
    first `done_share` of its lines and a random prefix of the next line's words, independently of other operations. The next
    commit after the end of an MLP log sets the log's flag. Of the lines that wait in the device's buffer, a random prefix of each
    stream survives. No piece of `granularity` bytes is torn.

    Each of `num_gpus` GPUs writes its own range of an MLP log. Of a log that had not ended, each range keeps the same share.
    """
    media = CrashMedia(layout.nbytes, Power(model, granularity=granularity))
    protocol.format_media(media, layout, start.table, start.mlp, start.position)
    media.drain()
    writer = LogWriter(with_gpus(media, num_gpus), layout, log, start, changes)
    for event in events:
        if event.done_share < 1:
            media.hold()
        writer.carry_out(event)
        if event.done_share >= 1:
            media.fence()
        else:
            media.tear(max(event.done_share, 0.0), rng)
    return media.survivor(at_random(rng) if media.domain.buffered_lines else None)
