"""The recovery as docs/persistence.md states it, on plain bytes.

The statement also has the bytes that a recovery must leave.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...core.figures import count
from ..reference_run import SEED, ReferenceRun
from .stated_medium import (
    HANDLED,
    HEALTH,
    LINE,
    MLP,
    MLP_CHECKPOINT,
    NO_LINES,
    PAGE,
    REDO,
    ROWS_CHECKPOINT,
    UNDO,
    WORD,
    StatedMedium,
    StatedRecord,
    StatedSlot,
    flag,
)

Stamp = tuple[int, int, int, int]
Image = bytes | bytearray


@dataclass(frozen=True)
class StatedOutcome:
    """The stated outcome of a recovery.

    refusal: the reason for a refusal, else "".
    has_format: False if the refusal is for want of a superblock or of a checkpoint.
    batch, mlp_batch: the numbers of the restored batches.
    dirty: True after a dirty shutdown.
    damaged: the number of damaged log records.
    """

    refusal: str = ""
    has_format: bool = True
    batch: int = -1
    mlp_batch: int = -1
    dirty: bool = False
    damaged: int = 0


@lru_cache(maxsize=64)
def statement(reference: ReferenceRun) -> "Statement":
    """Return the stated content of a reference run's medium, and its stated recovery."""
    return Statement(reference)


class Statement:
    """The stated content of the medium of a reference run, and its stated recovery."""

    def __init__(self, reference: ReferenceRun) -> None:
        self.reference = reference
        variant = reference.configuration
        self.log_kind, self.ahead = (REDO, 1) if variant.log == "redo" else (UNDO, 0)
        self.medium = StatedMedium(reference.row_sizes, variant.mixed, reference.mlps[0].size, reference.rows, variant.checked)

    @cached_property
    def tables(self) -> list[tuple[bytes, int]]:
        """(bytes of the table's region, digest) at the start of each batch."""
        return [self.medium.table(self.reference.value_bytes(batch)) for batch in range(len(self.reference.tables))]

    def stamp(self, batch: int) -> Stamp:
        """Return the stamp of a batch boundary, counted from 0."""
        return self.reference.reader(batch), *SEED, self.tables[batch][1]

    def outcome(self, image: Image, scan: bool = False, lost: Collection[int] = NO_LINES) -> StatedOutcome:
        """Return the stated outcome of a recovery; `lost` are numbers of lost lines."""
        stated = self.medium
        if len(image) != stated.nbytes:
            return StatedOutcome("the medium has not the stated size", False)
        if 0 in lost or image[: len(stated.superblock)] != stated.superblock:
            return StatedOutcome("the superblock is not that of this layout", False)
        dirty = HEALTH // LINE in lost or image[HEALTH : HEALTH + WORD] != image[HANDLED : HANDLED + WORD]
        records, damaged = stated.records(image, lost)
        if self.log_kind == REDO and any(slot in stated.row_slots for slot in damaged):
            return StatedOutcome("a redo log is damaged")
        pair = self._newest_pair(records)
        if pair is None:
            return StatedOutcome("no row record has an MLP record within the bound", False)
        rows, mlp = pair
        region, lost_lines = self._repaired(image, records, rows.batch, set(lost))
        if any(PAGE // LINE <= line < -(-stated.table_stop // LINE) for line in lost_lines):
            return StatedOutcome("lines of the table are lost")
        if (dirty or scan) and stated.table(stated.values(region))[1] != rows.stamp[3]:
            return StatedOutcome("the table has not the digest of its record")
        if (dirty or scan) and stated.checked and not self._rows_checked(region):
            return StatedOutcome("a row has not its checksum")
        return StatedOutcome("", True, rows.batch, mlp.batch, dirty, len(damaged))

    def _newest_pair(self, records: list[StatedRecord]) -> tuple[StatedRecord, StatedRecord] | None:
        order = {ROWS_CHECKPOINT: 1, MLP_CHECKPOINT: 1}
        newest_first = sorted(records, key=lambda record: (record.batch, order.get(record.kind, 0)), reverse=True)
        pairs = (
            (rows, mlp)
            for rows in newest_first
            if rows.kind in (self.log_kind, ROWS_CHECKPOINT)
            for mlp in newest_first
            if mlp.kind in (MLP, MLP_CHECKPOINT) and 0 <= rows.batch - mlp.batch <= self.reference.bound
        )
        return next(pairs, None)

    def _repaired(self, image: Image, records: list[StatedRecord], batch: int, lost: set[int]) -> tuple[bytes, set[int]]:
        """Return (the table's region after the logs' values are written back, the lines that are still lost)."""
        stated, region = self.medium, bytearray(image[PAGE : self.medium.table_stop])
        logs = sorted((record for record in records if record.kind == self.log_kind), key=lambda record: record.batch)
        chosen_logs = (
            [log for log in logs if log.batch <= batch] if self.ahead else [log for log in reversed(logs) if log.batch >= batch]
        )
        for log in chosen_logs:
            for row, content in stated.logged_rows(log.payload):
                start = int(stated.row_starts[row])
                region[start - PAGE : start - PAGE + len(content)] = content
                lost -= set(range(-(-start // LINE), (start + len(content)) // LINE))
        return bytes(region), lost

    def _rows_checked(self, region: bytes) -> bool:
        checked_region = self.medium.table(self.medium.values(region))[0]
        return self.medium.same_rows(region, checked_region)

    def flags(self, kind: int, batch: int) -> list[tuple[bytes, bytes]]:
        """Return the possible (header line, payload) of a record.

        A relaxed MLP log may be committed some batches later, and then has the stamp of that batch.
        """
        reference, first = self.reference, self.reference.configuration.first_batch
        b = batch - first
        if not 0 <= b < len(reference.tables):
            return []
        boundaries, payload = [b], b""
        if kind in (MLP, MLP_CHECKPOINT):
            boundaries, payload = list(range(b, min(b + reference.bound + 1, len(reference.tables)))), reference.mlps[b].tobytes()
        elif kind == self.log_kind and 0 <= b - self.ahead < reference.batches:
            payload = self.medium.rows_payload(self.tables[b][0], reference.rows[b - self.ahead])
        elif kind != ROWS_CHECKPOINT:
            return []
        return [(flag(kind, batch, self.stamp(boundary), payload), payload) for boundary in boundaries]

    def wrong_record(self, image: Image, slot: StatedSlot) -> str:
        """Return a sentence if a slot's complete record is not as stated, else ""."""
        header = bytes(image[slot.header : slot.header + LINE])
        if not all(any(header[n : n + WORD]) for n in range(0, LINE, WORD)):
            return ""
        record, start = self.medium.record(image, slot), slot.header + LINE
        stated_flags = self.flags(record.kind, record.batch) if record else []
        if any(header == stated and image[start : start + len(payload)] == payload for stated, payload in stated_flags):
            return ""
        return f"the record at byte {slot.header} has not the fields and payload that are stated for it"

    def wrong_word(self, image: Image) -> str:
        """Return a sentence if the superblock or a complete record is not as stated, else ""."""
        if len(image) != self.medium.nbytes:
            return "the medium has not the stated size"
        if bytes(image[: len(self.medium.superblock)]) != self.medium.superblock:
            return "the superblock has not the stated words"
        return next(filter(None, (self.wrong_record(image, slot) for slot in self.medium.row_slots + self.medium.mlp_slots)), "")

    def wrong_rest(self, image: Image, batch: int, mlp_batch: int, is_checkpoint: bool, padding: bool = True) -> str:
        """Return a sentence unless the medium holds exactly the stated state of a boundary, else "".

        batch, mlp_batch: the numbers of the batches.
        is_checkpoint: True after a format or a recovery; after training the newest logs are live instead.
        padding: False if bytes that nothing uses may have any value.
        """
        stated, boundary = self.medium, batch - self.reference.configuration.first_batch
        b = boundary if is_checkpoint or self.ahead else boundary + 1  # an undo log is older than the rows that it restores
        if len(image) != stated.nbytes:
            return f"the medium has {count(len(image), 'byte')}, and {stated.nbytes} are stated"
        region = self.tables[b][0]
        if not padding:
            if not stated.same_rows(bytes(image[PAGE : stated.table_stop]), region):
                return f"the table has not the stated bytes of batch {b}"
        elif bytes(image[PAGE : stated.row_slots[0].header]) != region + bytes(stated.row_slots[0].header - stated.table_stop):
            return f"the table has not the stated bytes of batch {b}"
        elif any(image[HANDLED + WORD : HEALTH]) or any(image[HEALTH + WORD : PAGE]):
            return "unused bytes of the first page are not zero"
        if is_checkpoint and image[HANDLED : HANDLED + WORD] != image[HEALTH : HEALTH + WORD]:
            return "the count of handled dirty shutdowns is not that of the device"
        kinds = (ROWS_CHECKPOINT, MLP_CHECKPOINT) if is_checkpoint else (self.log_kind, MLP)
        live = [
            [record and (record.kind, record.batch) for slot in slots if any(image[slot.header : slot.header + LINE])
             for record in [stated.record(image, slot)]]
            for slots in (stated.row_slots, stated.mlp_slots)
        ]  # fmt: skip
        expected = [[(kinds[0], batch)], [(kinds[1], mlp_batch)]]
        if live != expected:
            return f"the live records (kind, batch) are {live}, not {expected}"
        return self.wrong_word(image)
