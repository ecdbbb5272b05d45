"""Bugs of recovery: it repairs the wrong way, in the wrong order, or says what is not true."""

from dataclasses import replace

import numpy as np

from engine.crashcheck.reference_run import SEED
from engine.errors import CannotRun
from engine.persistence import protocol, records
from engine.persistence.media import HEALTH, WORD, flat_bytes
from engine.persistence.recovery import (
    CHECKPOINTS,
    RestoredState,
    choose_checkpoint,
    intact_records,
    logged_rows,
    recover,
    repair,
    write_checkpoint,
)
from tests.seeded_bugs import bug


@bug("recovery.logs_to_replay", evidence="I2")
def only_the_newest_log_is_rolled_back(rows, batch, log):
    return list(rows[-1:])


@bug("recovery.logs_to_replay", evidence="I2")
def logs_are_rolled_back_oldest_first(rows, batch, log):
    return [record for record in rows if record.batch >= batch]


@bug("recovery.choose_checkpoint", evidence="I4")
def one_flag_is_enough(rows, mlps, bound):
    return (rows[-1], mlps[-1]) if rows and mlps else choose_checkpoint(rows, mlps, bound)


@bug("recovery.choose_checkpoint", on="undo-relaxed", evidence="I4")
def staleness_is_reported_as_zero(rows, mlps, bound):
    row, mlp = choose_checkpoint(rows, mlps, bound)
    return row, replace(mlp, batch=row.batch)


@bug("recovery.choose_checkpoint", on="undo-relaxed", evidence="I4")
def staleness_bound_is_not_enforced(rows, mlps, bound):
    return choose_checkpoint(rows, mlps, 2**64)


@bug("recovery.repair", evidence="I1")
def flags_are_cleared_before_the_rollback(media, layout, logs):
    protocol.clear(media, [record.slot for record in logs])
    media.fence()
    for record in logs:
        protocol.write_rows(media, layout, *logged_rows(layout, record))
    media.fence()
    return 0


@bug("recovery.repair", evidence="I2")
def rollback_adds_a_difference(media, layout, logs):
    for record in logs:
        rows, values = logged_rows(layout, record)
        home_values = protocol.read_table(media, layout)[rows]
        protocol.write_rows(media, layout, rows, np.bitwise_xor(home_values, values) if home_values.any() else values)
    media.fence()
    return 0


@bug("recovery.repair", evidence="no end")
def rows_are_restored_again_until_their_logs_are_gone(media, layout, logs):
    while any(not records.is_free(media, record.slot) for record in logs):
        repair(media, layout, logs)
    return 0


@bug("recovery.report_losses", evidence="I5")
def lost_rows_are_read_as_zeros(media, layout):
    return None


@bug("recovery.write_checkpoint", evidence="I3")
def recovered_state_is_not_made_a_checkpoint(media, layout, rows, mlp):
    return None


@bug("recovery.write_checkpoint", evidence="I1")
def logs_are_released_before_the_new_checkpoint(media, layout, rows, mlp):
    protocol.clear(media, [slot for slot in layout.slots if slot != mlp.slot])
    media.fence()
    write_checkpoint(media, layout, rows, mlp)


@bug("recovery.write_checkpoint", evidence="I5")
def flags_are_cleared_without_a_fence_before_the_checkpoint(media, layout, rows, mlp):
    for slots, keep in ((layout.row_slots, rows.slot), (layout.mlp_slots, mlp.slot)):
        protocol.clear(media, [slot for slot in slots if slot != keep])
    if not {rows.kind, mlp.kind} <= set(CHECKPOINTS):
        position = protocol.Position(rows.batch, mlp.batch, rows.stamp.reader, rows.stamp.seed)
        protocol.checkpoint(media, layout, flat_bytes(mlp.payload), position, rows.stamp.digest)


@bug("protocol.is_dirty", evidence="I5")
def a_dirty_shutdown_is_ignored(media):
    return False


@bug("protocol.verify", evidence="I5")
def the_table_is_not_verified(media, layout, table):
    return 0


@bug("engine.crashcheck.judge.recover", evidence="I5")
def permanent_loss_is_reported_as_success(media, layout, log, bound=0, scan="dirty"):
    try:
        return recover(media, layout, log, bound, scan)
    except CannotRun:
        table, mlp = protocol.read_table(media, layout), np.zeros(layout.mlp_bytes, np.uint8)
        return RestoredState(0, 0, 0, SEED, table, mlp)


@bug("recovery.intact_records", on="undo", evidence="I2")
def the_oldest_checkpoint_is_taken(slot_records, kinds):
    return intact_records(slot_records, kinds)[:1]


@bug("protocol.is_dirty", on="redo-tiny", evidence="I5")
def a_lost_dirty_shutdown_counter_is_read_as_zero(media):
    return media.load(HEALTH, WORD) != media.load(protocol.HANDLED_SHUTDOWNS, WORD)
