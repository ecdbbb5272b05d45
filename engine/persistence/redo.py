"""The redo log: new values are durable before a row changes at home, so a finished batch can be repeated.

Order of batch n: log_rows, log_mlp (both as they are after it), commit, write_home. The log of n stays until
the home writes of n+1 begin: those of n are durable by then, and until then it says where training stands.
"""

from typing import Any

from numpy.typing import NDArray

from . import protocol
from .layout import MediumLayout
from .media import Media
from .protocol import Rows
from .records import Pending, RecordKind, Stamp


def log_rows(media: Media, layout: MediumLayout, batch: int, rows: Rows, new_values: NDArray[Any]) -> Pending:
    """Log the rows that the batch has changed, as they are after it."""
    return protocol.log_rows(media, layout, RecordKind.REDO_ROWS, batch + 1, rows, new_values)


def log_mlp(
    media: Media, layout: MediumLayout, batch: int, mlp: NDArray[Any], stop: int | None = None, pending: Pending | None = None
) -> Pending:
    """Log the parameters as they are after `batch`, up to byte `stop`."""
    return protocol.log_mlp(media, layout, batch + 1, mlp, stop, pending)


def commit(media: Media, layout: MediumLayout, rows: Pending, mlp: Pending | None, stamp: Stamp) -> None:
    """Set both flags: the batch is done. The log before it stays, for its home writes may not have ended."""
    protocol.commit(media, layout, rows, mlp, stamp)


def rewrite(media: Media, layout: MediumLayout, log: Pending, mlp: Pending | None, rows: Rows, new_values: NDArray[Any]) -> None:
    """Free the log before this one, then write the rows at home."""
    protocol.release(media, layout, log, mlp)
    protocol.write_rows(media, layout, rows, new_values)
