"""The two logs: undo keeps the values before a batch, redo the values after it.

Both have the same four steps.
Order of batch n: log_rows, log_mlp, commit, rewrite. Undo logs the state at the batch's start: old values are durable before
a row changes in place, so an unfinished batch can be undone. Redo logs the state after the batch: new values are durable before
a row changes at home, so a finished batch can be repeated. The redo log of batch n stays until the home writes of n+1 begin:
the home writes of n are durable by then, and until then the log has the position of training.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..core.arrays import Ints
from . import protocol
from .layout import MediumLayout
from .media import Media
from .records import PendingRecord, RecordKind, Stamp


@dataclass(frozen=True)
class LogOrder:
    """One of the two logs: the `kind` of its row records.

    They resume `batches_ahead` batches after the logged batch (0 or 1).
    """

    kind: RecordKind
    batches_ahead: int

    def log_rows(self, media: Media, layout: MediumLayout, batch: int, rows: Ints, values: NDArray[Any]) -> PendingRecord:
        """Log the rows that the batch changes, with old or new values.

        Undo logs the values at the batch's start, redo those after it.
        """
        return protocol.log_rows(media, layout, self.kind, batch + self.batches_ahead, rows, values)

    def commit(self, media: Media, layout: MediumLayout, rows: PendingRecord, mlp: PendingRecord | None, stamp: Stamp) -> None:
        """Set both flags.

        `mlp` is None while the MLP log goes on. Undo then deletes the previous batch's checkpoint.
        """
        protocol.commit(media, layout, rows, mlp, stamp)
        if not self.batches_ahead:
            protocol.release(media, layout, rows, mlp)

    def rewrite(
        self,
        media: Media,
        layout: MediumLayout,
        log: PendingRecord,
        mlp: PendingRecord | None,
        rows: Ints,
        new_values: NDArray[Any],
    ) -> None:
        """Write the rows of a committed log.

        Redo first frees the previous log, whose home writes have ended.
        """
        if self.batches_ahead:
            protocol.release(media, layout, log, mlp)
        protocol.write_rows(media, layout, rows, new_values)


LOGS: Mapping[str, LogOrder] = {"undo": LogOrder(RecordKind.UNDO_ROWS, 0), "redo": LogOrder(RecordKind.REDO_ROWS, 1)}
