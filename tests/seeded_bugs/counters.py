"""Bugs of counters: a number is kept, compared or added in fewer bits than it needs, or believed before it was checked."""

from dataclasses import replace

import numpy as np

from engine.errors import CannotRun
from engine.persistence import protocol, records, recovery
from engine.persistence.layout import TABLE_START
from engine.persistence.media import HEALTH, WORD, flat_bytes, store_and_flush
from tests.seeded_bugs import bug


def low(number, bits):
    """Return what is left of a number in so many bits."""
    return number % 2**bits


seal, read_record, superseded, log_rows, write_rows, logged = (
    records.seal, records.read_record, records.superseded_slots, protocol.log_rows, protocol.write_rows, recovery.logged_rows,
)  # fmt: skip
survey, verify, repaired = recovery.intact_records, protocol.verify, recovery.repair_state


@bug("records.seal", on="undo-past8", evidence="I2")
def batches_are_counted_in_a_byte(media, pending, stamp):
    seal(media, replace(pending, batch=low(pending.batch, 8)), stamp)


@bug("records.seal", on="redo-past16", evidence="I2")
def batches_are_counted_in_16_bits(media, pending, stamp):
    seal(media, replace(pending, batch=low(pending.batch, 16)), stamp)


@bug("recovery.intact_records", on="undo-relaxed-past32", evidence="I2")
def records_are_sorted_by_the_low_32_bits_of_their_batch(slot_records, kinds):
    return tuple(sorted(survey(slot_records, kinds), key=lambda record: low(record.batch, 32)))


@bug("records.read_record", on="redo-past53", evidence="I2")
def batches_pass_through_a_double(media, slot):
    record = read_record(media, slot)
    return replace(record, batch=int(float(record.batch | 1))) if record else record


@bug("records.superseded_slots", on="undo-past16", evidence="I1")
def older_is_told_by_16_bits(media, slots, successor):
    rivals = [slot for slot in slots if slot != successor.slot and not records.is_free(media, slot)]
    return [slot for slot in rivals if low(records._batch(media, slot), 16) <= low(successor.batch, 16)]


@bug("records.seal", on="undo-past16", evidence="I2")
def the_reader_has_16_bits(media, pending, stamp):
    seal(media, pending, replace(stamp, reader=low(stamp.reader, 16)))


@bug("records.seal", on="redo-past32", evidence="I2")
def the_reader_has_32_bits(media, pending, stamp):
    seal(media, pending, replace(stamp, reader=low(stamp.reader, 32)))


@bug("records.seal", evidence="I2")
def seeds_have_32_bits(media, pending, stamp):
    seal(media, pending, replace(stamp, seed=tuple(low(word, 32) for word in stamp.seed)))


@bug("protocol.log_rows", on="undo-large", evidence="I2")
def row_numbers_are_logged_in_a_byte(media, layout, kind, batch, rows, values):
    return log_rows(media, layout, kind, batch, low(rows, 8), values)


@bug("protocol.log_rows", on="redo-near-many", evidence="I2")
def row_numbers_are_logged_in_16_bits(media, layout, kind, batch, rows, values):
    return log_rows(media, layout, kind, batch, low(rows, 16), values)


@bug("protocol.log_rows", on="undo-far", evidence="I2")
def row_numbers_are_logged_in_32_bits(media, layout, kind, batch, rows, values):
    return log_rows(media, layout, kind, batch, low(rows, 32), values)


@bug("recovery.logged_rows", on="undo-far", evidence="I2")
def row_numbers_are_read_as_signed_32_bits(layout, record):
    rows, values = logged(layout, record)
    return rows.astype(np.int32).astype(np.int64), values


@bug("protocol.write_rows", on="redo-checked-far", evidence="I2")
def addresses_have_32_bits(media, layout, rows, values):
    span = layout.spans[0]
    row_contents = protocol._stored_rows(layout, span, rows, flat_bytes(values).reshape(rows.size, span.row_bytes))
    for row, content in zip(rows.tolist(), row_contents, strict=True):
        store_and_flush(media, low(TABLE_START + row * span.stride, 32), content)


@bug("recovery.logged_rows", on="undo-large", evidence="I2")
def a_log_has_at_most_255_rows(layout, record):
    rows, values = logged(layout, record)
    return rows[: low(len(rows), 8)], values[: low(len(rows), 8)]


@bug("recovery.logged_rows", on="undo-far", evidence="I2")
def a_log_has_at_most_65535_rows(layout, record):
    rows, values = logged(layout, record)
    return rows[: low(len(rows), 16)], values[: low(len(rows), 16)]


@bug("protocol.write_rows", on="undo-wide", evidence="I2")
def only_64_KiB_of_a_row_are_written(media, layout, rows, values):
    row_contents = flat_bytes(values).reshape(rows.size, layout.row_bytes).copy()
    for row, content in zip(rows.tolist(), row_contents, strict=True):
        home = np.frombuffer(media.load(layout.row(row), layout.row_bytes), np.uint8)
        content[low(layout.row_bytes, 16) or layout.row_bytes :] = home[low(layout.row_bytes, 16) or layout.row_bytes :]
    write_rows(media, layout, rows, row_contents)


@bug("records.read_record", on="redo-late-wide", evidence="I4")
def payloads_are_measured_in_16_bits(media, slot):
    record = read_record(media, slot)
    return replace(record, payload=record.payload[: low(len(record.payload), 16)]) if record else record


@bug("recovery.repair_state", evidence="I2")
def a_dirty_shutdown_is_dealt_with_before_the_table_is_verified(media, layout, log, bound=0, scan="dirty"):
    dirty = protocol.is_dirty(media)
    try:
        state = repaired(media, layout, log, bound, "always" if dirty else scan)
    except CannotRun:
        if dirty:
            protocol.accept_dirty(media)
            media.fence()
        raise
    return state


@bug("protocol.accept_dirty", on="undo-past8", evidence="I5")
def the_counter_of_dirty_shutdowns_is_copied_in_a_byte(media):
    store_and_flush(media, protocol.HANDLED_SHUTDOWNS, flat_bytes(bytes([media.load(HEALTH, WORD)[0], *7 * [0]])))


@bug("protocol.accept_dirty", evidence="I9")
def a_recovery_counts_one_dirty_shutdown_though_there_were_more(media):
    count = np.frombuffer(media.load(protocol.HANDLED_SHUTDOWNS, WORD), "<u8") + np.uint64(1)
    store_and_flush(media, protocol.HANDLED_SHUTDOWNS, flat_bytes(count))
