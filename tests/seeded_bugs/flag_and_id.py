"""Bugs of flags and batch ids: a torn, stale or foreign record is taken for a good one."""

from dataclasses import replace

from engine.crashcheck.reference_run import SEED
from engine.persistence.records import (
    FIELD_MASK,
    FIELDS,
    KIND_SHIFT,
    KINDS,
    MAGIC,
    Record,
    RecordKind,
    Stamp,
    checksum,
    claim_slot,
    is_free,
    new_digest,
    read_record,
    seal,
)
from tests.seeded_bugs import bug


@bug("records.checksum", evidence="I5")
def no_checksum(payload, fields):
    return 0


@bug("records.checksum", evidence="I5")
def checksum_of_the_header_only(payload, fields):
    return checksum(new_digest(), fields)


@bug("records.checksum", evidence="I2")
def checksum_of_the_payload_only(payload, fields):
    return checksum(payload, b"")


@bug("records.seal", evidence="I7")
def flag_carries_no_batch(media, pending, stamp):
    seal(media, replace(pending, batch=0), stamp)


@bug("records.seal", evidence="I2")
def batch_id_wraps_after_two(media, pending, stamp):
    seal(media, replace(pending, batch=pending.batch % 2), stamp)


@bug("records.is_free", evidence="I1")
def live_slots_look_free(media, slot):
    return True


@bug("records.claim_slot", evidence="I1")
def mlp_log_overwrites_the_only_complete_one(media, slots, kind, batch):
    return (
        replace(claim_slot(media, slots, kind, batch), slot=slots[0])
        if len(slots) == 3
        else claim_slot(media, slots, kind, batch)
    )


@bug("records.seal", on="redo", evidence="I2")
def reader_position_is_off_by_one(media, pending, stamp):
    seal(media, pending, replace(stamp, reader=stamp.reader + 1))


@bug("records.seal", evidence="I2")
def random_state_is_not_kept(media, pending, stamp):
    seal(media, pending, replace(stamp, seed=(0, 0)))


@bug("records.read_record", evidence="I4")
def stale_mlp_is_taken_for_the_newest(media, slot):
    record = read_record(media, slot)
    return replace(record, batch=record.batch + 1) if record and record.kind == 3 else record


@bug("records.read_record", evidence="I2")
def a_torn_flag_is_taken_for_whole(media, slot):
    record, header = read_record(media, slot), media.load(slot.header, 64)
    if record or not any(header[:24]):
        return record
    magic, batch, kind_and_size, reader, *_ = (word ^ FIELD_MASK for word in FIELDS.unpack_from(header))
    if magic != MAGIC or kind_and_size >> KIND_SHIFT not in KINDS:
        return None
    payload = media.load(slot.payload, kind_and_size % (1 << KIND_SHIFT))
    return Record(slot, RecordKind(kind_and_size >> KIND_SHIFT), batch, Stamp(reader, SEED, 0), payload)


@bug("records.read_record", evidence="I4")
def a_log_of_zeros_is_accepted(media, slot):
    record = read_record(media, slot)
    is_blank = record is None and not any(media.load(slot.header, 64))
    return (
        Record(slot, RecordKind.MLP, 0, Stamp(0, SEED, 0), bytes(slot.capacity)) if is_blank and slot.capacity == 88 else record
    )


@bug("records.claim_slot", evidence="I1")
def mlp_is_written_in_place_of_its_newest_log(media, slots, kind, batch):
    live = [slot for slot in slots if not is_free(media, slot)]
    pending = claim_slot(media, slots, kind, batch)
    return replace(pending, slot=live[-1]) if kind == RecordKind.MLP and live else pending
