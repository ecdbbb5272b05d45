"""Bugs of order: the old checkpoint goes too early, or rows change too early."""

from engine.persistence import protocol, records
from engine.persistence.protocol import commit, release, write_rows
from tests.seeded_bugs import bug


@bug("undo.commit")
def old_checkpoint_is_deleted_before_the_new_flags(media, layout, rows, mlp, stamp):
    release(media, layout, rows, mlp)
    commit(media, layout, rows, mlp, stamp)


@bug("undo.commit")
def old_checkpoint_is_deleted_after_one_flag(media, layout, rows, mlp, stamp):
    commit(media, layout, rows, None, stamp)
    release(media, layout, rows, mlp)
    records.seal(media, mlp, stamp)
    media.fence()


@bug("redo.log_rows", on="redo")
def home_rows_are_written_before_the_commit(media, layout, batch, rows, values):
    write_rows(media, layout, rows, values)
    return protocol.log_rows(media, layout, records.RecordKind.REDO_ROWS, batch + 1, rows, values)


@bug("redo.rewrite", on="redo")
def redo_log_is_freed_with_the_home_write(media, layout, log, mlp, rows, values):
    release(media, layout, log, mlp)
    records.drop(media, log.slot)
    write_rows(media, layout, rows, values)


@bug("undo.rewrite")
def undo_log_is_freed_before_the_update(media, layout, log, mlp, rows, values):
    records.drop(media, log.slot)
    media.fence()
    write_rows(media, layout, rows, values)


@bug("protocol.commit")
def flags_are_set_before_the_data_is_awaited(media, layout, rows, mlp, stamp):
    for pending in filter(None, (rows, mlp)):
        records.seal(media, pending, stamp)
    media.fence()
    media.fence()
