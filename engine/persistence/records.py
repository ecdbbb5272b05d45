"""A log record: a durable payload, then a header line with its kind and checksum.

The header is the record's flag. Its last word is a checksum over payload and header. So a torn header, a torn or old payload, or
a region of zeros is never taken for a record.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from ..core.arrays import Bytes
from ..core.figures import count
from ..errors import CannotRun
from .layout import Slot
from .media import LINE, Media, flat_bytes, line_ranges, store_and_flush

MAGIC = int.from_bytes(b"emberlog", "little")
FIELD_MASK = (
    0xA5C35A3C96E169F0  # XORed with each field: a complete flag has no zero word, so a torn flag differs from a damaged one
)
KIND_SHIFT = 56  # the kind shares a word with the payload's size
FIELDS = struct.Struct("<7Q")
CHECKSUM = struct.Struct("<Q")
WORDS = struct.Struct("<8Q")
EMPTY_HEADER = np.zeros(LINE, np.uint8)


class RecordKind(IntEnum):
    """The kind of a log record.

    A checkpoint of the rows has no payload, because the table itself is the content.
    """

    UNDO_ROWS = 1
    REDO_ROWS = 2
    MLP = 3
    ROWS_CHECKPOINT = 4
    MLP_CHECKPOINT = 5


KINDS = frozenset(int(kind) for kind in RecordKind)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The position of training that a flag stores.

    reader: the position of the training-data reader [samples].
    seed: the two seeds of all random numbers.
    digest: the digest of the table.
    """

    reader: int
    seed: tuple[int, int]
    digest: int


@dataclass(frozen=True, slots=True)
class PendingRecord:
    """A record whose payload is being written, and whose flag is not yet set.

    slot, kind: the slot and the kind of the record.
    batch: the batch at which training resumes with this record.
    nbytes, digest: the number of payload bytes written so far, and their digest.
    """

    slot: Slot
    kind: RecordKind
    batch: int
    nbytes: int
    digest: hashlib.blake2b


@dataclass(frozen=True, slots=True)
class Record:
    """An intact record that was read from a slot.

    slot, kind: the slot and the kind of the record.
    batch: the batch at which training resumes with this record.
    stamp: the position of training in the flag.
    payload: the payload bytes.
    """

    slot: Slot
    kind: RecordKind
    batch: int
    stamp: Stamp
    payload: bytes


def claim_slot(media: Media, slots: Sequence[Slot], kind: RecordKind, batch: int) -> PendingRecord:
    """Return an empty record in a free slot.

    The search starts at slot `batch` modulo the number of slots. Raises CannotRun if all slots are in use.
    """
    turns = [slots[(batch + turn) % len(slots)] for turn in range(len(slots))]
    for slot in turns:
        if is_free(media, slot):
            return PendingRecord(slot, kind, batch, 0, new_digest())
    raise CannotRun(
        f"The {kind.name.lower()} record of batch {batch} has no free log slot: all {len(slots)} are in use; release older "
        "records first."
    )


def append(media: Media, pending: PendingRecord, piece: Bytes, gpus: Sequence[Media] = ()) -> PendingRecord:
    """Write the next piece of a record's payload; return the longer record.

    Several `gpus` write one range of the piece each, durable after the next fence of that GPU. Without them `media` writes the
    piece, durable after its next fence. Raises CannotRun if the slot is too small.
    """
    if pending.nbytes + piece.size > pending.slot.capacity:
        raise CannotRun(
            f"The {pending.kind.name.lower()} record of batch {pending.batch} needs "
            f"{count(pending.nbytes + piece.size, 'byte')}, "
            f"but its log slot holds {pending.slot.capacity}; lay the medium out for larger batches."
        )
    address = pending.slot.payload + pending.nbytes
    writers = gpus or (media,)
    for writer, part in zip(writers, line_ranges(address, piece.size, len(writers)), strict=True):
        if part.start < part.stop or not gpus:
            store_and_flush(writer, address + part.start, piece[part])
    digest = pending.digest.copy()
    digest.update(piece.data)
    return replace(pending, nbytes=pending.nbytes + piece.size, digest=digest)


def seal(media: Media, pending: PendingRecord, stamp: Stamp) -> None:
    """Write the record's flag; the payload must be durable before.

    The flag is durable after the next fence.
    """
    kind_and_size = pending.kind << KIND_SHIFT | pending.nbytes
    fields = FIELDS.pack(
        *(word ^ FIELD_MASK for word in (MAGIC, pending.batch, kind_and_size, stamp.reader, *stamp.seed, stamp.digest))
    )
    store_and_flush(media, pending.slot.header, flat_bytes(fields + CHECKSUM.pack(checksum(pending.digest, fields))))


def is_free(media: Media, slot: Slot) -> bool:
    """Return whether a slot has no flag, so that a record can use the slot."""
    return not media.poisoned(slot.header, LINE) and not any(media.load(slot.header, LINE))


def clear_flag(media: Media, slot: Slot) -> None:
    """Delete the record in a slot by clearing its flag.

    The deletion is durable after the next fence.
    """
    if not is_free(media, slot):
        store_and_flush(media, slot.header, EMPTY_HEADER)


def superseded_slots(media: Media, slots: Sequence[Slot], successor: PendingRecord) -> list[Slot]:
    """Return the used slots whose records are of `successor`'s batch or older.

    The slot of `successor` itself is left out.
    """
    return [
        slot for slot in slots if slot != successor.slot and not is_free(media, slot) and _batch(media, slot) <= successor.batch
    ]


def is_complete(media: Media, slot: Slot) -> bool:
    """Return whether a slot's flag was written whole, or its line is lost.

    A torn flag has words of zeros. A complete flag without an intact record is a sign of damage, not of a crash.
    """
    return media.poisoned(slot.header, LINE) or all(WORDS.unpack(media.load(slot.header, LINE)))


def read_record(media: Media, slot: Slot) -> Record | None:
    """Return the record in a slot, or None if the slot holds no intact record."""
    header = intact_bytes(media, slot.header, LINE)
    if header is None:
        return None
    magic, batch, kind_and_size, reader, first_seed, second_seed, table = (
        word ^ FIELD_MASK for word in FIELDS.unpack_from(header)
    )
    kind, nbytes = kind_and_size >> KIND_SHIFT, kind_and_size % (1 << KIND_SHIFT)
    if magic != MAGIC or kind not in KINDS or nbytes > slot.capacity:
        return None
    payload = intact_bytes(media, slot.payload, nbytes)
    if payload is None:
        return None
    digest = new_digest()
    digest.update(payload)
    if checksum(digest, header[: FIELDS.size]) != CHECKSUM.unpack_from(header, FIELDS.size)[0]:
        return None
    return Record(slot, RecordKind(kind), batch, Stamp(reader, (first_seed, second_seed), table), payload)


def _batch(media: Media, slot: Slot) -> int:
    return int(FIELDS.unpack(media.load(slot.header, FIELDS.size))[1]) ^ FIELD_MASK


def intact_bytes(media: Media, address: int, nbytes: int) -> bytes | None:
    """Return the bytes of a range, or None if one of its lines is poisoned."""
    return None if media.poisoned(address, nbytes) else media.load(address, nbytes)


def new_digest() -> hashlib.blake2b:
    """Return an empty 64-bit BLAKE2b digest.

    The digest is one word wide and, unlike a CRC, not linear, so torn words cannot cancel out.
    """
    return hashlib.blake2b(digest_size=CHECKSUM.size)


def checksum(payload: hashlib.blake2b, fields: bytes) -> int:
    """Return the checksum of a record: over its payload's digest and the header's fields."""
    digest = payload.copy()
    digest.update(fields)
    return int.from_bytes(digest.digest(), "little")
