"""Bugs of content: the log does not hold what it must."""

import numpy as np

from engine.persistence import protocol
from engine.persistence.records import Kind
from seeded_bugs import bug


@bug("undo.log_rows")
def last_row_is_not_logged(media, layout, batch, rows, values):
    return protocol.log_rows(media, layout, Kind.UNDO_ROWS, batch, rows[:-1], values[:-1])


@bug("undo.log_rows")
def last_word_of_each_row_is_not_logged(media, layout, batch, rows, values):
    short = values.copy()
    short[:, -1] = 0
    return protocol.log_rows(media, layout, Kind.UNDO_ROWS, batch, rows, short)


@bug("redo.log_rows", on="redo")
def redo_log_holds_rows_in_another_order(media, layout, batch, rows, values):
    return protocol.log_rows(media, layout, Kind.REDO_ROWS, batch + 1, rows, np.roll(values, 1, axis=0))
