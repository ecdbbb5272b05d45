"""The two logs: undo keeps the values before a batch, redo the values after it.

Both logs have the same four steps for batch n: log_rows, log_mlp, commit, rewrite. Undo logs the state at the batch's start: old
values are durable before a row of the table changes in place, so an unfinished batch can be undone. Redo logs the state after
the batch: new values are durable before a row of the table changes, so a finished batch can be repeated. The redo log of batch n
is deleted when the table writes of batch n+1 begin: the table writes of batch n are durable then, and until then only the log
has the position of training.
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
    """The order of operations of one of the two logs, undo or redo.

    kind: the kind of its row records.
    batches_ahead: training resumes at the logged batch (0, undo) or at the next batch (1, redo).
    """

    kind: RecordKind
    batches_ahead: int

    def log_rows(self, media: Media, layout: MediumLayout, batch: int, rows: Ints, values: NDArray[Any]) -> PendingRecord:
        """Write the rows that `batch` changes into the log; return the unflagged record.

        `values` are the values at the batch's start for undo, and the values after the batch for redo.
        """
        return protocol.log_rows(media, layout, self.kind, batch + self.batches_ahead, rows, values)

    def commit(self, media: Media, layout: MediumLayout, rows: PendingRecord, mlp: PendingRecord | None, stamp: Stamp) -> None:
        """Set the flags of the row log and of the MLP log, durably.

        `mlp` is None while the MLP log is not complete. For undo, the previous batch's checkpoint is then deleted.
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
        """Write the new values of a committed batch into the table.

        For redo, the previous log is first deleted; its table writes have ended.
        """
        if self.batches_ahead:
            protocol.release(media, layout, log, mlp)
        protocol.write_rows(media, layout, rows, new_values)


LOGS: Mapping[str, LogOrder] = {"undo": LogOrder(RecordKind.UNDO_ROWS, 0), "redo": LogOrder(RecordKind.REDO_ROWS, 1)}
