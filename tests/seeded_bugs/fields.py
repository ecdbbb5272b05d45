"""Bugs of fields that no recovery reads back, of unusual batches, of the writer, and of the explorer's own medium."""

from dataclasses import replace

import numpy as np

from engine.persistence import protocol, records
from engine.persistence.media import HEALTH, LINE, WORD, flat_bytes
from engine.persistence.records import RecordKind, checksum, seal
from engine.persistence.replay import LogWriter, replay_events
from tests.seeded_bugs import bug
from tests.seeded_bugs.flush_and_fence import NoFlush

commit, write_rows, log_rows = protocol.commit, protocol.write_rows, protocol.log_rows
stamp_of, carry_out = LogWriter._stamp, LogWriter.carry_out


@bug("records.checksum", evidence="I9")
def the_digest_of_the_table_lies_outside_the_checksum(payload, fields):
    return checksum(payload, fields[:-WORD])


@bug("records.seal", evidence="I9")
def the_flag_of_an_mlp_has_no_reader(media, pending, stamp):
    seal(media, pending, replace(stamp, reader=0) if pending.kind in (RecordKind.MLP, RecordKind.MLP_CHECKPOINT) else stamp)


@bug("records.seal", evidence="I9")
def the_flag_of_an_mlp_has_the_digest_of_another_table(media, pending, stamp):
    seal(media, pending, replace(stamp, digest=stamp.digest + 1) if pending.kind == RecordKind.MLP else stamp)


@bug("protocol.log_rows", evidence="I2")
def upper_halves_of_words_are_not_logged(media, layout, kind, batch, rows, values):
    halves = flat_bytes(values).copy()
    halves.reshape(rows.size, -1)[:, 4:8] = 0
    return log_rows(media, layout, kind, batch, rows, halves)


@bug("protocol.write_rows", evidence="I2")
def rows_are_flushed_from_the_first_named_to_the_last(media, layout, rows, values):
    write_rows(NoFlush(media), layout, rows, values)
    if rows.size:
        low, high = layout.row(int(rows[0])), layout.row(int(rows[-1])) + layout.spans[0].stored_bytes
        media.flush(low // LINE * LINE, max(high - low // LINE * LINE, 1))


@bug("protocol.commit", evidence="I1", on="undo-uneven")
def a_batch_without_rows_is_not_committed(media, layout, rows, mlp, stamp):
    if rows.nbytes or rows.kind == RecordKind.ROWS_CHECKPOINT:
        commit(media, layout, rows, mlp, stamp)


@bug("protocol.log_rows", evidence="I2", on="undo-uneven")
def a_batch_with_all_rows_is_logged_without_its_last(media, layout, kind, batch, rows, values):
    if rows.size == layout.num_rows:
        rows, values = rows[:-1], flat_bytes(values).reshape(rows.size, -1)[:-1]
    return log_rows(media, layout, kind, batch, rows, values)


@bug("replay.LogWriter._stamp", evidence="I2", on="undo-writer")
def the_writer_stamps_the_reader_of_the_next_batch(writer, batch):
    stamp = stamp_of(writer, batch)
    return replace(stamp, reader=stamp.reader + 128)


@bug("replay.LogWriter.carry_out", evidence="I2", on="redo-writer")
def the_writer_brings_rows_home_before_the_commit(writer, event):
    if event.op == "commit":
        change = writer.changes[event.batch]
        protocol.write_rows(writer.media, writer.layout, change.rows, change.values_after)
    carry_out(writer, event)


@bug("engine.crashcheck.probes.writer.replay_events", evidence="I10", on="undo-writer")
def an_operation_that_is_cut_keeps_nothing(layout, start, events, *rest):
    return replay_events(layout, start, [replace(event, done_share=event.done_share // 1) for event in events], *rest)


@bug("engine.crashcheck.probes.writer.replay_events", evidence="I10", on="undo-writer")
def an_operation_that_is_cut_is_done_all_the_same(layout, start, events, *rest):
    return replay_events(layout, start, [replace(event, done_share=1.0) for event in events], *rest)


@bug("crash_media.CrashMedia._unflushed", evidence="I10", on="undo-media")
def stores_that_nobody_flushed_never_survive(media):
    return []


@bug("crash_media.count_dirty_shutdown", evidence="I10", on="undo-media")
def a_failed_flush_is_not_counted(image, model):
    if model.announced:
        image[HEALTH : HEALTH + WORD].view("<u8")[0] += np.uint64(0)


@bug("protocol.check_superblock", evidence="I11", on="undo-misuse")
def a_medium_of_any_layout_is_recovered(media, layout):
    if not records.intact_bytes(media, 0, LINE):
        raise records.CannotRun("There is no superblock.")
