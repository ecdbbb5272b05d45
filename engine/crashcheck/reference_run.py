"""The reference run: a small training whose every state is kept in plain arrays: the oracle of the crash explorer."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..errors import BadInput, nearest
from ..persistence import checksums, protocol
from ..persistence.layout import MediumLayout
from ..persistence.logs import LOGS
from ..persistence.media import Media, NearData, octets
from ..persistence.protocol import LogName, Position
from ..persistence.records import Pending, Stamp
from ..persistence.replay import BatchChange

SEED = (7, 11)
BATCH_SIZE = 128
FLOAT32 = 4
Wrap = Callable[[Media], Media]


@dataclass(frozen=True)
class Size:
    """Rows of the table, elements of a row, bytes of the MLP, batches, and rows that a batch touches."""

    num_rows: int
    dim: int
    mlp_bytes: int
    batches: int
    touched: int


SIZES = {
    "tiny": Size(3, 3, 16, 3, 2),
    "small": Size(8, 9, 88, 5, 4),
    "large": Size(2048, 16, 4096, 8, 200),
}


@dataclass(frozen=True)
class Configuration:
    """What is logged and how: one variant of the protocol on one small model.

    `relaxed` MLP logs take two batches, `near_data` logic does all writes, with `late_home` the home rows of a batch are
    written after the commit of the next one; `adagrad` adds optimizer state, `checked` a checksum to every row.
    """

    log: LogName = "undo"
    relaxed: bool = False
    near_data: bool = False
    late_home: bool = False
    adagrad: bool = False
    checked: bool = False
    size: str = "small"

    @property
    def name(self) -> str:
        """The configuration as commands and replay lines write it, such as undo-relaxed-near."""
        parts = [word for name, word in WORDS.items() if getattr(self, name)]
        return "-".join([self.log, *parts, *([self.size] if self.size != "small" else [])])


WORDS = {"relaxed": "relaxed", "near_data": "near", "late_home": "late", "adagrad": "adagrad", "checked": "checked"}


def configurations() -> tuple[Configuration, ...]:
    """Return every small configuration; an undo log has no home writes that could be late."""
    logs: tuple[LogName, ...] = ("undo", "redo")
    flags = product((False, True), repeat=len(WORDS))
    found = (Configuration(log, a, b, c, d, e) for (a, b, c, d, e), log in product(flags, logs))
    return tuple(one for one in found if one.log == "redo" or not one.late_home)


def configuration(name: str) -> Configuration:
    """Read a configuration's name; raises BadInput."""
    known = {one.name: one for one in configurations()}
    stem, _, size = name.rpartition("-")
    if name in known:
        return known[name]
    if stem in known and size in SIZES:
        return replace(known[stem], size=size)
    raise BadInput(f"configuration {name[:60]!r} is not known; {nearest(name[:60], tuple(known))}")


@dataclass(frozen=True, eq=False)
class ReferenceRun:
    """A fault-free run: `tables[b]` and `mlps[b]` are the state at the start of batch b, `rows[b]` what b changes."""

    configuration: Configuration
    layout: MediumLayout
    tables: tuple[NDArray[np.uint32], ...]
    mlps: tuple[NDArray[np.uint8], ...]
    rows: tuple[NDArray[np.int64], ...]

    @property
    def log(self) -> LogName:
        """The kind of log."""
        return self.configuration.log

    @property
    def batches(self) -> int:
        """How many batches the run has."""
        return len(self.rows)

    @property
    def bound(self) -> int:
        """The staleness bound: an MLP log takes two batches, so at a commit the newest complete one is at most two old."""
        return 2 if self.configuration.relaxed else 0

    @cached_property
    def images(self) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """The tables and the MLPs as bytes."""
        return tuple(table.tobytes() for table in self.tables), tuple(mlp.tobytes() for mlp in self.mlps)

    def change(self, batch: int) -> BatchChange:
        """Return what a batch changes."""
        rows, (before, after) = self.rows[batch], self.tables[batch : batch + 2]
        mlp, trained = self.mlps[batch : batch + 2]
        return BatchChange(rows, before[rows], after[rows], mlp, trained, batch * BATCH_SIZE, (batch + 1) * BATCH_SIZE)


def reference_run(of: Configuration = Configuration(), seed: int = 0, size: Size | None = None) -> ReferenceRun:
    """Return a run with overlapping batches and values that differ everywhere."""
    rng, size = np.random.default_rng(seed), size or SIZES[of.size]
    columns = size.dim + of.adagrad
    tables = [rng.integers(1, 2**31, (size.num_rows, columns), np.uint32)]
    mlps = [rng.integers(0, 256, size.mlp_bytes * (1 + of.adagrad), np.uint8) for _ in range(size.batches + 1)]
    rows = [np.sort(rng.choice(size.num_rows, size.touched, replace=False)) for _ in range(size.batches)]
    for touched in rows:
        tables.append(tables[-1].copy())
        tables[-1][touched] += rng.integers(1, 2**31, (size.touched, columns), np.uint32)
    place = MediumLayout(size.num_rows, columns * FLOAT32, mlps[0].size, size.touched, of.checked)
    return ReferenceRun(of, place, tuple(tables), tuple(mlps), tuple(rows))


def begin(reference: ReferenceRun, media: Media, batch: int = 0) -> None:
    """Write the state at the start of `batch` to the medium, as a complete checkpoint."""
    position = Position(batch, batch, batch * BATCH_SIZE, SEED)
    protocol.format_media(media, reference.layout, reference.tables[batch], reference.mlps[batch], position)


def attach(reference: ReferenceRun, media: Media, wrap: Wrap | None = None) -> Media:
    """Return the medium as the protocol sees it: through near-data logic, if there is any, and then through `wrap`."""
    wrapped = wrap(media) if wrap else media
    return NearData(wrapped) if reference.configuration.near_data else wrapped


@dataclass
class Journal:
    """What the outside world has seen of a run: the newest batch boundary acknowledged as durable."""

    acknowledged: int = 0


def train(reference: ReferenceRun, media: Media, first: int, journal: Journal, most: int = 1000) -> None:
    """Run at most so many batches from `first`, with the protocol's own operations, on an attached medium.

    The first MLP log of a relaxed run is in one piece, so that an age taken over from recovery never grows.
    """
    log, place, ahead = LOGS[reference.log], reference.layout, LOGS[reference.log].ahead
    table = checksums.table_digest(octets(reference.tables[first]).reshape(place.num_rows, place.row_bytes))
    mlp_log: Pending | None = None
    late: BatchChange | None = None  # whose rows are not home yet
    for batch in range(first, min(first + most, reference.batches)):
        change = reference.change(batch)
        rows = log.log_rows(media, place, batch, change.rows, change.after if ahead else change.before)
        half = place.mlp_bytes // 2 if mlp_log is None and reference.bound and batch > first else None
        mlp_batch = mlp_log.batch if mlp_log else batch + ahead
        mlp_log = protocol.log_mlp(media, place, mlp_batch, reference.mlps[mlp_batch], half, mlp_log)
        kept, mlp_log = (mlp_log, None) if mlp_log.nbytes == place.mlp_bytes else (None, mlp_log)
        after = checksums.moved(table, change.rows, change.before, change.after)
        log.commit(media, place, rows, kept, Stamp((batch + ahead) * BATCH_SIZE, SEED, after if ahead else table))
        table = after
        journal.acknowledged = batch + ahead
        if not reference.configuration.late_home:
            log.rewrite(media, place, rows, kept, change.rows, change.after)
            continue
        if late:  # home writes of one batch end before those of the next begin, with the release of its log
            protocol.write_rows(media, place, late.rows, late.after)
            media.fence()
        protocol.release(media, place, rows, kept)
        late = change
    if late:
        protocol.write_rows(media, place, late.rows, late.after)
    media.fence()
