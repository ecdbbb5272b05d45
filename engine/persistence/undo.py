"""The undo log: old values are durable before a row changes in place, so an unfinished batch can be taken back.

Order of batch n: log_rows, log_mlp (the parameters at its start), commit, update_rows.
"""

from typing import Any

from numpy.typing import NDArray

from . import protocol
from .layout import MediumLayout
from .media import Media
from .protocol import Rows
from .records import Pending, RecordKind, Stamp


def log_rows(media: Media, layout: MediumLayout, batch: int, rows: Rows, old_values: NDArray[Any]) -> Pending:
    """Log the rows that the batch will change, as they are at its start."""
    return protocol.log_rows(media, layout, RecordKind.UNDO_ROWS, batch, rows, old_values)


def log_mlp(
    media: Media, layout: MediumLayout, batch: int, mlp: NDArray[Any], stop: int | None = None, pending: Pending | None = None
) -> Pending:
    """Log the parameters as they are at the start of `batch`, up to byte `stop`."""
    return protocol.log_mlp(media, layout, batch, mlp, stop, pending)


def commit(media: Media, layout: MediumLayout, rows: Pending, mlp: Pending | None, stamp: Stamp) -> None:
    """Set both flags, then delete the checkpoint of the batch before; `mlp` is None while its log goes on."""
    protocol.commit(media, layout, rows, mlp, stamp)
    protocol.release(media, layout, rows, mlp)


def rewrite(media: Media, layout: MediumLayout, log: Pending, mlp: Pending | None, rows: Rows, new_values: NDArray[Any]) -> None:
    """Update the rows in place; their log must be committed."""
    protocol.write_rows(media, layout, rows, new_values)
