"""Crash recovery: replay a cut segment's log operations, and restore the state.

A media error poisons a line of the medium, and a silent corruption flips a bit. The knobs select the place of both in a way that
does not depend on the size of the table.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Bytes, Ints
from ..core.row_sizes import mean_bytes
from ..errors import CannotRun
from ..faults.fault import Strike, random_generator
from ..persistence.crash_media import CrashMedia
from ..persistence.layout import MediumLayout, layout_for
from ..persistence.logs import LOGS
from ..persistence.media import LINE, WORD, PowerLost
from ..persistence.models import at_random, domain
from ..persistence.protocol import Position
from ..persistence.records import read_record
from ..persistence.recovery import RestoredState, Scan, intact_records, recover
from ..persistence.replay import BatchChange, PersistEvent, StartState, replay_events
from ..scenario.scenario import Scenario
from ..schedule.machine import Machine
from ..systems.traffic import INDEX_BYTES, table_bytes
from .outage import Outage, persistence_model
from .segment import Flip, Segment

Bit = tuple[int, int, int]  # of a table: row, byte, and the byte's bit as a number from 1 to 128
DamagePlace = Literal["logged row", "other row", "row log", "mlp log"]
PURPOSE = 102
MAX_REPLAYED = 10  # interrupted recoveries that are played to the byte; each starts from the medium of the one before
MAX_FENCED_BYTES = 2**16  # bytes; a buffer without end loses as much of a small recovery as one of this size
NO_ROWS = np.empty(0, np.int64)


def events(segment: Segment) -> tuple[PersistEvent, ...]:
    """Return the log operations of a cut segment, with batches counted from the run's start.

    Return () for a segment that no fault cut.
    """
    cut_events = segment.cut.events if segment.cut else ()
    return tuple(replace(event, batch=segment.first_batch + event.batch) for event in cut_events)


def surviving_events(m: Machine, segment: Segment, outage: Outage) -> tuple[PersistEvent, ...]:
    """Return the log operations of a cut segment that the medium sees.

    An operation that had begun is completed if the fault spared all parts that the operation needs.
    """
    lost_parts = outage.strikes[0].kind.destroys
    return tuple(replace(e, done_share=1.0) if not lost_parts & _needs(m, e.op) else e for e in events(segment))


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
    """Return the state that recovery restores after an outage.

    The log operations are replayed on a medium up to the power loss, then the faults damage the medium, then recovery runs.
    Raises CannotRun if nothing can be restored.

    trained_start: the state at the checkpoint: table, MLP bytes, and sizes of rows if they differ; its reader and seeds are
        ignored.
    changes: the changes of the trained batches, by their number in the run.
    flipped: the bits of the table that have flipped since they were written.
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
    num_rows = total(rows for rows, _ in row_bytes) if isinstance(row_bytes, tuple) else len(trained_start.table)
    batches = [change.rows for change in changes.values()]
    layout = layout_for(num_rows, row_bytes, trained_start.mlp.size, batches, m.scenario.policy.row_checksums)
    seeds = (m.scenario.data.seed, m.scenario.faults.seed)
    written_table = with_flipped_bits(layout, trained_start.table, flipped)
    position = replace(trained_start.position, reader=trained_start.position.batch * size, seed=seeds)
    start = StartState(written_table, trained_start.mlp, position, row_bytes)
    rng = np.random.default_rng([seeds[1], PURPOSE, segment.first_batch, segment.cut.batches_begun if segment.cut else 0])
    granularity, model = m.scenario.faults.torn_write_bytes, persistence_model(m.scenario, outage.strikes[0])
    media = replay_events(
        layout, start, surviving_events(m, segment, outage), numbered, m.log_policy.log, rng, model, granularity, mlp_writers(m)
    )
    keep_flipped(media, layout, written_table, trained_start.table, flipped)
    _damage(m, segment, outage, media, layout, changes)
    scan = _scan(m, outage)
    for share in outage.interrupted_restore_shares[:MAX_REPLAYED]:
        media = _interrupted(m, media, layout, share, rng, scan)
    return recover(media, layout, m.log_policy.log, m.log_policy.mlp_staleness_bound, scan)


def mlp_writers(m: Machine) -> int:
    """Return the number of GPUs that write a range of an MLP log each.

    It is 1 for a system without GPUs.
    """
    return m.scenario.machine.num_gpus if "gpu" in m.system.devices else 1


def _scan(m: Machine, outage: Outage) -> Scan:
    """Return "always" if the policy verifies the table always, or if a row's checksum stopped the job, else "dirty"."""
    noticed = any("bits" in strike.kind.destroys for strike in outage.strikes)
    return "always" if noticed or m.scenario.policy.recovery_scan == "always" else "dirty"


def _damage(
    m: Machine, segment: Segment, outage: Outage, media: CrashMedia, layout: MediumLayout, changes: Mapping[int, BatchChange]
) -> None:
    """Flip bits of the newest log, if they flipped since it was written, and poison the lines of media errors."""
    committed = segment.first_batch + (segment.cut.committed_batch if segment.cut else -1)
    for flip in segment.flips if m.scenario.faults.silent_corruption_where == "log" else ():
        if flip.committed_batch == committed >= segment.first_batch:
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
    """Return (embedding batch, MLP batch) at which a run without training resumes.

    The log protocol and the recovery run on a few rows instead of the whole table.
    One logged row and one other row give the same result as all rows, and rows of the mean size the same as rows of different
    sizes. The number of rows matters only if fenced writes can be lost.
    """
    fenced = min(domain(persistence_model(m.scenario, outage.strikes[0])).buffered_lines * LINE, MAX_FENCED_BYTES)
    row_bytes = round(mean_bytes(outage.recovery.row_bytes))
    count = int(np.clip(outage.recovery.rows, 1, 1 + fenced // row_bytes))
    rows = np.zeros((count + 1, row_bytes), np.uint8)
    mlp = np.zeros(int(np.clip(outage.recovery.mlp_bytes, 8, max(fenced, 8))), np.uint8)
    change = BatchChange(np.arange(count), rows[1:], rows[1:], mlp, mlp)
    checkpoint_batch, mlp_batch = (segment.cut.checkpoint_batch, segment.cut.checkpoint_mlp_batch) if segment.cut else (0, 0)
    flipped = ((count, 0, 1),) if segment.num_flipped and m.scenario.faults.silent_corruption_where == "table" else ()
    trained_start = StartState(rows, mlp, Position(segment.first_batch + checkpoint_batch, segment.first_batch + mlp_batch))
    restored_state = recovered_state(
        m, segment, outage, trained_start, {event.batch: change for event in events(segment)}, flipped
    )
    return restored_state.embedding_batch, restored_state.mlp_batch


@dataclass(frozen=True)
class Damage:
    """The place of a lost line or flipped bit, for tables of any size.

    place: the region of the medium.
    slot_number: a number that selects the log slot, if the region is a log.
    seed, stream: the random stream that selects one of several equal rows.
    flip: True if a bit of a row flips, False if a line is lost.
    """

    place: DamagePlace
    slot_number: int
    seed: int
    stream: str
    flip: bool = False

    @property
    def rng(self) -> np.random.Generator:
        """A new random generator that selects one of several equal rows."""
        return random_generator(self.seed, self.stream)


def damage_of(scenario: Scenario, strike: Strike, outage: Outage) -> Damage:
    """Return the place that a media error or a noticed bit flip damages.

    A media error strikes the place that `faults.media_error_where` names; "anywhere" is drawn by the sizes of the full tables and
    logs. A flipped bit that a row's checksum has noticed is in the table.
    """
    recovery, stream = outage.recovery, f"place of {strike.fault} at {strike.seconds!r}"
    rng = random_generator(scenario.faults.seed, stream)
    sizes = {
        "table": float(table_bytes(scenario)),
        "row log": 2 * recovery.rows * (mean_bytes(recovery.row_bytes) + INDEX_BYTES),
        "mlp log": 3.0 * recovery.mlp_bytes,
    }
    shares = np.array(list(sizes.values())) / total(sizes.values())
    drawn_place = list(sizes)[int(np.searchsorted(np.cumsum(shares)[:-1], rng.random(), side="right"))]
    knob_place = scenario.faults.media_error_where if "line" in strike.kind.destroys else "table"
    place = drawn_place if knob_place == "anywhere" else knob_place
    if place == "table":
        place = "logged row" if rng.random() < recovery.rows * mean_bytes(recovery.row_bytes) / sizes["table"] else "other row"
    if place == "logged row" and not recovery.rows:
        place = "other row"
    return Damage(place, int(rng.integers(6)), scenario.faults.seed, stream, "bits" in strike.kind.destroys)  # type: ignore[arg-type]


def poison(media: CrashMedia, layout: MediumLayout, damage: Damage, logged: Ints) -> None:
    """Lose a line of the medium, or flip a bit, at the place of `damage`.

    `logged` are the rows in the newest log. The line lies wholly within one row's values, if any row of the region is long
    enough.
    """
    if damage.place == "row log":
        return media.poison(layout.row_slots[damage.slot_number % len(layout.row_slots)].payload)
    if damage.place == "mlp log":
        return media.poison(layout.mlp_slots[damage.slot_number % len(layout.mlp_slots)].payload)
    rows = logged if damage.place == "logged row" else np.setdiff1d(np.arange(layout.num_rows), logged)
    if damage.flip:
        return _flip(media, layout.row(int(damage.rng.choice(rows if len(rows) else [layout.num_rows - 1]))), 1)
    addresses, nbytes = layout.places(rows)
    ends = addresses + nbytes - WORD * layout.row_checksums  # of values
    rows_with_line = rows[-(-addresses // LINE) * LINE + LINE <= ends]
    address = layout.row(
        int(damage.rng.choice(rows_with_line if len(rows_with_line) else rows if len(rows) else [layout.num_rows - 1]))
    )
    media.poison(-(-address // LINE) * LINE if len(rows_with_line) else address)


def flip_log(media: CrashMedia, layout: MediumLayout, log: str, flip: Flip, seed: int) -> None:
    """Flip a random bit in the newest row log that has rows.

    Do nothing if no log has rows.
    """
    records = [
        record
        for record in intact_records(map(partial(read_record, media), layout.row_slots), (LOGS[log].kind,))
        if record.payload
    ]
    if records:
        newest, rng = records[-1], random_generator(seed, f"bit of {flip.seconds!r}")
        address = newest.slot.payload + int(rng.integers(len(newest.payload)))
        _flip(media, address, 1 << int(rng.integers(8)))


def _flip(media: CrashMedia, address: int, bit: int) -> None:
    media.durable[address] ^= np.uint8(bit)
    media.volatile[address] ^= np.uint8(bit)


def with_flipped_bits(layout: MediumLayout, table: Bytes, bits: Iterable[Bit]) -> Bytes:
    """Return a copy of the table with the given bits inverted.

    If the bits of `table` have flipped, the copy is the table as it was written.
    """
    flipped_table = table.copy() if bits else table
    for row, byte, bit in bits:
        flipped_table.reshape(-1)[layout.value_slice(row)][byte] ^= np.uint8(bit)
    return flipped_table


def keep_flipped(
    media: CrashMedia, layout: MediumLayout, written_table: Bytes, flipped_table: Bytes, bits: Iterable[Bit]
) -> None:
    """Restore the flipped bits of all rows that were not written after the flip.

    The medium was filled with `written_table`, the table before the flips; `flipped_table` has the flips. The table's digest
    stays that of the written values.
    """
    for row in {row for row, _, _ in bits}:
        values, address = layout.value_slice(row), layout.row(row)
        home = slice(address, address + values.stop - values.start)
        if np.array_equal(media.durable[home], written_table.reshape(-1)[values]):
            media.durable[home] = media.volatile[home] = flipped_table.reshape(-1)[values]
