"""From a timeline to bytes: what the medium holds when power is lost among the events of a run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.persistence import protocol, redo, undo
from engine.persistence.functional import FunctionalMedia
from engine.persistence.layout import Layout
from engine.persistence.media import Media
from engine.persistence.protocol import LogName, Position, Rows
from engine.persistence.records import Pending

LOGS: dict[str, ModuleType] = {"undo": undo, "redo": redo}


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

    rows: Rows
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


class Unfenced:
    """A medium whose fences return at once: all that an operation writes stays pending, in order."""

    def __init__(self, media: Media) -> None:
        self.load, self.store, self.flush = media.load, media.store, media.flush
        self.device_write, self.poisoned = media.device_write, media.poisoned

    def fence(self) -> None:
        """Do nothing: the operation is under way."""


def survive(
    layout: Layout,
    start: Start,
    events: Iterable[PersistEvent],
    changes: Mapping[int, BatchChange],
    log: LogName,
    rng: np.random.Generator,
) -> FunctionalMedia:
    """Return what is durable after power loss, for `recover` to work on.

    Events come in the order of the protocol. Those under way keep the first `done` of their lines and a random
    word prefix of the next; each is torn on its own. An MLP log is flagged by the next commit after its end.
    """
    media = FunctionalMedia(layout.nbytes)
    protocol.format_media(media, layout, start.table, start.mlp, start.position)
    steps = Steps(layout, changes, log, start.position.seed)
    for event in events:
        if event.done >= 1:
            steps.run(event, media)
            media.fence()
        else:
            steps.run(event, Unfenced(media))
            media.tear(max(event.done, 0.0), rng)
    return media.survivor()


@dataclass
class Steps:
    """Carries out events on a medium, and remembers which logs wait for their flags."""

    layout: Layout
    changes: Mapping[int, BatchChange]
    log: LogName
    seed: tuple[int, int]
    rows: dict[int, Pending] = field(default_factory=dict)
    mlp: Pending | None = None
    committed_mlp: Pending | None = None

    def run(self, event: PersistEvent, media: Media) -> None:
        """Carry out one event; its writes are pending or durable as the medium's fences have it."""
        operation: dict[str, Callable[[Media, int, BatchChange], None]] = {
            "embedding log": self.log_rows,
            "mlp log": partial(self.log_mlp, ended=event.done >= 1),
            "commit": self.commit,
            "embedding update": self.rewrite,
            "home write": self.rewrite,
        }
        operation[event.op](media, event.batch, self.changes[event.batch])

    def log_rows(self, media: Media, batch: int, change: BatchChange) -> None:
        """Log old (undo) or new (redo) values of the batch's rows."""
        values = change.before if self.log == "undo" else change.after
        self.rows[batch] = LOGS[self.log].log_rows(media, self.layout, batch, change.rows, values)

    def log_mlp(self, media: Media, batch: int, change: BatchChange, ended: bool) -> None:
        """Log the parameters at the start of the batch (undo) or after it (redo)."""
        mlp = change.mlp_before if self.log == "undo" else change.mlp_after
        pending = LOGS[self.log].log_mlp(media, self.layout, batch, mlp)
        self.mlp = pending if ended else self.mlp

    def commit(self, media: Media, batch: int, change: BatchChange) -> None:
        """Set the flags of the batch's row log and of the newest MLP log that waits for one."""
        reader = change.reader_before if self.log == "undo" else change.reader_after
        LOGS[self.log].commit(media, self.layout, self.rows[batch], self.mlp, reader, self.seed)
        self.mlp, self.committed_mlp = None, self.mlp

    def rewrite(self, media: Media, batch: int, change: BatchChange) -> None:
        """Write the batch's new values to their rows."""
        log = LOGS[self.log]
        log.rewrite(media, self.layout, self.rows[batch], self.committed_mlp, change.rows, change.after)
