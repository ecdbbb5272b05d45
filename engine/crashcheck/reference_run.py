"""The reference run: a small training whose states are all kept in plain arrays.

The checker compares each recovered state with these arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Flags, Ints
from ..errors import BadInput, nearest_hint
from ..persistence import checksums, protocol
from ..persistence.layout import MediumLayout, Spans, layout_for
from ..persistence.logs import LOGS
from ..persistence.media import HEALTH, LINE, Media, NearData, PortedMedia, flat_bytes, store_and_flush, with_gpus
from ..persistence.protocol import LogName, Position
from ..persistence.records import PendingRecord, Stamp
from ..persistence.replay import BatchChange
from .budget import max_operations
from .distinct_content import FLOAT32, DistinctContent
from .probes.answers import checked_layout
from .statement.stated_medium import StatedMedium

SEED = (2**61 + 7, 2**33 + 11)  # words that no narrower counter holds
BATCH_SIZE = 128
GPUS = 2  # of a configuration with several
TURNS = 8  # runs of rows of equal size, if rows differ in size
Wrap = Callable[[Media], Media]


@dataclass(frozen=True)
class Size:
    """The size of a reference run.

    num_rows: the number of rows of the table.
    dim: the number of elements of a row.
    mlp_bytes: the bytes of the MLP.
    batches: the number of batches.
    touched_rows: the number of rows that a batch changes, or one number for each batch.
    reach: batches change only the last `reach` rows; 0 for all rows.
    """

    num_rows: int
    dim: int
    mlp_bytes: int
    batches: int
    touched_rows: int | tuple[int, ...]
    reach: int = 0

    @property
    def rows_of_batches(self) -> tuple[int, ...]:
        """The number of rows that each batch changes."""
        return self.touched_rows if isinstance(self.touched_rows, tuple) else (self.touched_rows,) * self.batches


SIZES = {
    "tiny": Size(3, 3, 16, 3, 2),
    "small": Size(8, 9, 88, 5, 4),
    "large": Size(2048, 16, 4096, 8, 300),
    "wide": Size(3, 16_500, 70_000, 3, 2),  # a row, a record and the MLP of more than 64 KiB
    "many": Size(2**16 + 90, 1, 16, 3, 300, 400),  # row numbers on both sides of 2^16
    "uneven": Size(9, 16, 72, 9, (0, 9, 1, 4, 0, 0, 2, 9, 1)),  # no row, all rows; each slot is used again and again
}
FAR_SIZE = "far"  # row numbers and addresses beyond 2^32: one run without a table in memory
SINGLE_RUNS = (FAR_SIZE, "media", "misuse", "writer")  # run once instead of state by state
COUNTER_BITS = (8, 16, 32, 53)  # bits of counters; a double counts to 2^53


@dataclass(frozen=True)
class Configuration:
    """One variant of the log protocol on one small model.

    log: the kind of log, undo or redo.
    relaxed: True if each MLP log takes two batches.
    near_data: True if near-data logic makes all writes.
    late_home: True if a batch's rows are written into the table after the next batch's commit.
    adagrad: True for one word of optimizer state in each row and for each MLP weight.
    checked: True for a checksum in each row.
    adam: True for two words of optimizer state for each row element and MLP weight.
    mixed: True if rows differ in size.
    gpus: True if GPUS GPUs write ranges of the MLP log, which then has one line more.
    size: a key of SIZES, or one of SINGLE_RUNS.
    past: batch numbers begin at 2^past - 2, so that they overflow a counter of `past` bits; 0 to begin at 0.
    """

    log: LogName = "undo"
    relaxed: bool = False
    near_data: bool = False
    late_home: bool = False
    adagrad: bool = False
    checked: bool = False
    adam: bool = False
    mixed: bool = False
    gpus: bool = False
    size: str = "small"
    past: int = 0

    @property
    def name(self) -> str:
        """The configuration's name in commands and replay lines, such as undo-relaxed-near."""
        parts = [word for name, word in WORDS.items() if getattr(self, name)]
        past = [f"past{self.past}"] if self.past else []
        return "-".join([self.log, *parts, *past, *([self.size] if self.size != "small" else [])])

    @property
    def num_gpus(self) -> int:
        """The number of GPUs that write the MLP log."""
        return GPUS if self.gpus else 1

    @property
    def first_batch(self) -> int:
        """The number of the first batch on the medium."""
        return 2**self.past - 2 if self.past else 0


# The words of flags in commands and replay lines: the first word of each name.
FEATURES = ("relaxed", "near_data", "late_home", "adagrad", "checked", "adam", "mixed", "gpus")
WORDS = {name: name.partition("_")[0] for name in FEATURES}


def configurations() -> tuple[Configuration, ...]:
    """Return the configurations of size "small" to explore.

    An undo log has no rows that are written late.
    Each log has one configuration with Adam, and two with rows of different sizes: one without other features, one with many.
    New ones come last, as the place of the others decides with which batch numbers they run.
    """
    logs: tuple[LogName, ...] = ("undo", "redo")
    plain_variants = (Configuration(log, a, b, c, d, e) for a, b, c, d, e in product((False, True), repeat=5) for log in logs)
    adam = (Configuration(log, adam=True) for log in logs)
    mixed = (Configuration(log, mixed=True) for log in logs)
    mixed_undo = Configuration("undo", near_data=True, checked=True, mixed=True)
    mixed_redo = Configuration("redo", relaxed=True, late_home=True, checked=True, mixed=True)
    return (
        *(variant for variant in plain_variants if variant.log == "redo" or not variant.late_home),
        *adam,
        *mixed,
        mixed_undo,
        mixed_redo,
        *(Configuration(log, a, b, gpus=True) for a, b in product((False, True), repeat=2) for log in logs),
    )


def configuration(name: str) -> Configuration:
    """Return the configuration with this name; raises BadInput for an unknown name."""
    explored = configurations()
    mixed = [replace(variant, mixed=True) for variant in explored if not variant.adagrad and not variant.adam]
    gpus = [replace(variant, gpus=True) for variant in (*explored, *mixed)]
    known_variants = {variant.name: variant for variant in (*explored, *mixed, *gpus)}
    stem, size, past = name, "small", 0
    for size_name in (*SIZES, *SINGLE_RUNS):
        if stem.endswith(f"-{size_name}"):
            stem, size = stem.removesuffix(f"-{size_name}"), size_name
    for bits in COUNTER_BITS:
        if stem.endswith(f"-past{bits}"):
            stem, past = stem.removesuffix(f"-past{bits}"), bits
    if stem in known_variants:
        return replace(known_variants[stem], size=size, past=past)
    raise BadInput(f"configuration {name[:60]!r} is not known; {nearest_hint(name[:60], tuple(known_variants))}")


@dataclass(frozen=True, eq=False)
class ReferenceRun:
    """A run without faults, with its state at each batch.

    Batches b count from 0. On the medium they have the number `configuration.first_batch` + b.

    configuration: the variant of the protocol.
    layout: the layout of the medium.
    tables: the table at the start of each batch, (num_rows, elements). If rows differ in size, (num_rows, bytes of the widest
        row); a narrower row uses the first bytes.
    mlps: the bytes of the MLP at the start of each batch.
    rows: the rows that each batch changes, in the order of the log.
    row_sizes: pairs (number of neighbouring rows, bytes of each).
    """

    configuration: Configuration
    layout: MediumLayout
    tables: tuple[NDArray[Any], ...]
    mlps: tuple[NDArray[np.uint8], ...]
    rows: tuple[NDArray[np.int64], ...]
    row_sizes: Spans

    @property
    def log(self) -> LogName:
        """The kind of log, undo or redo."""
        return self.configuration.log

    @property
    def batches(self) -> int:
        """The number of batches."""
        return len(self.rows)

    @property
    def bound(self) -> int:
        """The number of batches by which the MLP may be older than the embeddings.

        In a relaxed run an MLP log takes two batches, so at a commit the newest complete MLP log is at most two batches old.
        """
        return 2 if self.configuration.relaxed else 0

    @property
    def most_operations(self) -> int:
        """The most operations on the medium that a run or recovery may make."""
        return max_operations(self.layout.nbytes)

    @cached_property
    def images(self) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """(tables, MLPs) at the start of each batch, as bytes."""
        tables = tuple(self.values(batch).tobytes() for batch in range(len(self.tables)))
        return tables, tuple(mlp.tobytes() for mlp in self.mlps)

    @cached_property
    def row_byte_flags(self) -> Flags:
        """Flags of the table's bytes, (num_rows, bytes): True if the row has the byte.

        The flags matter only if rows differ in size.
        """
        sizes = np.repeat([nbytes for _, nbytes in self.layout.sizes], [rows for rows, _ in self.layout.sizes])
        return np.asarray(np.arange(self.tables[0].shape[1]) < sizes[:, None])

    def value_bytes(self, batch: int) -> NDArray[np.uint8]:
        """Return all rows' values at the start of a batch as bytes, row after row."""
        table, parts, row = self.tables[batch].view(np.uint8), [], 0
        for rows, nbytes in self.row_sizes:
            parts.append(table[row : row + rows, :nbytes].reshape(-1))
            row += rows
        return np.concatenate(parts)

    def values(self, batch: int, rows: Ints | slice = slice(None)) -> NDArray[Any]:
        """Return rows' values at the start of a batch, as the protocol takes them."""
        table = self.tables[batch][rows]
        return table[self.row_byte_flags[rows]] if self.layout.has_mixed_sizes else table

    def change(self, batch: int) -> BatchChange:
        """Return the changes that a batch makes."""
        rows, (mlp, trained) = self.rows[batch], self.mlps[batch : batch + 2]
        values_before, values_after = self.values(batch, rows), self.values(batch + 1, rows)
        return BatchChange(rows, values_before, values_after, mlp, trained, self.reader(batch), self.reader(batch + 1))

    def reader(self, batch: int) -> int:
        """Return the position of the training-data reader at the start of a batch."""
        return (self.configuration.first_batch + batch) * BATCH_SIZE


def reference_run(variant: Configuration = Configuration(), seed: int = 0, size: Size | None = None) -> ReferenceRun:
    """Return a reference run of a configuration.

    Consecutive batches change some common rows. No two halves of words are equal, in no row and no batch, and each byte of a
    changed row and of an MLP changes. So a wrong state cannot be equal by chance, nor in part.
    """
    if variant.size in SINGLE_RUNS:
        raise BadInput(f"configuration {variant.name} has no states to choose from; replay it as {variant.name}~adr:0:0:run.")
    rng, size = np.random.default_rng(seed), size or SIZES[variant.size]
    columns, words = size.dim * (3 if variant.adam else 1) + variant.adagrad, 3 if variant.adam else 1 + variant.adagrad
    spans: Spans = mixed_rows(size) if variant.mixed else ((size.num_rows, columns * FLOAT32),)
    row_halves = -(-max(nbytes for _, nbytes in spans) // FLOAT32)
    content, mlp_bytes = DistinctContent(seed), size.mlp_bytes * words + LINE * variant.gpus
    rows = _touched_rows(rng, size, columns, mlp_bytes)
    tables, mlps = [content.draw(size.num_rows * row_halves).reshape(size.num_rows, row_halves)], list[NDArray[Any]]()
    for _ in range(size.batches + 1):
        mlps.append(content.draw(-(-mlp_bytes // FLOAT32), mlps[-1] if mlps else None))
    for touched_rows in rows:
        tables.append(tables[-1].copy())
        tables[-1][touched_rows] = content.draw(touched_rows.size * row_halves, tables[-1][touched_rows].reshape(-1)).reshape(
            touched_rows.size, row_halves
        )
    if variant.mixed:
        tables = [table.view(np.uint8) for table in tables]
    stated_medium = StatedMedium(spans, variant.mixed, mlp_bytes, rows, variant.checked)
    place = layout_for(size.num_rows, spans if variant.mixed else columns * FLOAT32, mlp_bytes, rows, variant.checked)
    place = checked_layout(place, stated_medium.nbytes)
    mlp_images = tuple(mlp.view(np.uint8)[:mlp_bytes] for mlp in mlps)
    return ReferenceRun(variant, place, tuple(tables), mlp_images, tuple(rows), spans)


def _touched_rows(rng: np.random.Generator, size: Size, columns: int, mlp_bytes: int) -> list[NDArray[np.int64]]:
    """Return the rows that each batch changes; every second batch names them in random order."""
    # Draws of former content: they keep the rows, and so the states that older replay lines name.
    rng.integers(1, 2**31, (size.num_rows, columns), np.uint32)
    for _ in range(size.batches + 1):
        rng.integers(0, 256, mlp_bytes, np.uint8)
    reach = size.reach or size.num_rows
    rows = [size.num_rows - reach + np.sort(rng.choice(reach, count, replace=False)) for count in size.rows_of_batches]
    return [rng.permutation(touched_rows) if batch % 2 else touched_rows for batch, touched_rows in enumerate(rows)]


def mixed_rows(size: Size) -> Spans:
    """Return spans of rows with four different sizes.

    The sizes are those of int8 rows with a scale, rows with Adam, rows with row-wise Adagrad, and plain rows, repeatedly. Rows
    that no batch changes are plain.
    """
    plain_bytes, reach = size.dim * FLOAT32, size.reach or size.num_rows
    kinds = (size.dim + FLOAT32, 3 * plain_bytes, plain_bytes + FLOAT32, plain_bytes)
    turns = ((len(part), kinds[turn % len(kinds)]) for turn, part in enumerate(np.array_split(np.arange(reach), TURNS)))
    return (*(span for span in ((size.num_rows - reach, plain_bytes), *turns) if span[0]),)


def write_start(reference: ReferenceRun, media: Media, batch: int = 0) -> None:
    """Write the state at the start of `batch` on the medium, as a complete checkpoint.

    The medium's counter of dirty shutdowns is set to the first batch number.
    """
    store_and_flush(media, HEALTH, flat_bytes(np.array([reference.configuration.first_batch], "<u8")))
    number = reference.configuration.first_batch + batch
    position = Position(number, number, reference.reader(batch), SEED)
    protocol.format_media(media, reference.layout, reference.values(batch), reference.mlps[batch], position)


def attach(variant: Configuration, media: PortedMedia, prepare: Wrap = lambda media: media) -> Media:
    """Return the medium as the protocol sees it.

    It has near-data logic, and a port for each of several GPUs, if configured. `prepare` wraps the medium of the host and of
    each GPU.
    """

    def view(ported_media: Media) -> Media:
        return NearData(prepare(ported_media)) if variant.near_data else prepare(ported_media)

    return with_gpus(media, variant.num_gpus, view)


@dataclass
class Journal:
    """The newest batch boundary that a run has acknowledged as durable."""

    acknowledged: int = 0


def train(reference: ReferenceRun, media: Media, first_batch: int, journal: Journal, max_batches: int = 1000) -> None:
    """Run up to `max_batches` batches from `first_batch` with the protocol's operations.

    `media` is a medium from `attach`. The boundary of each committed batch is noted in `journal`. The first MLP log of a relaxed
    run is written in one piece, so that the MLP that a second recovery restores is not older than before.
    """
    log, place, batches_ahead = LOGS[reference.log], reference.layout, LOGS[reference.log].batches_ahead
    first_number = reference.configuration.first_batch
    table = checksums.table_digest(place, reference.values(first_batch))
    mlp_log: PendingRecord | None = None
    captured = first_batch  # the batch at whose start the MLP log's values were taken
    late_change: BatchChange | None = None  # the change whose rows are not written home yet
    for batch in range(first_batch, min(first_batch + max_batches, reference.batches)):
        change = reference.change(batch)
        rows = log.log_rows(
            media, place, first_number + batch, change.rows, change.values_after if batches_ahead else change.values_before
        )
        half = place.mlp_bytes // 2 if mlp_log is None and reference.bound and batch > first_batch else None
        captured = captured if mlp_log else batch + batches_ahead
        mlp_log = protocol.log_mlp(media, place, first_number + captured, reference.mlps[captured], half, mlp_log)
        complete_log, mlp_log = (mlp_log, None) if mlp_log.nbytes == place.mlp_bytes else (None, mlp_log)
        digest_after = checksums.digest_after_change(place, table, change.rows, change.values_before, change.values_after)
        log.commit(
            media,
            place,
            rows,
            complete_log,
            Stamp(reference.reader(batch + batches_ahead), SEED, digest_after if batches_ahead else table),
        )
        table = digest_after
        journal.acknowledged = batch + batches_ahead
        if not reference.configuration.late_home:
            log.rewrite(media, place, rows, complete_log, change.rows, change.values_after)
            continue
        if late_change:  # home writes of a batch end before the release of its log, so before the next batch's home writes
            protocol.write_rows(media, place, late_change.rows, late_change.values_after)
            media.fence()
        protocol.release(media, place, rows, complete_log)
        late_change = change
    if late_change:
        protocol.write_rows(media, place, late_change.rows, late_change.values_after)
    media.fence()
