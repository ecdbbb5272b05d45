"""Bugs of flush and fence: data or flags that are not durable when the next step believes they are."""

from engine.persistence import protocol, records
from engine.persistence.media import LINE
from engine.persistence.protocol import log_mlp, write_rows
from engine.persistence.recovery import logged_rows
from tests.seeded_bugs import bug


@bug("records.store_and_flush", evidence="I2")
def log_is_never_flushed(media, address, content):
    media.store(address, content)


@bug("records.store_and_flush", evidence="I1")
def only_the_first_line_of_a_log_piece_is_flushed(media, address, content):
    media.store(address, content)
    media.flush(address, min(content.size, LINE - address % LINE))


class NoFlush:
    """Passes everything on but flushes, which do what `flush` says."""

    def __init__(self, media, flush=lambda address, nbytes: None):
        self.store, self.device_write, self.fence = media.store, media.device_write, media.fence
        self.load, self.poisoned, self.flush = media.load, media.poisoned, flush


@bug("protocol.write_rows", evidence="I2")
def rows_are_never_flushed(media, layout, rows, values):
    write_rows(NoFlush(media), layout, rows, values)


@bug("protocol.write_rows", evidence="I2")
def only_the_first_line_of_a_run_of_rows_is_flushed(media, layout, rows, values):
    write_rows(NoFlush(media, lambda address, nbytes: media.flush(address, LINE)), layout, rows, values)


@bug("protocol.commit", evidence="I5")
def no_fence_between_data_and_flag(media, layout, rows, mlp, stamp):
    for pending in filter(None, (rows, mlp)):
        records.seal(media, pending, stamp)
    media.fence()


@bug("protocol.commit", evidence="I1")
def no_fence_after_the_flag(media, layout, rows, mlp, stamp):
    media.fence()
    for pending in filter(None, (rows, mlp)):
        records.seal(media, pending, stamp)


@bug("protocol.commit", on="undo-near", evidence="I5")
def near_data_writes_are_not_awaited(media, layout, rows, mlp, stamp):
    for pending in filter(None, (rows, mlp)):
        records.seal(media, pending, stamp)


@bug("protocol.release", evidence="I5")
def release_is_not_fenced(media, layout, rows, mlp):
    protocol.clear(media, records.superseded_slots(media, layout.row_slots, rows))
    if mlp:
        protocol.clear(media, records.superseded_slots(media, layout.mlp_slots, mlp))


@bug("recovery.repair", on="redo-late", evidence="I2")
def replay_is_not_fenced(media, layout, logs):
    for record in logs:
        protocol.write_rows(media, layout, *logged_rows(layout, record))
    return 0


@bug("recovery.repair", evidence="I2")
def rollback_is_not_flushed(media, layout, logs):
    for record in logs:
        rows, values = logged_rows(layout, record)
        for row, content in zip(rows.tolist(), values, strict=True):
            media.store(layout.row(row), content)
    media.fence()
    return 0


@bug("records.store_and_flush", evidence="I2")
def flag_is_never_flushed(media, address, content):
    media.store(address, content)
    if content.size != LINE:
        media.flush(address, content.size)


@bug("protocol.log_mlp", on="undo-relaxed-adagrad", evidence="I1")
def only_the_last_piece_of_an_mlp_log_is_flushed(media, layout, batch, mlp, stop=None, pending=None):
    return log_mlp(media if stop is None else NoFlush(media), layout, batch, mlp, stop, pending)


@bug("media.NearData.__init__", on="undo-near", evidence="I2")
def near_data_leaves_short_writes_to_the_host(near_data, media):
    near_data.load, near_data.fence, near_data.poisoned = media.load, media.fence, media.poisoned
    near_data.device_write = media.device_write
    near_data.store = lambda address, content: (media.store if content.size < LINE else media.device_write)(address, content)
