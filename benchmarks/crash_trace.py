"""Follows a run line by line as it becomes durable, and knows at each what recovery would restore, without recovering.

The digest of the recovered table is a sum over rows: logged values for rows that recovery would write back, durable ones for
all others. A line of a row that will be written back changes nothing, a line of an unflagged log neither; only a flag can,
and then by the rows that enter or leave the set. So a point costs some nanoseconds, whatever the size of the table.
`trace` is the judge of what it sees; the real recovery is run beside it at sampled points, and everywhere on small runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.core.arrays import Ints
from engine.crashcheck.reference_run import Journal, ReferenceRun
from engine.errors import CannotRun
from engine.persistence import records
from engine.persistence.checksums import MODULUS, row_digests, table_digest
from engine.persistence.crash_media import CrashMedia
from engine.persistence.layout import TABLE_START, Slot
from engine.persistence.logs import LOGS
from engine.persistence.media import LINE, Media
from engine.persistence.models import Write
from engine.persistence.protocol import read_table
from engine.persistence.records import Record, RecordKind
from engine.persistence.recovery import choose_checkpoint, intact_records, logged_rows, logs_to_replay


@dataclass(frozen=True, slots=True)
class State:
    """What recovery would restore: the batches, the stamp, the table's digest and the MLP."""

    embedding_batch: int
    mlp_batch: int
    stamp: records.Stamp
    table: int
    mlp: bytes


class Peek:
    """The durable image, with flags on top that have just become durable."""

    def __init__(self, image: NDArray[np.uint8]) -> None:
        self.image = image
        self.flags: dict[int, bytes] = {}

    def load(self, address: int, nbytes: int) -> bytes:
        """Return durable bytes."""
        return self.flags[address][:nbytes] if address in self.flags else self.image[address : address + nbytes].tobytes()

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Say that nothing is lost."""
        return False


@dataclass
class Trace:
    """The `watch` of a crash medium: counts the points it has seen, and keeps the first problem.

    `state` is what recovery would restore now, None where it would refuse; `said` are the digests that it may have.
    """

    reference: ReferenceRun
    journal: Journal
    media: CrashMedia | None = None
    points: int = 0
    problem: str = ""
    state: State | None = None
    live: dict[Slot, Record] = field(default_factory=dict)
    kept: int = 0
    above: int = 0
    replayed: Sequence[Record] = ()
    checked: object = None
    masked: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    said: tuple[int, ...] = ()
    digests: dict[tuple[RecordKind, int], tuple[Ints, NDArray[np.uint64]]] = field(default_factory=dict)

    def begin(self, media: CrashMedia) -> None:
        """Look at the whole medium once."""
        place = self.reference.layout
        peek = Peek(media.durable)
        self.said = tuple(table_digest(place, self.reference.values(batch)) for batch in range(len(self.reference.tables)))
        self.media, self.masked = media, np.zeros(place.num_rows, np.bool_)
        self.live = {slot: record for slot in place.slots if (record := records.read_record(_media(peek), slot))}
        self.kept = table_digest(place, read_table(media, place))
        self._settle()

    def __call__(self, media: CrashMedia) -> None:
        """Follow everything that is about to become durable, in order."""
        place, draining = self.reference.layout, media.draining
        flags = {slot.header: slot for slot in place.slots}
        if not any(write.address in flags for write in draining):
            self._check()
            self._payloads(draining)
            return
        if any(write.address not in flags or write.content.size != LINE for write in draining):
            self.problem = self.problem or f"operation {media.operations}: flags share an epoch with data"
            return
        peek = Peek(media.durable)
        for write in draining:
            slot = flags[write.address]
            peek.flags[write.address] = write.content.tobytes()
            found = records.read_record(_media(peek), slot)
            self.live.pop(slot, None)
            self.live |= {slot: found} if found else {}
            self._settle()
            self.points += 1
            self._check()

    def _payloads(self, draining: Sequence[Write]) -> None:
        """Follow lines of rows and of logs: none may change what would be restored."""
        place = self.reference.layout
        count = len(draining)
        starts = np.fromiter((write.address for write in draining), np.int64, count)
        sizes = np.fromiter((write.content.size for write in draining), np.int64, count)
        self.points += int(((starts + sizes - 1) // LINE - starts // LINE + 1).sum())
        home = starts < place.row_slots[0].header
        rows = (starts[home] - TABLE_START) // place.spans[0].stride
        if not self.masked[rows].all():
            row = rows[~self.masked[rows]][0]
            self.problem = self.problem or f"row {row} changes at home, and no log that would be replayed holds it"
        for slot in self.live:
            if np.any((starts[~home] < slot.stop) & (starts[~home] + sizes[~home] > slot.header)):
                self.problem = self.problem or f"the live log at byte {slot.header} is written over"

    def _settle(self) -> None:
        """Choose the records as recovery does, and take the rows that enter or leave the logs' set into account."""
        reference = self.reference
        rows = intact_records(self.live.values(), (LOGS[reference.log].kind, RecordKind.ROWS_CHECKPOINT))
        mlps = intact_records(self.live.values(), (RecordKind.MLP, RecordKind.MLP_CHECKPOINT))
        try:
            chosen, mlp = choose_checkpoint(rows, mlps, reference.bound)
        except CannotRun:
            self.state = None
            return
        replayed = logs_to_replay(rows, chosen.batch, reference.log)
        if replayed != self.replayed:
            self.replayed = replayed
            self._replay(replayed)
        digest = (self.kept + self.above) % MODULUS
        self.state = State(chosen.batch, mlp.batch, chosen.stamp, digest, mlp.payload)

    def _replay(self, logs: Sequence[Record]) -> None:
        """Let the logs stand before the table, the last one to be written first."""
        masked, self.above = np.zeros_like(self.masked), 0
        for record in reversed(logs):
            numbers, sums = self._logged(record)
            self.above += int(sums[~masked[numbers]].sum(dtype=np.uint64))
            masked[numbers] = True
        self._move(masked)

    def _move(self, masked: NDArray[np.bool_]) -> None:
        assert self.media is not None
        (span,) = self.reference.layout.spans
        homes = self.media.durable[TABLE_START:][: span.num_rows * span.stride].reshape(span.num_rows, span.stride)
        for rows, sign in ((np.flatnonzero(masked & ~self.masked), -1), (np.flatnonzero(self.masked & ~masked), 1)):
            if rows.size:
                sums = row_digests(span, rows, homes[rows, : span.row_bytes])
                self.kept = (self.kept + sign * int(sums.sum(dtype=np.uint64))) % MODULUS
        self.masked = masked

    def _logged(self, record: Record) -> tuple[Ints, NDArray[np.uint64]]:
        name = (record.kind, record.batch)
        if name not in self.digests:
            self.digests = dict(list(self.digests.items())[-3:])
            numbers, values = logged_rows(self.reference.layout, record)
            self.digests[name] = (numbers, row_digests(self.reference.layout.spans[0], numbers, values))
        return self.digests[name]

    def _check(self) -> None:
        """Compare what would be restored with the oracle, unless both are as they were."""
        asked = (self.state, self.journal.acknowledged)
        if not self.problem and asked != self.checked:
            self.problem = self._mismatch(self.state, self.journal.acknowledged)
            self.checked = asked

    def _mismatch(self, state: State | None, acknowledged: int) -> str:
        """Return a sentence if the state is not that of the batches it claims."""
        reference = self.reference
        if state is None:
            return "no valid checkpoint"
        b, m = state.embedding_batch, state.mlp_batch
        if not acknowledged <= b <= reference.batches or not 0 <= b - m <= reference.bound:
            return f"embeddings of batch {b} with an MLP of batch {m}, though {acknowledged} was acknowledged"
        if {state.table, state.stamp.digest} != {self.said[b]}:
            return f"embeddings are not those of batch {b}"
        return "" if state.mlp == reference.images[1][m] else f"the MLP is not that of batch {m}"


def _media(peek: Peek) -> Media:
    return peek  # type: ignore[return-value]  # it is only read
