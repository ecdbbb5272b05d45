"""Bugs of order: the old checkpoint goes too early, or rows change too early."""

from engine.persistence import protocol, records
from engine.persistence.protocol import commit, release, write_rows
from tests.seeded_bugs import bug


@bug("logs.LogOrder.commit", evidence="I1")
def old_checkpoint_is_deleted_before_the_new_flags(log, media, layout, rows, mlp, stamp):
    release(media, layout, rows, mlp)
    commit(media, layout, rows, mlp, stamp)


@bug("logs.LogOrder.commit", evidence="I1")
def old_checkpoint_is_deleted_after_one_flag(log, media, layout, rows, mlp, stamp):
    commit(media, layout, rows, None, stamp)
    release(media, layout, rows, mlp)
    records.seal(media, mlp, stamp)
    media.fence()


@bug("logs.LogOrder.log_rows", on="redo", evidence="I2")
def home_rows_are_written_before_the_commit(log, media, layout, batch, rows, values):
    write_rows(media, layout, rows, values)
    return protocol.log_rows(media, layout, records.RecordKind.REDO_ROWS, batch + 1, rows, values)


@bug("logs.LogOrder.commit", on="redo-late", evidence="I2")
def redo_log_is_released_at_the_next_commit(log, media, layout, rows, mlp, stamp):
    commit(media, layout, rows, mlp, stamp)
    release(media, layout, rows, mlp)


@bug("logs.LogOrder.rewrite", on="redo", evidence="I1")
def redo_log_is_freed_with_the_home_write(log, media, layout, row_record, mlp, rows, values):
    release(media, layout, row_record, mlp)
    records.clear_flag(media, row_record.slot)
    write_rows(media, layout, rows, values)


@bug("logs.LogOrder.rewrite", evidence="I1")
def undo_log_is_freed_before_the_update(log, media, layout, row_record, mlp, rows, values):
    records.clear_flag(media, row_record.slot)
    media.fence()
    write_rows(media, layout, rows, values)


@bug("protocol.commit", evidence="I5")
def flags_are_set_before_the_data_is_awaited(media, layout, rows, mlp, stamp):
    for pending in filter(None, (rows, mlp)):
        records.seal(media, pending, stamp)
    media.fence()
    media.fence()
