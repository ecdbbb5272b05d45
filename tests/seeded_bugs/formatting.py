"""Bugs of formatting, and of what a format or a recovery leaves on the medium for the next program."""

import numpy as np

from engine.persistence import checksums, protocol, records
from engine.persistence.layout import TABLE_START
from engine.persistence.media import HEALTH, WORD, flat_bytes, store_and_flush
from engine.persistence.recovery import CHECKPOINTS
from tests.seeded_bugs import bug

write_superblock, sizes = protocol.write_superblock, protocol._sizes


def write_table(media, layout, table):
    """Write all rows home, without a fence; return the table's digest."""
    values, region = flat_bytes(table), np.zeros(layout.table_end - TABLE_START, np.uint8)
    for (span, homes), rows in zip(protocol._homes(layout, region), layout.parts(values), strict=True):
        homes[:] = protocol._stored_rows(layout, span, span.rows, rows)
    store_and_flush(media, TABLE_START, region)
    return checksums.table_digest(layout, values)


@bug("protocol.format_media", evidence="I2")
def a_format_does_not_wait_for_the_cleared_flags(media, layout, table, mlp, position):
    protocol.clear(media, layout.slots)
    write_superblock(media, layout, mlp, position, write_table(media, layout, table))


@bug("protocol.format_media", evidence="I2")
def a_format_clears_the_flags_after_the_rows(media, layout, table, mlp, position):
    digest = write_table(media, layout, table)
    media.fence()
    protocol.clear(media, layout.slots)
    media.fence()
    write_superblock(media, layout, mlp, position, digest)


@bug("protocol.format_media", evidence="I2")
def a_format_accepts_dirty_shutdowns_before_it_clears_flags(media, layout, table, mlp, position):
    block = protocol.SUPERBLOCK.pack(protocol.SIGNATURE, *sizes(layout)) + media.load(HEALTH, WORD)
    store_and_flush(media, 0, flat_bytes(block))
    media.fence()
    protocol.clear(media, layout.slots)
    media.fence()
    protocol.checkpoint(media, layout, flat_bytes(mlp), position, write_table(media, layout, table))


@bug("protocol.format_media", evidence="I1")
def a_format_trusts_that_the_medium_is_fresh(media, layout, table, mlp, position):
    write_superblock(media, layout, mlp, position, write_table(media, layout, table))


@bug("protocol.write_superblock", evidence="I1")
def the_superblock_is_not_flushed(media, layout, mlp, position, table):
    block = protocol.SUPERBLOCK.pack(protocol.SIGNATURE, *sizes(layout)) + media.load(HEALTH, WORD)
    media.store(0, flat_bytes(block))
    protocol.checkpoint(media, layout, flat_bytes(mlp), position, table)


@bug("protocol.write_superblock", evidence="I9")
def a_format_forgets_the_dirty_shutdowns_before_it(media, layout, mlp, position, table):
    block = protocol.SUPERBLOCK.pack(protocol.SIGNATURE, *sizes(layout)) + bytes(WORD)
    store_and_flush(media, 0, flat_bytes(block))
    protocol.checkpoint(media, layout, flat_bytes(mlp), position, table)


@bug("protocol._sizes", evidence="I9")
def the_superblock_does_not_say_how_large_logs_are(layout):
    rows, row_bytes, mlp_bytes, _, checked = sizes(layout)
    return rows, row_bytes, mlp_bytes, 0, checked


@bug("recovery.write_checkpoint", evidence="I9")
def half_a_checkpoint_is_taken_for_a_whole_one(media, layout, rows, mlp):
    for slots, keep in ((layout.row_slots, rows.slot), (layout.mlp_slots, mlp.slot)):
        protocol.clear(media, [slot for slot in slots if slot != keep])
    media.fence()
    if rows.kind not in CHECKPOINTS:
        position = protocol.Position(rows.batch, mlp.batch, rows.stamp.reader, rows.stamp.seed)
        protocol.checkpoint(media, layout, flat_bytes(mlp.payload), position, rows.stamp.digest)


@bug("recovery.write_checkpoint", evidence="I9")
def the_checkpoint_after_a_recovery_has_no_digest(media, layout, rows, mlp):
    for slots, keep in ((layout.row_slots, rows.slot), (layout.mlp_slots, mlp.slot)):
        protocol.clear(media, [slot for slot in slots if slot != keep])
    media.fence()
    position = protocol.Position(rows.batch, mlp.batch, rows.stamp.reader, rows.stamp.seed)
    protocol.checkpoint(media, layout, flat_bytes(mlp.payload), position, 0)


@bug("recovery.report_losses", evidence="I5")
def every_lost_line_is_refused_even_where_nothing_lies(media, layout):
    if media.poisoned(TABLE_START, layout.nbytes - TABLE_START):
        raise records.CannotRun("A line is lost.")
