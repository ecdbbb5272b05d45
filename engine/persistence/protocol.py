"""The operations that both logs are made of: log rows, log the MLP, commit, release, rewrite rows.

None of them waits longer than it must: payloads share the fence at the start of `commit`, and rewritten rows
are durable by the fence of the next commit, before anything that could restore them is released.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadInput, CannotRun
from engine.persistence import records
from engine.persistence.layout import DATA, Layout, Slot
from engine.persistence.media import LINE, Media, Octets, octets, put
from engine.persistence.records import Kind, Pending

LogName = Literal["undo", "redo"]
Rows = NDArray[np.int64]
SUPERBLOCK = struct.Struct("<8s4Q")
SIGNATURE = b"emberv1\0"


@dataclass(frozen=True, slots=True)
class Position:
    """Where training stands at the start of a batch; `mlp_batch` is older than `batch` in a relaxed checkpoint.

    `reader` is the reader's position, `seed` the two words that all random numbers hang from; all of 64 bits.
    """

    batch: int
    mlp_batch: int
    reader: int = 0
    seed: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if not all(0 <= word < 2**64 for word in (self.batch, self.mlp_batch, self.reader, *self.seed)):
            raise BadInput(f"{self} does not fit into 64-bit words; use whole numbers from 0 to 2**64 - 1.")


@dataclass(frozen=True, slots=True)
class BatchBytes:
    """Bytes that one batch in steady state writes to the medium, by region; what the timing charges."""

    row_log: int
    mlp_log: int
    flags: int
    data: int


def log_bytes(layout: Layout, rows: int, mlp: bool = True) -> BatchBytes:
    """Return the bytes of a batch that touches `rows` rows; `mlp` says whether it completes an MLP log.

    A flag is one line, written when its record is committed and cleared when the record is released.
    """
    flags = 2 * LINE * (2 if mlp else 1)
    return BatchBytes(rows * layout.entry_bytes, layout.mlp_bytes if mlp else 0, flags, rows * layout.row_bytes)


def format_media(
    media: Media, layout: Layout, table: bytes | NDArray[Any], mlp: bytes | NDArray[Any], position: Position
) -> None:
    """Write table, superblock and a complete first checkpoint; until it returns, the medium holds none."""
    clear(media, layout.slots)
    media.fence()
    put(media, DATA, _strided(layout, octets(table)))
    put(media, 0, octets(SUPERBLOCK.pack(SIGNATURE, *_sizes(layout))))
    checkpoint(media, layout, octets(mlp), position)


def checkpoint(media: Media, layout: Layout, mlp: Octets, position: Position) -> None:
    """Declare the table, as it is, and `mlp` to be the state at `position`, and release all older records."""
    rows = records.begin(media, layout.row_slots, Kind.ROWS_CHECKPOINT, position.batch)
    parameters = records.begin(media, layout.mlp_slots, Kind.MLP_CHECKPOINT, position.mlp_batch)
    parameters = records.append(media, parameters, mlp)
    commit(media, layout, rows, parameters, position.reader, position.seed)
    release(media, layout, rows, parameters)


def log_rows(media: Media, layout: Layout, kind: Kind, batch: int, rows: Rows, values: NDArray[Any]) -> Pending:
    """Write row numbers and their values, (rows, row_bytes), to a free slot; `batch` is the one to resume at."""
    if rows.size > layout.max_log_rows:
        raise CannotRun(
            f"persistence.max_log_rows={layout.max_log_rows} cannot hold the {rows.size} rows of one batch; "
            f"lay the medium out for at least {rows.size}."
        )
    pending = records.begin(media, layout.row_slots, kind, batch)
    pending = records.append(media, pending, octets(rows.astype("<i8")))
    return records.append(media, pending, _rows(layout, rows, values).reshape(-1))


def log_mlp(
    media: Media, layout: Layout, batch: int, mlp: bytes | NDArray[Any], stop: int | None = None, pending: Pending | None = None
) -> Pending:
    """Write the MLP's bytes up to `stop`, from where `pending` ended; a log in pieces may span batches."""
    pending = pending or records.begin(media, layout.mlp_slots, Kind.MLP, batch)
    return records.append(media, pending, octets(mlp)[pending.nbytes : stop])


def commit(media: Media, layout: Layout, rows: Pending, mlp: Pending | None, reader: int, seed: tuple[int, int]) -> None:
    """Set the flags of a row log and, where one is complete, of an MLP log: first the data, then the flags."""
    if mlp and mlp.nbytes != layout.mlp_bytes:
        raise CannotRun(
            f"The MLP log of batch {mlp.batch} holds {mlp.nbytes} of {layout.mlp_bytes} bytes; finish it before it is committed."
        )
    media.fence()
    for pending in (rows, mlp):
        if pending:
            records.seal(media, pending, reader, seed)
    media.fence()


def release(media: Media, layout: Layout, rows: Pending, mlp: Pending | None) -> None:
    """Delete the checkpoint before a committed one, durably, so that no row changes while both exist.

    Else a later damage to the newer record would let recovery believe the older one.
    """
    clear(media, records.superseded(media, layout.row_slots, rows))
    if mlp:
        clear(media, records.superseded(media, layout.mlp_slots, mlp))
    media.fence()


def clear(media: Media, slots: Iterable[Slot]) -> None:
    """Drop the records of several slots; durable after the next fence."""
    for slot in slots:
        records.drop(media, slot)


def write_rows(media: Media, layout: Layout, rows: Rows, values: NDArray[Any]) -> None:
    """Write rows at home in the table; they are durable after the next fence."""
    for row, value in zip(rows.tolist(), _rows(layout, rows, values), strict=True):
        put(media, layout.row(row), value)


def read_table(media: Media, layout: Layout) -> Octets:
    """Return the table as bytes, (num_rows, row_bytes)."""
    table = octets(media.load(DATA, layout.num_rows * layout.row_stride))
    return table.reshape(layout.num_rows, layout.row_stride)[:, : layout.row_bytes]


def check_superblock(media: Media, layout: Layout) -> None:
    """Raise CannotRun unless the medium was formatted with this layout."""
    block = records.intact(media, 0, SUPERBLOCK.size)
    signature, *sizes = SUPERBLOCK.unpack(block) if block else (b"", 0)
    if signature != SIGNATURE:
        raise CannotRun("The persistent memory holds no readable superblock, so nothing can be recovered; start at batch 0.")
    if tuple(sizes) != _sizes(layout):
        raise CannotRun(
            f"The persistent memory was laid out for (rows, row bytes, MLP bytes, log rows) {tuple(sizes)}, "
            f"not for {_sizes(layout)}; recover it with the scenario that wrote it."
        )


def _sizes(layout: Layout) -> tuple[int, int, int, int]:
    return layout.num_rows, layout.row_bytes, layout.mlp_bytes, layout.max_log_rows


def _rows(layout: Layout, rows: Rows, values: NDArray[Any]) -> Octets:
    return octets(values).reshape(rows.size, layout.row_bytes)


def _strided(layout: Layout, table: Octets) -> Octets:
    if layout.row_stride == layout.row_bytes:
        return table
    strided = np.zeros((layout.num_rows, layout.row_stride), np.uint8)
    strided[:, : layout.row_bytes] = table.reshape(layout.num_rows, layout.row_bytes)
    return strided.reshape(-1)
