"""Rows beyond 2^32: one batch and its recovery on a table that no memory holds, so that row numbers and addresses pass 32 bits.

The medium keeps the pages that were written; of the others the table is zeros. What is on it afterwards is compared with
plain arithmetic: each row that was logged has its value, at its place, and no other byte of the table has changed.
"""

from collections import defaultdict

import numpy as np

from ..core.arrays import Bytes, Ints
from ..persistence import protocol
from ..persistence.layout import MediumLayout, lay_out
from ..persistence.logs import LOGS
from ..persistence.media import WORD, Media
from ..persistence.protocol import Position
from ..persistence.records import Stamp
from ..persistence.recovery import repaired
from .budget import BREAKS, counted, most_operations, processor_limited
from .reference_run import FLOAT32, SEED, Configuration, Wrap, attach

EDGES = (8, 16, 24, 31, 32)
NUM_ROWS = 2**32 + 64
MIXED = ((2**8, 8), (2**16 - 2**8, 7), (2**31 - 2**16, 16), (2**31 - 1, 4), (NUM_ROWS - 2**32 + 1, 13))
ROWS = np.array(sorted({2**bits + by for bits in EDGES for by in range(-2, 3)}), np.int64)
MANY = np.union1d(ROWS, np.arange(2**16 + 8))  # more rows in one batch, and more bytes in its log, than 16 bits count
PAGE = 4096


class SparseMedia:
    """Bytes of which only pages that were written take memory; each write is durable at once."""

    def __init__(self) -> None:
        self.pages: defaultdict[int, Bytes] = defaultdict(lambda: np.zeros(PAGE, np.uint8))

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes; zeros where none were written."""
        first, last = address // PAGE, (address + max(nbytes, 1) - 1) // PAGE
        whole = b"".join(self.pages[page].tobytes() if page in self.pages else bytes(PAGE) for page in range(first, last + 1))
        return whole[address % PAGE :][:nbytes]

    def store(self, address: int, data: Bytes) -> None:
        """Write from the host."""
        while data.size:
            place = address % PAGE
            part = data[: PAGE - place]
            self.pages[address // PAGE][place : place + part.size] = part
            address, data = address + part.size, data[part.size :]

    device_write = store

    def flush(self, address: int, nbytes: int) -> None:
        """Do nothing: there is no cache."""

    def fence(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Say that nothing is lost."""
        return False


@processor_limited
def problem(of: Configuration, seed: int = 0, wrap: Wrap | None = None) -> str:
    """Train one batch on far rows, lose power after its commit, recover; return a sentence if the table is not as it must be.

    Raises NoVerdict.
    """
    rows, spans = ROWS if of.near_data else MANY, MIXED if of.mixed else ((NUM_ROWS, FLOAT32),)
    layout = lay_out(NUM_ROWS, MIXED if of.mixed else FLOAT32, 2 * FLOAT32, [rows], of.checked)
    rng, ahead, first = np.random.default_rng(seed), LOGS[of.log].ahead, 2**32 - 1
    sizes = np.array([nbytes for _, nbytes in spans])[np.digitize(rows, np.cumsum([count for count, _ in spans]))]
    after = rng.integers(1, 2**8, sizes.sum(), np.uint8)
    before, mlps = np.zeros_like(after), rng.integers(0, 256, (2, layout.mlp_bytes), np.uint8)
    bare = SparseMedia()
    try:
        most = most_operations(layout.log_bytes(rows) + layout.nbytes - layout.row_slots[0].header)
        media = attach(of, counted(bare, wrap, most))
        protocol.declare(media, layout, mlps[0], Position(first, first, first, SEED), 0)
        _train(of, media, layout, first, rows, (before, after), mlps)
        found = repaired(attach(of, counted(bare, wrap, most)), layout, of.log)
    except BREAKS as error:
        return f"I1: far rows ended in {type(error).__name__}: {error}"
    resumed = first + ahead, first + ahead, first + ahead, SEED
    if (found.embedding_batch, found.mlp_batch, found.reader_position, found.seed) != resumed:
        return f"I2: recovered to batch {found.embedding_batch}, not to {first + ahead}, with far rows"
    values, ends = (after if ahead else before).tobytes(), np.cumsum(sizes)
    pieces = zip(rows.tolist(), (ends - sizes).tolist(), ends.tolist(), strict=True)
    return _differing(bare, layout, {row: values[start:end] for row, start, end in pieces})


def _train(
    of: Configuration, media: Media, place: MediumLayout, first: int, rows: Ints, values: tuple[Bytes, Bytes], mlps: Bytes
) -> None:
    log, (before, after) = LOGS[of.log], values
    pending = log.log_rows(media, place, first, rows, after if log.ahead else before)
    mlp = protocol.log_mlp(media, place, first + log.ahead, mlps[log.ahead])
    log.commit(media, place, pending, mlp, Stamp(first + log.ahead, SEED, 0))
    if not log.ahead:  # of a redo log, recovery itself brings the rows home
        log.rewrite(media, place, pending, mlp, rows, after)


def _differing(media: SparseMedia, place: MediumLayout, wanted: dict[int, bytes]) -> str:
    """Return a sentence if rows differ from `wanted`, or another byte of the table from zero."""
    wrong = [row for row, values in wanted.items() if media.load(place.row(row), len(values)) != values]
    for number, page in media.pages.items():
        words = number * PAGE + WORD * np.flatnonzero(page.view("<u8"))
        for span in place.spans:
            rows = (words - span.base) // span.stride
            wrong += [row for row in rows[(rows >= span.first_row) & (rows < span.end_row)].tolist() if row not in wanted]
    return f"I2: {len(wrong)} of the far rows are not as logged, the first is row {min(wrong)}" if wrong else ""
