"""The two logs: undo keeps what a batch is about to change, redo what it has changed; both by the same four steps.

Order of batch n: log_rows, log_mlp, commit, rewrite. Undo logs the state at the batch's start: old values are durable before
a row changes in place, so an unfinished batch can be taken back. Redo logs the state after it: new values are durable before
a row changes at home, so a finished batch can be repeated. Its log of n stays until the home writes of n+1 begin: those of n
are durable by then, and until then it says where training stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..core.arrays import Ints
from . import protocol
from .layout import MediumLayout
from .media import Media
from .records import Pending, RecordKind, Stamp


@dataclass(frozen=True)
class LogOrder:
    """One of the two logs: the `kind` of its row records, and how many batches `ahead` of the logged one they resume at."""

    kind: RecordKind
    ahead: int

    def log_rows(self, media: Media, layout: MediumLayout, batch: int, rows: Ints, values: NDArray[Any]) -> Pending:
        """Log the rows that the batch changes, as they are at its start or after it."""
        return protocol.log_rows(media, layout, self.kind, batch + self.ahead, rows, values)

    def commit(self, media: Media, layout: MediumLayout, rows: Pending, mlp: Pending | None, stamp: Stamp) -> None:
        """Set both flags, `mlp` is None while its log goes on; undo then deletes the checkpoint of the batch before."""
        protocol.commit(media, layout, rows, mlp, stamp)
        if not self.ahead:
            protocol.release(media, layout, rows, mlp)

    def rewrite(
        self, media: Media, layout: MediumLayout, log: Pending, mlp: Pending | None, rows: Ints, new_values: NDArray[Any]
    ) -> None:
        """Write the rows of a committed log; redo first frees the log before it, whose home writes have ended."""
        if self.ahead:
            protocol.release(media, layout, log, mlp)
        protocol.write_rows(media, layout, rows, new_values)


LOGS: Mapping[str, LogOrder] = {"undo": LogOrder(RecordKind.UNDO_ROWS, 0), "redo": LogOrder(RecordKind.REDO_ROWS, 1)}
