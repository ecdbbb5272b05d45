"""Crash recovery: play a segment's cut through the log protocol.

Recovery then restores the state.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..core.row_sizes import mean_bytes
from ..errors import CannotRun
from ..persistence.crash_media import CrashMedia
from ..persistence.layout import MediumLayout, layout_for
from ..persistence.media import LINE, PowerLost
from ..persistence.models import at_random, domain
from ..persistence.protocol import Position
from ..persistence.recovery import RestoredState, Scan, recover
from ..persistence.replay import BatchChange, PersistEvent, StartState, replay_events
from ..schedule.machine import Machine
from .corruption import Bit, damage_of, flip_log, keep_flipped, poison, with_flipped_bits
from .outage import Outage, persistence_model
from .segment import Segment

PURPOSE = 102
MAX_REPLAYED = 10  # interrupted recoveries that are played to the byte; each starts from the medium of the one before
MAX_FENCED_BYTES = 2**16  # bytes; a buffer without end loses as much of a small recovery as one of this size
NO_ROWS = np.empty(0, np.int64)


def events(segment: Segment) -> tuple[PersistEvent, ...]:
    """Return the cut segment's persists with batches counted from the start of the run."""
    cut_events = segment.cut.events if segment.cut else ()
    return tuple(replace(event, batch=segment.first + event.batch) for event in cut_events)


def surviving_events(m: Machine, segment: Segment, outage: Outage) -> tuple[PersistEvent, ...]:
    """Return the cut segment's persists.

    Persists under way finish if the fault spared all parts that they need.
    """
    lost_parts = outage.strikes[0].kind.destroys
    return tuple(replace(e, done=1.0) if not lost_parts & _needs(m, e.op) else e for e in events(segment))


def _needs(m: Machine, op: str) -> frozenset[str]:
    """Return the parts that a persist needs: MLPs come from the GPU, rows from near-data logic or the host."""
    if op == "mlp log":
        return frozenset({"gpu", "host", "link", "device"})
    is_near_data = "near-data" in m.system.devices and m.scenario.machine.near_data_compute
    return frozenset({"device"} if is_near_data else {"host", "device"})


def recovered_state(
    m: Machine,
    segment: Segment,
    outage: Outage,
    trained_start: StartState,
    changes: Mapping[int, BatchChange],
    flipped: tuple[Bit, ...],
) -> RestoredState:
    """Tear and damage the medium as the fault did, then recover.

    Raises CannotRun if nothing can be restored.

    trained_start: the state at the checkpoint: table, perhaps the sizes of its rows, MLP bytes; not yet reader and seeds.
    changes: the changes of the trained batches, by batch of the run.
    flipped: the bits of the table that are not as they were written.
    """
    if m.log_policy.log == "":
        raise ValueError("a system without a log has nothing to recover from.")
    if any("media" in strike.kind.destroys for strike in outage.strikes):
        raise CannotRun(
            f"the memory that holds tables and logs of {m.system.title} is lost, and there is no other copy; start again at "
            "batch 0, or protect the run with a copy in another node's memory."
        )
    size = m.scenario.data.batch_size
    numbered = {n: replace(c, reader_before=n * size, reader_after=(n + 1) * size) for n, c in changes.items()}
    row_bytes = trained_start.row_bytes or trained_start.table.shape[1]
    num_rows = sum(rows for rows, _ in row_bytes) if isinstance(row_bytes, tuple) else len(trained_start.table)
    batches = [change.rows for change in changes.values()]
    layout = layout_for(num_rows, row_bytes, trained_start.mlp.size, batches, m.scenario.policy.row_checksums)
    seeds = (m.scenario.data.seed, m.scenario.faults.seed)
    written_table = with_flipped_bits(layout, trained_start.table, flipped)
    position = replace(trained_start.position, reader=trained_start.position.batch * size, seed=seeds)
    start = StartState(written_table, trained_start.mlp, position, row_bytes)
    rng = np.random.default_rng([seeds[1], PURPOSE, segment.first, segment.cut.started if segment.cut else 0])
    granularity, model = m.scenario.faults.torn_write_bytes, persistence_model(m.scenario, outage.strikes[0])
    media = replay_events(
        layout, start, surviving_events(m, segment, outage), numbered, m.log_policy.log, rng, model, granularity
    )
    keep_flipped(media, layout, written_table, trained_start.table, flipped)
    _damage(m, segment, outage, media, layout, changes)
    scan = _scan(m, outage)
    for share in outage.interrupted[:MAX_REPLAYED]:
        media = _interrupted(m, media, layout, share, rng, scan)
    return recover(media, layout, m.log_policy.log, m.log_policy.mlp_staleness_bound, scan)


def _scan(m: Machine, outage: Outage) -> Scan:
    """Return "always" if the policy verifies the table always, or if a row's checksum stopped the job, else "dirty"."""
    noticed = any("bits" in strike.kind.destroys for strike in outage.strikes)
    return "always" if noticed or m.scenario.policy.recovery_scan == "always" else "dirty"


def _damage(
    m: Machine, segment: Segment, outage: Outage, media: CrashMedia, layout: MediumLayout, changes: Mapping[int, BatchChange]
) -> None:
    """Flip bits of the newest log, if they flipped since it was written, and poison the lines of media errors."""
    committed = segment.first + (segment.cut.committed if segment.cut else -1)
    for flip in segment.flips if m.scenario.faults.silent_corruption_where == "log" else ():
        if flip.committed == committed >= segment.first:
            flip_log(media, layout, m.log_policy.log, flip, m.scenario.faults.seed)
    logged = changes[committed].rows if committed in changes else NO_ROWS
    for strike in outage.strikes:
        if strike.kind.destroys & {"line", "bits"}:
            poison(media, layout, damage_of(m.scenario, strike, outage), logged)


def _interrupted(
    m: Machine, media: CrashMedia, layout: MediumLayout, share: float, rng: np.random.Generator, scan: Scan
) -> CrashMedia:
    """Return the medium after power failed when a recovery had done a `share` of its line writes."""
    rehearsal_media, interrupted_media, log = media.survivor(), media.survivor(), m.log_policy.log or "undo"
    recover(rehearsal_media, layout, log, m.log_policy.mlp_staleness_bound, scan)
    interrupted_media.power = replace(interrupted_media.power, cut_after=int(share * rehearsal_media.line_writes))
    with suppress(PowerLost):
        recover(interrupted_media, layout, log, m.log_policy.mlp_staleness_bound, scan)
    return interrupted_media.survivor(at_random(rng))


def recovered_batches(m: Machine, segment: Segment, outage: Outage) -> tuple[int, int]:
    """Return (embedding batch, MLP batch) of a recovery without training.

    The same protocol runs on a few rows.
    One logged row and one other row give the same result as all rows, and rows of unlike sizes the same as rows of their mean
    size. The number of rows matters only if fenced writes are lost.
    """
    fenced = min(domain(persistence_model(m.scenario, outage.strikes[0])).buffered_lines * LINE, MAX_FENCED_BYTES)
    row_bytes = round(mean_bytes(outage.recovery.row_bytes))
    count = int(np.clip(outage.recovery.rows, 1, 1 + fenced // row_bytes))
    rows = np.zeros((count + 1, row_bytes), np.uint8)
    mlp = np.zeros(int(np.clip(outage.recovery.mlp_bytes, 8, max(fenced, 8))), np.uint8)
    change = BatchChange(np.arange(count), rows[1:], rows[1:], mlp, mlp)
    checkpoint_batch, mlp_batch = (segment.cut.since, segment.cut.since_mlp) if segment.cut else (0, 0)
    flipped = ((count, 0, 1),) if segment.flipped and m.scenario.faults.silent_corruption_where == "table" else ()
    trained_start = StartState(rows, mlp, Position(segment.first + checkpoint_batch, segment.first + mlp_batch))
    restored_state = recovered_state(
        m, segment, outage, trained_start, {event.batch: change for event in events(segment)}, flipped
    )
    return restored_state.embedding_batch, restored_state.mlp_batch
