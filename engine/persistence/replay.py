"""The replay of a timeline's events: what the medium holds when power is lost among them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Ints
from ..core.graph import Persists
from ..errors import BadInput, nearest
from . import checksums, protocol
from .crash_media import CrashMedia, Power
from .layout import MediumLayout
from .logs import LOGS
from .media import WORD, Media, octets
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
    """What one batch changed: row numbers, their values before and after, (rows, row_bytes), and the MLP's.

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
    """A batch boundary whose checkpoint is complete: the state from which the events lead on."""

    table: NDArray[Any]
    mlp: NDArray[Any]
    position: Position


@dataclass(frozen=True, slots=True)
class MediumWrites:
    """The logs written so far: of rows by batch, the MLP log that waits for its flag, and the last one flagged."""

    rows: Mapping[int, Pending]
    mlp: Pending | None = None
    flagged_mlp: Pending | None = None


class Stamps:
    """What a flag says of the start and the end of each batch, from `start` on."""

    def __init__(self, start: Start, changes: Mapping[int, BatchChange]) -> None:
        self._start, self._changes = start, changes
        self._digests = [checksums.table_digest(octets(start.table).reshape(len(start.table), -1))]

    def at(self, batch: int) -> Stamp:
        """Return the stamp of the batch's start."""
        first = self._start.position.batch
        for earlier in range(first + len(self._digests) - 1, batch):
            change = self._changes[earlier]
            self._digests.append(checksums.moved(self._digests[-1], change.rows, change.before, change.after))
        return Stamp(self._changes[batch].reader_before, self._start.position.seed, self._digests[batch - first])

    def after(self, batch: int) -> Stamp:
        """Return the stamp of the batch's end."""
        change, before = self._changes[batch], self.at(batch)
        return Stamp(change.reader_after, before.seed, checksums.moved(before.digest, change.rows, change.before, change.after))


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
    stamps = Stamps(start, changes)
    written = MediumWrites({})
    for event in events:
        if event.done < 1:
            media.hold()
        written = carry_out(media, layout, log, event, changes[event.batch], stamps, written)
        if event.done >= 1:
            media.fence()
        else:
            media.tear(max(event.done, 0.0), rng)
    return media.survivor(at_random(rng) if media.domain.buffered_lines else None)


def carry_out(
    media: Media,
    layout: MediumLayout,
    log: LogName,
    event: PersistEvent,
    change: BatchChange,
    stamps: Stamps,
    written: MediumWrites,
) -> MediumWrites:
    """Carry out one event by the protocol's own operations, and return the logs written by then."""
    steps, batch = LOGS[log], event.batch
    match event.op:
        case "embedding log":
            pending = steps.log_rows(media, layout, batch, change.rows, change.after if steps.ahead else change.before)
            return replace(written, rows={**written.rows, batch: pending})
        case "mlp log":
            pending = protocol.log_mlp(media, layout, batch + steps.ahead, change.mlp_after if steps.ahead else change.mlp_before)
            return replace(written, mlp=pending) if event.done >= 1 else written
        case "commit":
            steps.commit(
                media, layout, written.rows[batch], written.mlp, stamps.after(batch) if steps.ahead else stamps.at(batch)
            )
            return replace(written, mlp=None, flagged_mlp=written.mlp)
        case "embedding update" | "home write":
            steps.rewrite(media, layout, written.rows[batch], written.flagged_mlp, change.rows, change.after)
            return written
    raise BadInput(f"PersistEvent.op={event.op!r} is not known; {nearest(event.op, get_args(Persists)[1:])}")
