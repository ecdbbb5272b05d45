"""Rows beyond 2^32: one batch and its recovery on a table too large for memory.

Row numbers and addresses exceed 32 bits.
The medium keeps only the pages that were written; all other bytes of the table are zeros. After the recovery, the medium is
compared
with plain arithmetic: each logged row has its value at its place, and no other byte of the table has changed.
"""

from collections import defaultdict
from functools import partial

import numpy as np

from ..core.arrays import Bytes, Ints
from ..persistence import protocol
from ..persistence.layout import MediumLayout, layout_for
from ..persistence.logs import LOGS
from ..persistence.media import WORD, Media
from ..persistence.protocol import Position
from ..persistence.records import Stamp
from ..persistence.recovery import repair_state
from .budget import BREAKS, max_operations, processor_limited, with_counted_operations
from .distinct_content import FLOAT32
from .reference_run import SEED, Configuration, Wrap, attach

EDGES = (8, 16, 24, 31, 32)
NUM_ROWS = 2**32 + 64
MIXED = ((2**8, 8), (2**16 - 2**8, 7), (2**31 - 2**16, 16), (2**31 - 1, 4), (NUM_ROWS - 2**32 + 1, 13))
ROWS = np.array(sorted({2**bits + offset for bits in EDGES for offset in range(-2, 3)}), np.int64)
MANY_ROWS = np.union1d(ROWS, np.arange(2**16 + 8))  # more rows in one batch, and more bytes in its log, than 16 bits count
PAGE = 4096


class SparseMedia:
    """A medium that keeps only written pages in memory; each write is durable at once."""

    def __init__(self) -> None:
        self.pages: defaultdict[int, Bytes] = defaultdict(lambda: np.zeros(PAGE, np.uint8))

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes of a range; bytes that were never written are zeros."""
        first_page, last_page = address // PAGE, (address + max(nbytes, 1) - 1) // PAGE
        page_bytes = b"".join(
            self.pages[page].tobytes() if page in self.pages else bytes(PAGE) for page in range(first_page, last_page + 1)
        )
        return page_bytes[address % PAGE :][:nbytes]

    def store(self, address: int, content: Bytes) -> None:
        """Write bytes from the host; they are durable at once."""
        while content.size:
            place = address % PAGE
            part = content[: PAGE - place]
            self.pages[address // PAGE][place : place + part.size] = part
            address, content = address + part.size, content[part.size :]

    device_write = store

    def flush(self, address: int, nbytes: int) -> None:
        """Do nothing: this medium has no cache."""

    def fence(self) -> None:
        """Do nothing: all writes of this medium are durable at once."""

    def port(self, gpu: int) -> Media:
        """Return this medium for each GPU."""
        return self

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Return False: no line of this medium is ever lost."""
        return False


@processor_limited
def far_rows_problem(variant: Configuration, seed: int = 0, wrap: Wrap | None = None) -> str:
    """Train one batch on a huge table, lose power after its commit, and recover.

    Return a sentence if the table is wrong, else "". Raises NoVerdict.
    """
    rows, spans = ROWS if variant.near_data else MANY_ROWS, MIXED if variant.mixed else ((NUM_ROWS, FLOAT32),)
    layout = layout_for(NUM_ROWS, MIXED if variant.mixed else FLOAT32, 2 * FLOAT32, [rows], variant.checked)
    rng, batches_ahead, first_batch = np.random.default_rng(seed), LOGS[variant.log].batches_ahead, 2**32 - 1
    sizes = np.array([nbytes for _, nbytes in spans])[np.digitize(rows, np.cumsum([count for count, _ in spans]))]
    values_after = rng.integers(1, 2**8, sizes.sum(), np.uint8)
    values_before, mlps = np.zeros_like(values_after), rng.integers(0, 256, (2, layout.mlp_bytes), np.uint8)
    bare = SparseMedia()
    try:
        limit = max_operations(layout.log_bytes(rows) + layout.nbytes - layout.row_slots[0].header)
        counted = partial(with_counted_operations, wrap=wrap, limit=limit)
        media = attach(variant, bare, counted)
        protocol.write_superblock(media, layout, mlps[0], Position(first_batch, first_batch, first_batch, SEED), 0)
        _train(variant, media, layout, first_batch, rows, (values_before, values_after), mlps)
        repaired_state = repair_state(attach(variant, bare, counted), layout, variant.log)
    except BREAKS as error:
        return f"I1: far rows ended in {type(error).__name__}: {error}"
    resumed = first_batch + batches_ahead, first_batch + batches_ahead, first_batch + batches_ahead, SEED
    if (repaired_state.embedding_batch, repaired_state.mlp_batch, repaired_state.reader_position, repaired_state.seed) != resumed:
        return f"I2: recovered to batch {repaired_state.embedding_batch}, not to {first_batch + batches_ahead}, with far rows"
    values, ends = (values_after if batches_ahead else values_before).tobytes(), np.cumsum(sizes)
    pieces = zip(rows.tolist(), (ends - sizes).tolist(), ends.tolist(), strict=True)
    return _differing(bare, layout, {row: values[start:end] for row, start, end in pieces})


def _train(
    variant: Configuration,
    media: Media,
    place: MediumLayout,
    first_batch: int,
    rows: Ints,
    values: tuple[Bytes, Bytes],
    mlps: Bytes,
) -> None:
    log, (values_before, values_after) = LOGS[variant.log], values
    pending = log.log_rows(media, place, first_batch, rows, values_after if log.batches_ahead else values_before)
    mlp = protocol.log_mlp(media, place, first_batch + log.batches_ahead, mlps[log.batches_ahead])
    log.commit(media, place, pending, mlp, Stamp(first_batch + log.batches_ahead, SEED, 0))
    if not log.batches_ahead:  # of a redo log, recovery itself brings the rows home
        log.rewrite(media, place, pending, mlp, rows, values_after)


def _differing(media: SparseMedia, place: MediumLayout, expected_values: dict[int, bytes]) -> str:
    """Return a sentence if rows differ from `expected_values`, or if another byte of the table is not zero; else ""."""
    wrong_rows = [row for row, values in expected_values.items() if media.load(place.row(row), len(values)) != values]
    for number, page in media.pages.items():
        words = number * PAGE + WORD * np.flatnonzero(page.view("<u8"))
        for span in place.spans:
            rows = (words - span.base) // span.stride
            wrong_rows += [
                row for row in rows[(rows >= span.first_row) & (rows < span.end_row)].tolist() if row not in expected_values
            ]
    return f"I2: {len(wrong_rows)} of the far rows are not as logged, the first is row {min(wrong_rows)}" if wrong_rows else ""
