"""The reference run: a small training whose every state is kept in plain arrays: the oracle of the crash explorer."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Flags, Ints
from ..errors import BadInput, nearest
from ..persistence import checksums, protocol
from ..persistence.layout import MediumLayout, Spans, lay_out
from ..persistence.logs import LOGS
from ..persistence.media import HEALTH, Media, NearData, octets, put
from ..persistence.protocol import LogName, Position
from ..persistence.records import Pending, Stamp
from ..persistence.replay import BatchChange
from .budget import most_operations

SEED = (2**61 + 7, 2**33 + 11)  # words that no narrower counter holds
BATCH_SIZE = 128
FLOAT32 = 4
TURNS = 8  # of rows of unlike sizes
Wrap = Callable[[Media], Media]


@dataclass(frozen=True)
class Size:
    """Rows of the table, elements of a row, bytes of the MLP, batches, and rows that a batch touches, of the last `reach`."""

    num_rows: int
    dim: int
    mlp_bytes: int
    batches: int
    touched: int
    reach: int = 0


SIZES = {
    "tiny": Size(3, 3, 16, 3, 2),
    "small": Size(8, 9, 88, 5, 4),
    "large": Size(2048, 16, 4096, 8, 300),
    "wide": Size(3, 16_500, 70_000, 3, 2),  # a row, a record and the MLP of more than 64 KiB
    "many": Size(2**16 + 90, 1, 16, 3, 300, 400),  # row numbers on both sides of 2^16
}
FAR = "far"  # row numbers and addresses beyond 2^32: followed without the table, and not state by state
PASTS = (8, 16, 32, 53)  # bits; the last is as far as a double counts


@dataclass(frozen=True)
class Configuration:
    """What is logged and how: one variant of the protocol on one small model.

    `relaxed` MLP logs take two batches, `near_data` logic does all writes, with `late_home` the home rows of a batch are
    written after the commit of the next one; `adagrad` adds one word of optimizer state to a row and to each weight, `adam` two
    to each element and weight, `checked` a checksum to every row, `mixed` gives rows unlike sizes. Batches are numbered from
    2^`past` - 2 on, so that the run passes what a counter of so many bits holds; from 0 without.
    """

    log: LogName = "undo"
    relaxed: bool = False
    near_data: bool = False
    late_home: bool = False
    adagrad: bool = False
    checked: bool = False
    adam: bool = False
    mixed: bool = False
    size: str = "small"
    past: int = 0

    @property
    def name(self) -> str:
        """The configuration as commands and replay lines write it, such as undo-relaxed-near."""
        parts = [word for name, word in WORDS.items() if getattr(self, name)]
        past = [f"past{self.past}"] if self.past else []
        return "-".join([self.log, *parts, *past, *([self.size] if self.size != "small" else [])])

    @property
    def first(self) -> int:
        """The number of the first batch."""
        return 2**self.past - 2 if self.past else 0


# How commands and replay lines call a flag: by the first word of its name.
WORDS = {name: name.partition("_")[0] for name in ("relaxed", "near_data", "late_home", "adagrad", "checked", "adam", "mixed")}


def configurations() -> tuple[Configuration, ...]:
    """Return the small configurations to explore; an undo log has no home writes that could be late.

    Of Adam there is one for each log, of mixed rows two: alone, and with much else.
    """
    logs: tuple[LogName, ...] = ("undo", "redo")
    alike = (Configuration(log, a, b, c, d, e) for a, b, c, d, e in product((False, True), repeat=5) for log in logs)
    adam = (Configuration(log, adam=True) for log in logs)
    mixed = (Configuration(log, mixed=True) for log in logs)
    much = Configuration("undo", near_data=True, checked=True, mixed=True)
    late = Configuration("redo", relaxed=True, late_home=True, checked=True, mixed=True)
    return (*(one for one in alike if one.log == "redo" or not one.late_home), *adam, *mixed, much, late)


def configuration(name: str) -> Configuration:
    """Read a configuration's name; raises BadInput."""
    explored = configurations()
    mixed = (replace(one, mixed=True) for one in explored if not one.adagrad and not one.adam)
    known = {one.name: one for one in (*explored, *mixed)}
    stem, size, past = name, "small", 0
    for one in (*SIZES, FAR):
        if stem.endswith(f"-{one}"):
            stem, size = stem.removesuffix(f"-{one}"), one
    for bits in PASTS:
        if stem.endswith(f"-past{bits}"):
            stem, past = stem.removesuffix(f"-past{bits}"), bits
    if stem in known:
        return replace(known[stem], size=size, past=past)
    raise BadInput(f"configuration {name[:60]!r} is not known; {nearest(name[:60], tuple(known))}")


@dataclass(frozen=True, eq=False)
class ReferenceRun:
    """A fault-free run: `tables[b]` and `mlps[b]` are the state at the start of its batch b, `rows[b]` what b changes.

    Tables are (num_rows, elements); of rows of unlike sizes (num_rows, bytes of the widest), and each has the first of them.
    Its batches count from 0; on the medium they have the number `configuration.first` + b.
    """

    configuration: Configuration
    layout: MediumLayout
    tables: tuple[NDArray[Any], ...]
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

    @property
    def most_operations(self) -> int:
        """The operations of the medium that no run or recovery of it needs."""
        return most_operations(self.layout.nbytes)

    @cached_property
    def images(self) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """The tables and the MLPs as bytes."""
        tables = tuple(self.values(batch).tobytes() for batch in range(len(self.tables)))
        return tables, tuple(mlp.tobytes() for mlp in self.mlps)

    @cached_property
    def filled(self) -> Flags:
        """Which bytes of the tables rows of unlike sizes have."""
        sizes = np.repeat([nbytes for _, nbytes in self.layout.sizes], [rows for rows, _ in self.layout.sizes])
        return np.asarray(np.arange(self.tables[0].shape[1]) < sizes[:, None])

    def values(self, batch: int, rows: Ints | slice = slice(None)) -> NDArray[Any]:
        """Return the values of rows at the start of a batch, as the protocol takes them."""
        table = self.tables[batch][rows]
        return table[self.filled[rows]] if self.layout.unlike else table

    def change(self, batch: int) -> BatchChange:
        """Return what a batch changes."""
        rows, (mlp, trained) = self.rows[batch], self.mlps[batch : batch + 2]
        before, after = self.values(batch, rows), self.values(batch + 1, rows)
        return BatchChange(rows, before, after, mlp, trained, self.reader(batch), self.reader(batch + 1))

    def reader(self, batch: int) -> int:
        """Return where the reader stands at the start of a batch."""
        return (self.configuration.first + batch) * BATCH_SIZE


def reference_run(of: Configuration = Configuration(), seed: int = 0, size: Size | None = None) -> ReferenceRun:
    """Return a run with overlapping batches and values that differ everywhere."""
    if of.size == FAR:
        raise BadInput(f"configuration {of.name} has no states to choose from; replay it as {of.name}~adr:0:0:run.")
    rng, size = np.random.default_rng(seed), size or SIZES[of.size]
    reach = size.reach or size.num_rows
    columns, words = size.dim * (3 if of.adam else 1) + of.adagrad, 3 if of.adam else 1 + of.adagrad
    row_bytes: int | Spans = mixed_rows(size) if of.mixed else columns * FLOAT32

    def drawn(count: int) -> NDArray[Any]:
        """Return values of so many rows, or changes of these."""
        if isinstance(row_bytes, int):
            return rng.integers(1, 2**31, (count, columns), np.uint32)
        return rng.integers(1, 2**8, (count, max(nbytes for _, nbytes in row_bytes)), np.uint8)

    tables = [drawn(size.num_rows)]
    mlps = [rng.integers(0, 256, size.mlp_bytes * words, np.uint8) for _ in range(size.batches + 1)]
    rows = [size.num_rows - reach + np.sort(rng.choice(reach, size.touched, replace=False)) for _ in range(size.batches)]
    for touched in rows:
        tables.append(tables[-1].copy())
        tables[-1][touched] += drawn(size.touched)
    place = lay_out(size.num_rows, row_bytes, mlps[0].size, rows, of.checked)
    return ReferenceRun(of, place, tuple(tables), tuple(mlps), tuple(rows))


def mixed_rows(size: Size) -> Spans:
    """Return rows of four sizes by turns: int8 with a scale, Adam, row-wise Adagrad, plain; those out of reach are plain."""
    plain, reach = size.dim * FLOAT32, size.reach or size.num_rows
    kinds = (size.dim + FLOAT32, 3 * plain, plain + FLOAT32, plain)
    turns = ((len(part), kinds[turn % len(kinds)]) for turn, part in enumerate(np.array_split(np.arange(reach), TURNS)))
    return (*(span for span in ((size.num_rows - reach, plain), *turns) if span[0]),)


def begin(reference: ReferenceRun, media: Media, batch: int = 0) -> None:
    """Write the state at the start of `batch` to the medium, as a complete checkpoint.

    Its counter of dirty shutdowns begins where batch numbers do.
    """
    put(media, HEALTH, octets(np.array([reference.configuration.first], "<u8")))
    number = reference.configuration.first + batch
    position = Position(number, number, reference.reader(batch), SEED)
    protocol.format_media(media, reference.layout, reference.values(batch), reference.mlps[batch], position)


def attach(of: Configuration, media: Media) -> Media:
    """Return the medium as the protocol sees it: through near-data logic, if there is any."""
    return NearData(media) if of.near_data else media


@dataclass
class Journal:
    """What the outside world has seen of a run: the newest of its batch boundaries that was acknowledged as durable."""

    acknowledged: int = 0


def train(reference: ReferenceRun, media: Media, first: int, journal: Journal, most: int = 1000) -> None:
    """Run at most so many batches from `first`, with the protocol's own operations, on an attached medium.

    The first MLP log of a relaxed run is in one piece, so that an age taken over from recovery never grows.
    """
    log, place, ahead = LOGS[reference.log], reference.layout, LOGS[reference.log].ahead
    begin = reference.configuration.first
    table = checksums.table_digest(place, reference.values(first))
    mlp_log: Pending | None = None
    captured = first  # at whose start the MLP was what its log holds
    late: BatchChange | None = None  # whose rows are not home yet
    for batch in range(first, min(first + most, reference.batches)):
        change = reference.change(batch)
        rows = log.log_rows(media, place, begin + batch, change.rows, change.after if ahead else change.before)
        half = place.mlp_bytes // 2 if mlp_log is None and reference.bound and batch > first else None
        captured = captured if mlp_log else batch + ahead
        mlp_log = protocol.log_mlp(media, place, begin + captured, reference.mlps[captured], half, mlp_log)
        kept, mlp_log = (mlp_log, None) if mlp_log.nbytes == place.mlp_bytes else (None, mlp_log)
        after = checksums.moved(place, table, change.rows, change.before, change.after)
        log.commit(media, place, rows, kept, Stamp(reference.reader(batch + ahead), SEED, after if ahead else table))
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
