"""Bugs of content: the log does not hold what it must."""

import numpy as np

from engine.persistence import protocol
from engine.persistence.media import flat_bytes
from engine.persistence.protocol import log_mlp
from engine.persistence.records import RecordKind, read_record
from engine.persistence.recovery import logged_rows
from tests.seeded_bugs import bug


@bug("logs.LogOrder.log_rows", evidence="I2")
def last_row_is_not_logged(log, media, layout, batch, rows, values):
    return protocol.log_rows(media, layout, RecordKind.UNDO_ROWS, batch, rows[:-1], values[:-1])


@bug("logs.LogOrder.log_rows", evidence="I2")
def last_word_of_each_row_is_not_logged(log, media, layout, batch, rows, values):
    cut_values = values.copy()
    cut_values[:, -1] = 0
    return protocol.log_rows(media, layout, RecordKind.UNDO_ROWS, batch, rows, cut_values)


@bug("logs.LogOrder.log_rows", on="redo", evidence="I2")
def redo_log_holds_rows_in_another_order(log, media, layout, batch, rows, values):
    return protocol.log_rows(media, layout, RecordKind.REDO_ROWS, batch + 1, rows, np.roll(values, 1, axis=0))


@bug("logs.LogOrder.log_rows", evidence="I2")
def undo_log_holds_values_that_the_update_has_begun_to_change(log, media, layout, batch, rows, values):
    return protocol.log_rows(media, layout, RecordKind.UNDO_ROWS, batch, rows, values + np.asarray([1], values.dtype))


@bug("logs.LogOrder.log_rows", on="redo", evidence="I2")
def redo_log_holds_the_old_values(log, media, layout, batch, rows, values):
    return protocol.log_rows(media, layout, RecordKind.REDO_ROWS, batch + 1, rows, protocol.read_table(media, layout)[rows])


@bug("logs.LogOrder.log_rows", on="undo-adagrad", evidence="I2")
def optimizer_state_of_rows_is_not_logged(log, media, layout, batch, rows, values):
    stateless_values = values.copy()
    stateless_values[:, -1] = 0
    return protocol.log_rows(media, layout, RecordKind.UNDO_ROWS, batch, rows, stateless_values)


@bug("protocol.log_mlp", on="undo-adagrad", evidence="I4")
def optimizer_state_of_the_mlp_is_not_logged(media, layout, batch, mlp, stop=None, pending=None):
    stateless_mlp = flat_bytes(mlp).copy()
    stateless_mlp[stateless_mlp.size // 2 :] = 0
    return log_mlp(media, layout, batch, stateless_mlp, stop, pending)


@bug("logs.LogOrder.log_rows", evidence="I2")
def rows_that_the_batch_before_changed_too_are_not_logged(log, media, layout, batch, rows, values):
    live = [record for slot in layout.row_slots if (record := read_record(media, slot)) and record.kind == RecordKind.UNDO_ROWS]
    logged_ids = np.concatenate([logged_rows(layout, record)[0] for record in live] or [np.empty(0, np.int64)])
    is_first = ~np.isin(rows, logged_ids)
    return protocol.log_rows(media, layout, RecordKind.UNDO_ROWS, batch, rows[is_first], values[is_first])


@bug("checksums.digest_after_change", evidence="I1")
def digest_of_the_table_is_never_moved(layout, digest, rows, values_before, values_after):
    return digest
