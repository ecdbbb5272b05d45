"""The log protocol: log rows, log the MLP, commit, release, rewrite rows.

No operation waits longer than necessary: payloads share the fence at the start of `commit`. The next commit's fence makes
rewritten rows durable, before the records that could restore them are released.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Bytes, Ints
from ..core.figures import count
from ..errors import BadInput, CannotRun
from . import checksums, records
from .layout import TABLE_START, MediumLayout, RowSpan, Slot
from .media import HEALTH, LINE, WORD, Media, flat_bytes, gpus_of, store_and_flush
from .records import PendingRecord, RecordKind, Stamp

LogName = Literal["undo", "redo"]
SUPERBLOCK = struct.Struct("<8s5Q")
HANDLED_SHUTDOWNS = SUPERBLOCK.size  # address of the count of dirty shutdowns that recovery has handled: a word after the sizes
SIGNATURE = b"emberv2\0"
NO_BYTES = np.zeros(0, np.uint8)
DIGEST_FAILURE = "The embedding table does not match the newest log"  # a run's report looks for it


@dataclass(frozen=True, slots=True)
class Position:
    """The position of training at the start of a batch; all numbers are below 2**63.

    batch: the batch at whose start the embeddings are.
    mlp_batch: the batch at whose start the MLP is; older than `batch` in a relaxed checkpoint.
    reader: the position of the training-data reader [samples].
    seed: the two seeds of all random numbers.
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
    """Write the table, the superblock and a complete first checkpoint on the medium.

    Until the function ends, the medium holds no checkpoint.
    """
    clear(media, layout.slots)
    media.fence()
    values, region = flat_bytes(table), np.zeros(layout.table_end - TABLE_START, np.uint8)
    for (span, homes), rows in zip(_homes(layout, region), layout.parts(values), strict=True):
        homes[:] = _stored_rows(layout, span, span.rows, rows)
    store_and_flush(media, TABLE_START, region)
    write_superblock(media, layout, mlp, position, checksums.table_digest(layout, values))


def write_superblock(media: Media, layout: MediumLayout, mlp: bytes | NDArray[Any], position: Position, table: int) -> None:
    """Write the superblock and the first checkpoint of a table on the medium.

    `table` is the digest of the table, whose rows are already written.
    """
    store_and_flush(media, 0, flat_bytes(SUPERBLOCK.pack(SIGNATURE, *_sizes(layout)) + media.load(HEALTH, WORD)))
    checkpoint(media, layout, flat_bytes(mlp), position, table)


def checkpoint(media: Media, layout: MediumLayout, mlp: Bytes, position: Position, table: int) -> None:
    """Write a checkpoint at `position` of the table on the medium and of `mlp`.

    `table` is the digest of the table. Older records are deleted.
    """
    rows = records.claim_slot(media, layout.row_slots, RecordKind.ROWS_CHECKPOINT, position.batch)
    parameters = records.claim_slot(media, layout.mlp_slots, RecordKind.MLP_CHECKPOINT, position.mlp_batch)
    parameters = records.append(media, parameters, mlp)
    commit(media, layout, rows, parameters, Stamp(position.reader, position.seed, table))
    release(media, layout, rows, parameters)


def log_rows(media: Media, layout: MediumLayout, kind: RecordKind, batch: int, rows: Ints, values: NDArray[Any]) -> PendingRecord:
    """Write rows and their values into a free row-log slot; return the unflagged record.

    `batch` is the batch at which training resumes with this record. `values` has the bytes of the rows, row after row.
    """
    if rows.size > layout.max_log_rows:
        raise CannotRun(
            f"persistence.max_log_rows={layout.max_log_rows} cannot hold the {count(rows.size, 'row')} of one batch; "
            f"lay the medium out for at least {rows.size}."
        )
    pending = records.claim_slot(media, layout.row_slots, kind, batch)
    stored_rows = (_stored_rows(layout, *run).reshape(-1) for run in layout.runs(rows, flat_bytes(values)))
    return records.append(media, pending, np.concatenate([flat_bytes(rows.astype("<i8")), *stored_rows]))


def log_mlp(
    media: Media,
    layout: MediumLayout,
    batch: int,
    mlp: bytes | NDArray[Any],
    stop: int | None = None,
    pending: PendingRecord | None = None,
) -> PendingRecord:
    """Write the MLP's bytes up to `stop` into the MLP log; return the unflagged record.

    `pending` is the record with the bytes that are already written; None claims a free slot. So an MLP log can be written in
    pieces during several batches. `batch` is the batch at which training resumes with this record.

    Several GPUs write one range each of every piece; a piece then ends at a line. After the last piece the fences of all GPUs are
    awaited, because the fence of `commit` waits for no GPU.
    """
    pending, gpus = pending or records.claim_slot(media, layout.mlp_slots, RecordKind.MLP, batch), gpus_of(media)
    end = -(-stop // LINE) * LINE if gpus and stop is not None else stop
    pending = records.append(media, pending, flat_bytes(mlp)[pending.nbytes : end], gpus)
    if pending.nbytes == layout.mlp_bytes:
        fence_gpus(gpus)
    return pending


def fence_gpus(gpus: Iterable[Media]) -> None:
    """Return when the stores of every GPU are durable."""
    for gpu in gpus:
        gpu.fence()


def commit(media: Media, layout: MediumLayout, rows: PendingRecord, mlp: PendingRecord | None, stamp: Stamp) -> None:
    """Make the logs' payloads durable, then set their flags, durably.

    `rows` is the row log; `mlp` is the MLP log, or None while it is not complete. `stamp` is written into both flags.
    """
    if mlp and mlp.nbytes != layout.mlp_bytes:
        raise CannotRun(
            f"The MLP log of batch {mlp.batch} holds {mlp.nbytes} of {count(layout.mlp_bytes, 'byte')}; finish it "
            "before the commit."
        )
    media.fence()
    for pending in (rows, mlp):
        if pending:
            records.seal(media, pending, stamp)
    media.fence()


def release(media: Media, layout: MediumLayout, rows: PendingRecord, mlp: PendingRecord | None) -> None:
    """Delete the checkpoint that a committed one replaces, durably.

    `rows` and `mlp` are the committed records. So no row changes while two checkpoints exist; otherwise, if the newer record were
    damaged later, recovery would use the older record with changed rows.
    """
    clear(media, records.superseded_slots(media, layout.row_slots, rows))
    if mlp:
        clear(media, records.superseded_slots(media, layout.mlp_slots, mlp))
    media.fence()


def clear(media: Media, slots: Iterable[Slot]) -> None:
    """Delete the records of several slots; durable after the next fence."""
    for slot in slots:
        records.clear_flag(media, slot)


def write_rows(media: Media, layout: MediumLayout, rows: Ints, values: NDArray[Any]) -> None:
    """Write rows into the table, and flush each line once.

    The rows are durable after the next fence.
    """
    if not rows.size:
        return
    addresses = iter(layout.places(rows)[0].tolist())
    for run in layout.runs(rows, flat_bytes(values)):
        for row in _stored_rows(layout, *run):
            media.store(next(addresses), row)
    starts, nbytes = layout.places(np.sort(rows))
    first_lines, last_lines = starts // LINE, (starts + (nbytes - 1)) // LINE
    gaps = np.flatnonzero(first_lines[1:] > last_lines[:-1] + 1)
    lows, highs = [int(first_lines[0]), *first_lines[gaps + 1].tolist()], [*last_lines[gaps].tolist(), int(last_lines[-1])]
    for low, high in zip(lows, highs, strict=True):
        media.flush(low * LINE, (high - low + 1) * LINE)


def read_table(media: Media, layout: MediumLayout) -> Bytes:
    """Return the values of all rows as bytes, (num_rows, row_bytes).

    The array is flat, row after row, if rows differ in size.
    """
    return without_checksums(layout, _stored_table(media, layout))


def without_checksums(layout: MediumLayout, parts: Iterable[tuple[RowSpan, Bytes]]) -> Bytes:
    """Return the values of stored rows without their checksums.

    `parts` has for each span its stored rows, (rows, stored_bytes). The values are (rows, row_bytes), or flat, row after row, if
    rows differ in size.
    """
    values = [stored_rows[:, : span.row_bytes] for span, stored_rows in parts]
    return np.concatenate([NO_BYTES, *(rows.reshape(-1) for rows in values)]) if layout.has_mixed_sizes else values[0]


def damaged(span: RowSpan, stored_rows: Bytes) -> Ints:
    """Return the numbers of a span's rows whose checksum is wrong.

    `stored_rows` are all rows of the span, (rows, stored_bytes).
    """
    stored_checksums = np.ascontiguousarray(stored_rows[:, span.row_bytes :]).view("<u8")[:, 0]
    return span.first_row + np.flatnonzero(
        stored_checksums != checksums.row_digests(span, span.rows, stored_rows[:, : span.row_bytes])
    )


def verify(media: Media, layout: MediumLayout, table: int) -> None:
    """Read the whole table; raise CannotRun unless its digest is `table`.

    With row checksums, each row is verified first.
    """
    parts = _stored_table(media, layout)
    damaged_rows = [row for part in parts for row in damaged(*part).tolist()] if layout.row_checksums else []
    if damaged_rows:
        finding = (
            f"{len(damaged_rows)} of {count(layout.num_rows, 'embedding row')} fail their checksum, the first "
            f"is row {damaged_rows[0]}"
        )
    elif checksums.table_digest(layout, without_checksums(layout, parts)) != table:
        finding = f"{DIGEST_FAILURE}: rows are stale, torn or damaged"
    else:
        return
    raise CannotRun(f"{finding}; restore a full checkpoint, or start again at batch 0.")


def is_dirty(media: Media) -> bool:
    """Return whether a dirty shutdown has happened since the last `accept_dirty`.

    The medium counts dirty shutdowns. A counter that cannot be read means True.
    """
    return media.poisoned(HEALTH, WORD) or media.load(HEALTH, WORD) != media.load(HANDLED_SHUTDOWNS, WORD)


def accept_dirty(media: Media) -> None:
    """Store that recovery has handled all dirty shutdowns so far.

    The stored count is durable after the next fence. If it is lost before, recovery only handles the shutdowns again.
    """
    store_and_flush(media, HANDLED_SHUTDOWNS, flat_bytes(media.load(HEALTH, WORD)))


def check_superblock(media: Media, layout: MediumLayout) -> None:
    """Raise CannotRun unless the medium was formatted with this layout."""
    block = records.intact_bytes(media, 0, SUPERBLOCK.size)
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


def _stored_rows(layout: MediumLayout, span: RowSpan, rows: Ints, values: Bytes) -> Bytes:
    """Return stored rows of a span, (rows, stored_bytes), from their values, (rows, row_bytes)."""
    if not layout.row_checksums:
        return values
    return np.hstack([values, checksums.row_digests(span, rows, values).astype("<u8").view(np.uint8).reshape(rows.size, WORD)])


def _homes(layout: MediumLayout, region: Bytes) -> list[tuple[RowSpan, Bytes]]:
    """Return each span with a view of its rows, (num_rows, stored_bytes), in the region of the table."""
    homes = []
    for span in layout.spans:
        start = span.base + span.first_row * span.stride - TABLE_START
        span_region = region[start : start + span.num_rows * span.stride].reshape(span.num_rows, span.stride)
        homes.append((span, span_region[:, : span.stored_bytes]))
    return homes


def _stored_table(media: Media, layout: MediumLayout) -> list[tuple[RowSpan, Bytes]]:
    return _homes(layout, flat_bytes(media.load(TABLE_START, layout.table_end - TABLE_START)))
