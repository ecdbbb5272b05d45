"""The replay of a timeline's events: what the medium holds when power is lost among them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Ints
from ..core.graph import Persists
from ..errors import BadInput, nearest
from . import checksums, protocol
from .crash_media import CrashMedia, Power
from .layout import MediumLayout, Spans
from .logs import LOGS
from .media import WORD, Media
from .models import at_random
from .protocol import LogName, Position
from .records import Pending, Stamp


@dataclass(frozen=True, slots=True)
class PersistEvent:
    """One operation of the log: `done` is 1 when it had ended, less when the fault met it under way.

    `op` is "embedding log", "mlp log", "commit", "embedding update" (undo) or "home write" (redo). The batch of
    an MLP log is the one at whose start (undo) or after which (redo) the parameters were captured.
    """

    op: str
    batch: int
    done: float


@dataclass(frozen=True, slots=True)
class BatchChange:
    """What one batch changed: row numbers, their values before and after, and the MLP's.

    Values are (rows, row_bytes) bytes, or row after row where they are unlike.
    `reader_before` and `reader_after` are the reader's positions at the batch's start and end.
    """

    rows: Ints
    before: NDArray[Any]
    after: NDArray[Any]
    mlp_before: NDArray[Any]
    mlp_after: NDArray[Any]
    reader_before: int = 0
    reader_after: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    """A batch boundary whose checkpoint is complete: the state from which the events lead on.

    `table` is (num_rows, row_bytes) bytes; where rows are unlike, it is one after another, of the sizes that `row_bytes` gives.
    """

    table: NDArray[Any]
    mlp: NDArray[Any]
    position: Position
    row_bytes: int | Spans | None = None


class LogWriter:
    """What carries events out on a medium by the protocol's own operations, from `start` on.

    It knows the logs of rows by batch, the MLP log that waits for its flag and the last one flagged, and the table's digests.
    """

    def __init__(
        self, media: Media, layout: MediumLayout, log: LogName, start: Start, changes: Mapping[int, BatchChange]
    ) -> None:
        self.media, self.layout, self.steps, self.start, self.changes = media, layout, LOGS[log], start, changes
        self.rows: dict[int, Pending] = {}
        self.mlp: Pending | None = None
        self.flagged_mlp: Pending | None = None
        self.digests = [checksums.table_digest(layout, start.table)]

    def carry_out(self, event: PersistEvent) -> None:
        """Carry out one event; raises BadInput for one that the protocol does not know."""
        place, steps, batch, change = (self.media, self.layout), self.steps, event.batch, self.changes[event.batch]
        match event.op:
            case "embedding log":
                self.rows[batch] = steps.log_rows(*place, batch, change.rows, change.after if steps.ahead else change.before)
            case "mlp log":
                pending = protocol.log_mlp(*place, batch + steps.ahead, change.mlp_after if steps.ahead else change.mlp_before)
                self.mlp = pending if event.done >= 1 else self.mlp
            case "commit":
                steps.commit(*place, self.rows[batch], self.mlp, self._stamp(batch))
                self.mlp, self.flagged_mlp = None, self.mlp
            case "embedding update" | "home write":
                steps.rewrite(*place, self.rows[batch], self.flagged_mlp, change.rows, change.after)
            case _:
                raise BadInput(f"PersistEvent.op={event.op!r} is not known; {nearest(event.op, get_args(Persists)[1:])}")

    def _stamp(self, batch: int) -> Stamp:
        """Return what the batch's flag says: of its start in an undo log, of its end in a redo log."""
        position, change, ahead = self.start.position, self.changes[batch], self.steps.ahead
        for n in range(position.batch + len(self.digests) - 1, batch + ahead):
            one = self.changes[n]
            self.digests.append(checksums.moved(self.layout, self.digests[-1], one.rows, one.before, one.after))
        reader = change.reader_after if ahead else change.reader_before
        return Stamp(reader, position.seed, self.digests[batch + ahead - position.batch])


def survive(
    layout: MediumLayout,
    start: Start,
    events: Iterable[PersistEvent],
    changes: Mapping[int, BatchChange],
    log: LogName,
    rng: np.random.Generator,
    model: str = "adr",
    granularity: int = WORD,
) -> CrashMedia:
    """Return what is durable after power loss under a persistence model, for `recover` to work on.

    Events come in the order of the protocol. Those under way keep the first `done` of their lines and a random
    word prefix of the next; each is torn on its own. An MLP log is flagged by the next commit after its end.
    What a fence has left in the device's buffer keeps a random prefix line by line; the start is durable for good.
    Nothing is torn within `granularity` bytes.
    """
    media = CrashMedia(layout.nbytes, Power(model, granularity=granularity))
    protocol.format_media(media, layout, start.table, start.mlp, start.position)
    media.drain()
    writer = LogWriter(media, layout, log, start, changes)
    for event in events:
        if event.done < 1:
            media.hold()
        writer.carry_out(event)
        if event.done >= 1:
            media.fence()
        else:
            media.tear(max(event.done, 0.0), rng)
    return media.survivor(at_random(rng) if media.domain.buffered_lines else None)
