"""The replay of a timeline's events on a medium, up to a power loss."""

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
from .media import WORD, Media
from .models import at_random
from .protocol import LogName, Position
from .records import PendingRecord, Stamp


@dataclass(frozen=True, slots=True)
class PersistEvent:
    """One operation of the log.

    op: "embedding log", "mlp log", "commit", "embedding update" (undo) or "home write" (redo).
    batch: its batch; an MLP log has the parameters at the start of the batch (undo) or after the batch (redo).
    done_share: 1 if the operation had ended, else the share that was done at the fault.
    """

    op: str
    batch: int
    done_share: float


@dataclass(frozen=True, slots=True)
class BatchChange:
    """The changes of one batch.

    rows: the numbers of the changed rows.
    values_before, values_after: the rows' values, (rows, row_bytes) bytes, or flat, row after row, if rows differ in size.
    mlp_before, mlp_after: the MLP's bytes.
    reader_before, reader_after: the reader's positions at the batch's start and end.
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
    """A batch boundary with a complete checkpoint: the state before the events.

    `table` is (num_rows, row_bytes) bytes, or flat, row after row, with the sizes in `row_bytes`.
    """

    table: NDArray[Any]
    mlp: NDArray[Any]
    position: Position
    row_bytes: int | Spans | None = None


class LogWriter:
    """A writer that replays events on a medium by the protocol, from `start`.

    The writer keeps the row logs by batch, the MLP log that waits for its flag, the last flagged MLP log, and the table's
    digests.
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
        """Carry out one event; raises BadInput for an unknown operation."""
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
) -> CrashMedia:
    """Return the medium after a power loss under a persistence model, for `recover`.

    Events come in the order of the protocol. An event under way keeps the first `done_share` of its lines and a random word
    prefix of the next line; each event is torn independently. An MLP log is flagged by the next commit after its end. Lines
    that a fence has left in the device's buffer keep a random prefix each; the start is durable. Nothing is torn within
    `granularity` bytes.
    """
    media = CrashMedia(layout.nbytes, Power(model, granularity=granularity))
    protocol.format_media(media, layout, start.table, start.mlp, start.position)
    media.drain()
    writer = LogWriter(media, layout, log, start, changes)
    for event in events:
        if event.done_share < 1:
            media.hold()
        writer.carry_out(event)
        if event.done_share >= 1:
            media.fence()
        else:
            media.tear(max(event.done_share, 0.0), rng)
    return media.survivor(at_random(rng) if media.domain.buffered_lines else None)
