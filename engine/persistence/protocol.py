"""The log protocol, the operations that both logs are made of: log rows, log the MLP, commit, release, rewrite rows.

None of them waits longer than it must: payloads share the fence at the start of `commit`, and rewritten rows
are durable by the fence of the next commit, before anything that could restore them is released.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Bytes, Ints
from ..errors import BadInput, CannotRun
from . import checksums, records
from .layout import DATA, MediumLayout, RowSpan, Slot
from .media import HEALTH, LINE, WORD, Media, octets, put
from .records import Pending, RecordKind, Stamp

LogName = Literal["undo", "redo"]
SUPERBLOCK = struct.Struct("<8s5Q")
SEEN = SUPERBLOCK.size  # the dirty shutdowns that recovery has dealt with: a word after the sizes, in their line
SIGNATURE = b"emberv2\0"
NO_BYTES = np.zeros(0, np.uint8)


@dataclass(frozen=True, slots=True)
class Position:
    """Where training stands at the start of a batch; `mlp_batch` is older than `batch` in a relaxed checkpoint.

    `reader` is the reader's position, `seed` the two words that all random numbers hang from; all below 2**63.
    """

    batch: int
    mlp_batch: int
    reader: int = 0
    seed: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if not all(0 <= word < 2**63 for word in (self.batch, self.mlp_batch, self.reader, *self.seed)):
            raise BadInput(f"{self} does not fit into 63 bits; use whole numbers from 0 to 2**63 - 1.")


def format_media(
    media: Media, layout: MediumLayout, table: bytes | NDArray[Any], mlp: bytes | NDArray[Any], position: Position
) -> None:
    """Write table, superblock and a complete first checkpoint; until it returns, the medium holds none."""
    clear(media, layout.slots)
    media.fence()
    values, region = octets(table), np.zeros(layout.table_end - DATA, np.uint8)
    for (span, homes), rows in zip(_homes(layout, region), layout.parts(values), strict=True):
        homes[:] = _stored(layout, span, span.rows, rows)
    put(media, DATA, region)
    declare(media, layout, mlp, position, checksums.table_digest(layout, values))


def declare(media: Media, layout: MediumLayout, mlp: bytes | NDArray[Any], position: Position, table: int) -> None:
    """Write the superblock and a first checkpoint of a table that is there already and has the digest `table`."""
    put(media, 0, octets(SUPERBLOCK.pack(SIGNATURE, *_sizes(layout)) + media.load(HEALTH, WORD)))
    checkpoint(media, layout, octets(mlp), position, table)


def checkpoint(media: Media, layout: MediumLayout, mlp: Bytes, position: Position, table: int) -> None:
    """Declare the table, which has the digest `table`, and `mlp` to be the state at `position`; release older records."""
    rows = records.begin(media, layout.row_slots, RecordKind.ROWS_CHECKPOINT, position.batch)
    parameters = records.begin(media, layout.mlp_slots, RecordKind.MLP_CHECKPOINT, position.mlp_batch)
    parameters = records.append(media, parameters, mlp)
    commit(media, layout, rows, parameters, Stamp(position.reader, position.seed, table))
    release(media, layout, rows, parameters)


def log_rows(media: Media, layout: MediumLayout, kind: RecordKind, batch: int, rows: Ints, values: NDArray[Any]) -> Pending:
    """Write row numbers and their values, one row after another, to a free slot; `batch` is the one to resume at."""
    if rows.size > layout.max_log_rows:
        raise CannotRun(
            f"persistence.max_log_rows={layout.max_log_rows} cannot hold the {rows.size} rows of one batch; "
            f"lay the medium out for at least {rows.size}."
        )
    pending = records.begin(media, layout.row_slots, kind, batch)
    stored = (_stored(layout, *run).reshape(-1) for run in layout.runs(rows, octets(values)))
    return records.append(media, pending, np.concatenate([octets(rows.astype("<i8")), *stored]))


def log_mlp(
    media: Media,
    layout: MediumLayout,
    batch: int,
    mlp: bytes | NDArray[Any],
    stop: int | None = None,
    pending: Pending | None = None,
) -> Pending:
    """Write the MLP's bytes up to `stop`, from where `pending` ended; a log in pieces may span batches."""
    pending = pending or records.begin(media, layout.mlp_slots, RecordKind.MLP, batch)
    return records.append(media, pending, octets(mlp)[pending.nbytes : stop])


def commit(media: Media, layout: MediumLayout, rows: Pending, mlp: Pending | None, stamp: Stamp) -> None:
    """Set the flags of a row log and, where one is complete, of an MLP log: first the data, then the flags."""
    if mlp and mlp.nbytes != layout.mlp_bytes:
        raise CannotRun(
            f"The MLP log of batch {mlp.batch} holds {mlp.nbytes} of {layout.mlp_bytes} bytes; finish it before it is committed."
        )
    media.fence()
    for pending in (rows, mlp):
        if pending:
            records.seal(media, pending, stamp)
    media.fence()


def release(media: Media, layout: MediumLayout, rows: Pending, mlp: Pending | None) -> None:
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


def write_rows(media: Media, layout: MediumLayout, rows: Ints, values: NDArray[Any]) -> None:
    """Write rows at home in the table, and flush each line once; they are durable after the next fence."""
    if not rows.size:
        return
    addresses = iter(layout.places(rows)[0].tolist())
    for run in layout.runs(rows, octets(values)):
        for row in _stored(layout, *run):
            media.store(next(addresses), row)
    starts, nbytes = layout.places(np.sort(rows))
    first, last = starts // LINE, (starts + (nbytes - 1)) // LINE
    apart = np.flatnonzero(first[1:] > last[:-1] + 1)
    lows, highs = [int(first[0]), *first[apart + 1].tolist()], [*last[apart].tolist(), int(last[-1])]
    for low, high in zip(lows, highs, strict=True):
        media.flush(low * LINE, (high - low + 1) * LINE)


def read_table(media: Media, layout: MediumLayout) -> Bytes:
    """Return the table as bytes, (num_rows, row_bytes), or row after row where they are unlike."""
    return plain(layout, _stored_table(media, layout))


def plain(layout: MediumLayout, parts: Iterable[tuple[RowSpan, Bytes]]) -> Bytes:
    """Return rows as they are stored, (rows, stored_bytes) of a span, without their checksums.

    They are (rows, row_bytes), or one after another where they are unlike.
    """
    values = [stored[:, : span.row_bytes] for span, stored in parts]
    return np.concatenate([NO_BYTES, *(rows.reshape(-1) for rows in values)]) if layout.unlike else values[0]


def damaged(span: RowSpan, stored: Bytes) -> Ints:
    """Return which rows of a whole span, as they are stored, (rows, stored_bytes), have a wrong checksum."""
    kept = np.ascontiguousarray(stored[:, span.row_bytes :]).view("<u8")[:, 0]
    return span.first_row + np.flatnonzero(kept != checksums.row_digests(span, span.rows, stored[:, : span.row_bytes]))


def verify(media: Media, layout: MediumLayout, table: int) -> None:
    """Read the whole table and raise CannotRun unless it has the digest `table`."""
    parts = _stored_table(media, layout)
    bad = [row for part in parts for row in damaged(*part).tolist()] if layout.row_checksums else []
    if bad:
        what = f"{len(bad)} of {layout.num_rows} embedding rows fail their checksum, the first is row {bad[0]}"
    elif checksums.table_digest(layout, plain(layout, parts)) != table:
        what = "The embedding table is not the one that the newest log speaks of: rows are stale, torn or damaged"
    else:
        return
    raise CannotRun(f"{what}; restore a full checkpoint or start again at batch 0.")


def is_dirty(media: Media) -> bool:
    """Say whether the medium counted a shutdown, after the last that was dealt with, that may have lost fenced lines.

    A count that cannot be read may be any.
    """
    return media.poisoned(HEALTH, WORD) or media.load(HEALTH, WORD) != media.load(SEEN, WORD)


def accept_dirty(media: Media) -> None:
    """Note that the dirty shutdowns so far have been dealt with; durable with the next fence, and until then harmlessly old."""
    put(media, SEEN, octets(media.load(HEALTH, WORD)))


def check_superblock(media: Media, layout: MediumLayout) -> None:
    """Raise CannotRun unless the medium was formatted with this layout."""
    block = records.intact(media, 0, SUPERBLOCK.size)
    signature, *sizes = SUPERBLOCK.unpack(block) if block else (b"", 0)
    if signature != SIGNATURE:
        raise CannotRun("The persistent memory holds no readable superblock, so nothing can be recovered; start at batch 0.")
    if tuple(sizes) != _sizes(layout):
        raise CannotRun(
            "The persistent memory was laid out for (rows, row bytes or a digest of unlike ones, MLP bytes, log rows, row "
            f"checksums) {tuple(sizes)}, not for {_sizes(layout)}; recover it with the scenario that wrote it."
        )


def _sizes(layout: MediumLayout) -> tuple[int, int, int, int, int]:
    return layout.num_rows, layout.size_word, layout.mlp_bytes, layout.max_log_rows, int(layout.row_checksums)


def _stored(layout: MediumLayout, span: RowSpan, rows: Ints, values: Bytes) -> Bytes:
    """Return rows of a span as they are stored, (rows, stored_bytes), from their values, (rows, row_bytes)."""
    if not layout.row_checksums:
        return values
    return np.hstack([values, checksums.row_digests(span, rows, values).astype("<u8").view(np.uint8).reshape(rows.size, WORD)])


def _homes(layout: MediumLayout, region: Bytes) -> list[tuple[RowSpan, Bytes]]:
    """Return where each span's rows stand, (num_rows, stored_bytes), in the region of the table."""
    homes = []
    for span in layout.spans:
        start = span.base + span.first_row * span.stride - DATA
        whole = region[start : start + span.num_rows * span.stride].reshape(span.num_rows, span.stride)
        homes.append((span, whole[:, : span.stored_bytes]))
    return homes


def _stored_table(media: Media, layout: MediumLayout) -> list[tuple[RowSpan, Bytes]]:
    return _homes(layout, octets(media.load(DATA, layout.table_end - DATA)))
