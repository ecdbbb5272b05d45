"""Recovery: restore the newest possible batch, and write it as a checkpoint.

Recovery writes the logged values into the table in between. It may lose power at any point and start again: repairs only write
values that the log keeps, and the log is deleted only after the new checkpoint is durable.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..core.arrays import Bytes, Ints
from ..core.figures import count
from ..errors import CannotRun
from . import protocol, records
from .layout import ROW_ID, TABLE_START, MediumLayout
from .logs import LOGS
from .media import Media, flat_bytes
from .protocol import LogName, Position
from .records import Record, RecordKind

CHECKPOINTS = (RecordKind.ROWS_CHECKPOINT, RecordKind.MLP_CHECKPOINT)
Scan = Literal["dirty", "always"]


@dataclass(frozen=True, slots=True)
class RestoredState:
    """The state from which training resumes after a recovery.

    embedding_batch: the batch at whose start the embeddings are.
    mlp_batch: the batch at whose start the MLP is, the same or an older batch.
    reader_position, seed: the position of the training-data reader, and the two seeds.
    table: the values of all rows, (num_rows, row_bytes) bytes, or flat, row after row, if rows differ in size.
    mlp: all bytes of the MLP.
    dirty: True after a dirty shutdown.
    damaged: the number of damaged log records.

    If `dirty` is True or `damaged` is above 0, acknowledged batches may be lost. The restored state is exact also then.
    """

    embedding_batch: int
    mlp_batch: int
    reader_position: int
    seed: tuple[int, int]
    table: Bytes
    mlp: Bytes
    dirty: bool = False
    damaged: int = 0


def recover(media: Media, layout: MediumLayout, log: LogName, staleness_bound: int = 0, scan: Scan = "dirty") -> RestoredState:
    """Repair the medium, and return the state from which training resumes.

    staleness_bound: the number of batches by which the MLP may be older than the embeddings; 0 for the same batch.
    scan: "dirty" verifies the whole table only after a dirty shutdown, "always" verifies it in each recovery.

    Raises CannotRun if no valid checkpoint is left, if lost lines of the table cannot be restored, or if the table does not have
    the digest in the log.
    """
    repaired_state = repair_state(media, layout, log, staleness_bound, scan)
    return replace(repaired_state, table=protocol.read_table(media, layout))


def repair_state(
    media: Media, layout: MediumLayout, log: LogName, staleness_bound: int = 0, scan: Scan = "dirty"
) -> RestoredState:
    """Repair the medium as `recover` does, and return the state with an empty table."""
    protocol.check_superblock(media, layout)
    dirty = protocol.is_dirty(media)
    records_by_slot = {slot: records.read_record(media, slot) for slot in layout.slots}
    damaged = [slot for slot, record in records_by_slot.items() if record is None and records.is_complete(media, slot)]
    damaged_row_logs = [slot for slot in damaged if slot in layout.row_slots and log == "redo"]
    if damaged_row_logs:  # with an undo log, the age of the other records shows the loss
        raise CannotRun(
            f"The redo log at byte {damaged_row_logs[0].header} of the persistent memory is damaged, and its rows may not have "
            "reached the table; restore a full checkpoint or start again at batch 0."
        )
    rows = intact_records(records_by_slot.values(), (LOGS[log].kind, RecordKind.ROWS_CHECKPOINT))
    mlps = intact_records(records_by_slot.values(), (RecordKind.MLP, RecordKind.MLP_CHECKPOINT))
    row_record, mlp = choose_checkpoint(rows, mlps, staleness_bound)
    repair(media, layout, logs_to_replay(rows, row_record.batch, log))
    report_losses(media, layout)
    if dirty or scan == "always":
        protocol.verify(media, layout, row_record.stamp.digest)
    write_checkpoint(media, layout, row_record, mlp)
    if dirty:
        protocol.accept_dirty(media)
    stamp, parameters = row_record.stamp, flat_bytes(mlp.payload)
    return RestoredState(
        row_record.batch, mlp.batch, stamp.reader, stamp.seed, protocol.NO_BYTES, parameters, dirty, len(damaged)
    )


def intact_records(slot_records: Iterable[Record | None], kinds: tuple[RecordKind, ...]) -> tuple[Record, ...]:
    """Return the intact records of the given kinds, oldest first.

    A checkpoint comes after a log of the same batch.
    """
    intact = [record for record in slot_records if record and record.kind in kinds]
    return tuple(sorted(intact, key=lambda record: (record.batch, record.kind in CHECKPOINTS)))


def choose_checkpoint(rows: Sequence[Record], mlps: Sequence[Record], bound: int) -> tuple[Record, Record]:
    """Return the newest row record that has a matching MLP record, and that MLP record.

    The MLP record matches if it is of the same batch, or at most `bound` batches older. Raises CannotRun if no pair matches.
    """
    for row in reversed(rows):
        for mlp in reversed(mlps):
            if 0 <= row.batch - mlp.batch <= bound:
                return row, mlp
    raise CannotRun(
        f"The persistent memory holds no complete checkpoint: row logs of batches {_batches(rows)} and MLP logs of batches "
        f"{_batches(mlps)} are intact, and an MLP may be {count(bound, 'batch')} older than the rows; training has "
        "to start again at "
        "batch 0."
    )


def logs_to_replay(rows: Sequence[Record], batch: int, log: LogName) -> list[Record]:
    """Return the row logs whose values must be written into the table to reach `batch`.

    Undo logs are ordered from the newest to the oldest, redo logs from the oldest to the newest.
    """
    if log == "undo":
        return [record for record in reversed(rows) if record.batch >= batch]
    return [record for record in rows if record.batch <= batch]


def repair(media: Media, layout: MediumLayout, logs: Sequence[Record]) -> None:
    """Write the logged values into the table, durably."""
    for record in logs:
        numbers, values = logged_rows(layout, record)
        protocol.write_rows(media, layout, numbers, values)
    media.fence()


def logged_rows(layout: MediumLayout, record: Record) -> tuple[Ints, Bytes]:
    """Return (row numbers, values) of a row log.

    The values are (rows, row_bytes), or flat, row after row, if rows differ in size.
    """
    numbers = layout.logged_rows(record.payload)
    stored_values = np.frombuffer(record.payload, np.uint8, offset=numbers.size * ROW_ID)
    return numbers, protocol.without_checksums(
        layout, ((span, rows) for span, _, rows in layout.runs(numbers, stored_values, with_checksums=True))
    )


def report_losses(media: Media, layout: MediumLayout) -> None:
    """Raise CannotRun if the table has poisoned lines that the repair did not restore."""
    if not media.poisoned(TABLE_START, layout.table_end - TABLE_START):
        return
    homes = ((span, row) for span in layout.spans for row in range(span.first_row, span.end_row))
    lost_rows = [row for span, row in homes if media.poisoned(span.base + row * span.stride, span.stored_bytes)]
    raise CannotRun(
        f"{len(lost_rows)} of {count(layout.num_rows, 'embedding row is', 'embedding rows are')} lost to media "
        f"errors, the first is row {lost_rows[0]}, "
        "and no log holds them; restore a full checkpoint or start again at batch 0."
    )


def write_checkpoint(media: Media, layout: MediumLayout, rows: Record, mlp: Record) -> None:
    """Make the repaired state a checkpoint, and delete all other records.

    `rows` and `mlp` are the records from which the state was restored. If both are checkpoints already, no checkpoint is written.
    """
    for slots, keep in ((layout.row_slots, rows.slot), (layout.mlp_slots, mlp.slot)):
        protocol.clear(media, [slot for slot in slots if slot != keep])
    media.fence()
    if not {rows.kind, mlp.kind} <= set(CHECKPOINTS):
        position = Position(rows.batch, mlp.batch, rows.stamp.reader, rows.stamp.seed)
        protocol.checkpoint(media, layout, flat_bytes(mlp.payload), position, rows.stamp.digest)


def _batches(log_records: Sequence[Record]) -> str:
    return ", ".join(str(record.batch) for record in log_records) or "none"
